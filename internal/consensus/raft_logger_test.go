package consensus

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

func TestRaftLogger(t *testing.T) {
	var out bytes.Buffer
	handler := slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	l := newRaftLogger(slog.New(handler))
	if l.IsDebug() || l.IsTrace() || !l.IsInfo() || !l.IsWarn() || !l.IsError() {
		t.Error("wrong levels")
	}
	l.Debug("not shown")
	l.Trace("not shown")
	l.With("id", 7).Error("went wrong", "error", "why", "value", "error")
	l.Error("failed to take snapshot", "error", raft.ErrRaftShutdown)
	l.Named("snap").Named("shot").Info("list", "servers", hclog.Fmt("%v and %d", "a", 2))
	l.Warn("heartbeat timeout reached, starting election", "last-leader-id", raft.ServerID(""))
	l.Warn("heartbeat timeout reached, starting election", "last-leader-id", raft.ServerID("x"))
	l.Log(hclog.Warn, "by level")
	want := strings.TrimPrefix(`
level=ERROR msg="went wrong" id=7 err=why value=error
level=INFO msg=list servers="a and 2"
level=INFO msg="heartbeat timeout reached, starting election" last-leader-id=""
level=WARN msg="heartbeat timeout reached, starting election" last-leader-id=x
level=WARN msg="by level"
`, "\n")
	if got := out.String(); got != want {
		t.Errorf("log is\n%s, want\n%s", got, want)
	}
	if name := l.Named("a").Named("b").Name(); name != "a.b" {
		t.Errorf("name %q", name)
	}
}
