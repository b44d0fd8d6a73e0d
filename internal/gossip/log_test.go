package gossip

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLogAdapterLevels(t *testing.T) {
	tests := []struct{ line, want string }{
		{"[ERR] memberlist: broken\n", `level=ERROR msg="memberlist: broken" suppressed=0`},
		{"[WARN] serf: odd", `level=WARN msg="serf: odd" suppressed=0`},
		{"[INFO] serf: EventMemberJoin: a 1.2.3.4", `level=DEBUG msg="serf: EventMemberJoin: a 1.2.3.4"`},
		{"[DEBUG] memberlist: chat", `level=DEBUG msg="memberlist: chat"`},
		{"no level", `level=INFO msg="no level"`},
		{"[WARN] serf: Shutdown without a Leave", `level=DEBUG msg="serf: Shutdown without a Leave"`},
		{"", `level=INFO msg=""`},
		{"[", `level=INFO msg=[`},
	}
	for _, tt := range tests {
		if got := adapt(t, tt.line); got != tt.want {
			t.Errorf("%q became %q, want %q", tt.line, got, tt.want)
		}
	}
}

// adapt sends lines through a fresh adapter and returns what comes out.
func adapt(t *testing.T, lines ...string) string {
	t.Helper()
	var out syncBuffer
	noTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	a := &logAdapter{
		logger:    slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: noTime})),
		onForeign: func(string) {},
	}
	for _, line := range lines {
		if n, err := a.Write([]byte(line)); n != len(line) || err != nil {
			t.Errorf("Write: %d, %v", n, err)
		}
	}
	return strings.TrimSpace(out.String())
}

// TestLogFlood: whoever sends garbage must not fill the disk with log lines.
func TestLogFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out syncBuffer
		a := &logAdapter{logger: slog.New(slog.NewTextHandler(&out, nil)), onForeign: func(string) {}}
		for range 1000 {
			_, _ = a.Write([]byte("[ERR] memberlist: garbage"))
		}
		if n := strings.Count(out.String(), "garbage"); n != bucketSize {
			t.Errorf("%d lines at once, want %d", n, bucketSize)
		}
		time.Sleep(time.Second)
		_, _ = a.Write([]byte("[ERR] memberlist: later"))
		if !strings.Contains(out.String(), "later\" suppressed=980") {
			t.Errorf("no count of what was left out:\n%s", out.String())
		}
	})
}
