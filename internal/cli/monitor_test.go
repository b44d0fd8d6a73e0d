package cli

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
)

// streaming answers the monitor with lines, and then ends or waits for the caller's
// end.
func streaming(t *testing.T, lines string, wait bool) *fakeAgent {
	a := newFake(t, map[string]any{})
	a.handlers = map[string]http.HandlerFunc{"/v1/agent/monitor": func(w http.ResponseWriter, r *http.Request) {
		if _, err := w.Write([]byte(lines)); err != nil {
			t.Error(err)
		}
		w.(http.Flusher).Flush()
		if wait {
			<-r.Context().Done()
		}
	}}
	return a
}

func TestMonitor(t *testing.T) {
	a := streaming(t, "one\n\ntwo\n", false)
	r := muster("monitor", "-log-level=debug", "-log-json")
	r.want(t, 0, "one\n \ntwo\n")
	if !strings.Contains(r.err, "Remote side ended the monitor!") {
		t.Errorf("errors %q", r.err)
	}
	if got := a.asked[0]; got != "GET /v1/agent/monitor?logjson=true&loglevel=debug" {
		t.Errorf("asked %q", got)
	}
	muster("monitor", "-log-level=loud").wantError(t, `unknown log level "loud"`)
	newFake(t, nil)
	muster("monitor").wantError(t, "starting the monitor: no such thing here")
}

// untilWritten is an output that ends a context with the first line.
type untilWritten struct {
	bytes.Buffer
	end context.CancelFunc
}

func (u *untilWritten) Write(b []byte) (int, error) {
	defer u.end()
	return u.Buffer.Write(b)
}

func TestMonitorEndsWithTheFirstSignal(t *testing.T) {
	streaming(t, "one\n", true)
	ctx, cancel := context.WithCancel(context.Background())
	out := &untilWritten{end: cancel}
	f := newFlags(monitorCommand, out, out)
	m := &monitor{conn: f.connect(false), level: "info", until: func() (context.Context, context.CancelFunc) { return ctx, cancel }}
	if code := m.run(nil); code != 0 || out.String() != "one\n" {
		t.Errorf("exit code %d, output %q", code, out.String())
	}
}

func TestKeygen(t *testing.T) {
	one, other := muster("keygen"), muster("keygen")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(one.out))
	if err != nil || len(raw) != 32 || one.out == other.out {
		t.Errorf("%q, then %q: %v", one.out, other.out, err)
	}
}
