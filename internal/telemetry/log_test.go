package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/slogtest"
	"testing/synctest"
	"time"
)

func newTest(t *testing.T, c Config) (*Telemetry, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	c.Output = &out
	c.Hostname = "box"
	tel, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return tel, &out
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		name string
		log  func(*slog.Logger)
		want string
	}{
		{"plain", func(l *slog.Logger) { l.Info("started") }, "[INFO]  agent: started"},
		{"facts", func(l *slog.Logger) { l.Warn("lost", "node", "n1", "count", 3) }, "[WARN]  agent: lost: node=n1 count=3"},
		{"quoting", func(l *slog.Logger) { l.Error("bad", "err", errors.New("a b"), "empty", "") }, `[ERROR] agent: bad: err="a b" empty=""`},
		{"no second line", func(l *slog.Logger) { l.Info("a\nb", "c", "d\ne") }, `[INFO]  agent: a\nb: c="d\ne"`},
		{"debug", func(l *slog.Logger) { l.Debug("x") }, "[DEBUG] agent: x"},
		{"trace", func(l *slog.Logger) { l.Log(context.Background(), LevelTrace, "x") }, "[TRACE] agent: x"},
		{"component of a part", func(l *slog.Logger) { l.With("component", "raft", "id", 7).Info("x", "y", 1) }, "[INFO]  raft: x: id=7 y=1"},
		{"component of a line", func(l *slog.Logger) { l.Info("x", "component", "dns") }, "[INFO]  dns: x"},
		{"group", func(l *slog.Logger) { l.WithGroup("g").Info("x", "y", 1, slog.Group("h", "z", 2)) }, "[INFO]  agent: x: g.y=1 g.h.z=2"},
		{"duration", func(l *slog.Logger) { l.Info("x", "duration", 1500*time.Millisecond) }, "[INFO]  agent: x: duration=1.5s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tel, out := newTest(t, Config{Level: "TRACE"})
				c.log(tel.Logger("agent"))
				at := time.Now().Format(timeFormat)
				if got := out.String(); got != at+" "+c.want+"\n" {
					t.Errorf("got  %q\nwant %q", got, at+" "+c.want+"\n")
				}
			})
		})
	}
}

func TestLevels(t *testing.T) {
	tel, out := newTest(t, Config{Level: "WARN"})
	log := tel.Logger("x")
	log.Info("no")
	if log.Enabled(context.Background(), slog.LevelInfo) {
		t.Error("info is enabled")
	}
	if err := tel.SetLevel("debug"); err != nil {
		t.Fatal(err)
	}
	log.Debug("yes")
	if got := out.String(); strings.Contains(got, "no") || !strings.Contains(got, "[DEBUG] x: yes") {
		t.Errorf("%q", got)
	}
	if err := tel.SetLevel("loud"); err == nil {
		t.Error("an unknown level was taken")
	}
	if _, err := New(Config{Level: "loud"}); err == nil {
		t.Error("an unknown level was taken")
	}
}

func TestJSONLines(t *testing.T) {
	var out bytes.Buffer
	tel, err := New(Config{JSON: true, Output: &out})
	if err != nil {
		t.Fatal(err)
	}
	tel.Logger("agent").Info("hello", "err", errors.New("e"), "n", 3, "d", time.Second, "odd", make(chan int))
	var m map[string]any
	if err := json.Unmarshal(out.Bytes(), &m); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if m["@level"] != "info" || m["@message"] != "hello" || m["@module"] != "agent" || m["err"] != "e" || m["d"] != "1s" {
		t.Errorf("%v", m)
	}
}

func TestTaps(t *testing.T) {
	tel, out := newTest(t, Config{Level: "error"})
	log := tel.Logger("x")
	lines, done := tel.Tap(slog.LevelDebug, false)
	asJSON, doneJSON := tel.Tap(slog.LevelInfo, true)
	log.Debug("one")
	log.Info("two")
	if got := string(<-lines); !strings.HasSuffix(got, "[DEBUG] x: one\n") {
		t.Errorf("%q", got)
	}
	if got := string(<-asJSON); !strings.HasPrefix(got, "{") || !strings.Contains(got, "two") {
		t.Errorf("%q", got)
	}
	if out.Len() > 0 {
		t.Errorf("the main log got %q", out.String())
	}
	for range tapBuffer + 10 {
		log.Debug("flood")
	}
	if n := tel.Dropped(); n != 11 { // "two" was still in there
		t.Errorf("%d lines dropped, want 11", n)
	}
	done()
	doneJSON()
	if log.Enabled(context.Background(), slog.LevelDebug) {
		t.Error("debug is enabled after the taps have gone")
	}
}

func TestHandlerKeepsSlogsRules(t *testing.T) {
	var out bytes.Buffer
	slogtest.Run(t, func(t *testing.T) slog.Handler {
		out.Reset()
		tel, err := New(Config{JSON: true, Output: &out})
		if err != nil {
			t.Fatal(err)
		}
		return tel.Logger("").Handler()
	}, func(t *testing.T) map[string]any {
		var flat map[string]any
		if err := json.Unmarshal(out.Bytes(), &flat); err != nil {
			t.Fatal(err)
		}
		return nest(flat)
	})
}

// nest undoes the dotted keys of groups and gives slog's names to ours.
func nest(flat map[string]any) map[string]any {
	names := map[string]string{"@timestamp": slog.TimeKey, "@level": slog.LevelKey, "@message": slog.MessageKey}
	root := map[string]any{}
	for k, v := range flat {
		if n, ok := names[k]; ok {
			k = n
		}
		at := root
		parts := strings.Split(k, ".")
		for _, p := range parts[:len(parts)-1] {
			next, ok := at[p].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[p] = next
			}
			at = next
		}
		at[parts[len(parts)-1]] = v
	}
	return root
}
