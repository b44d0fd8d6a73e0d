package consensus

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// raftLogger passes Raft's log lines on to slog. What Raft does not use of the
// interface does nothing.
type raftLogger struct {
	hclog.Logger
	log  *slog.Logger
	name string
}

func newRaftLogger(log *slog.Logger) hclog.Logger {
	return raftLogger{Logger: hclog.NewNullLogger(), log: log}
}

func (r raftLogger) Log(level hclog.Level, msg string, args ...any) {
	r.emit(slogLevel(level), msg, args)
}
func (r raftLogger) Trace(msg string, args ...any) { r.emit(slog.LevelDebug, msg, args) }
func (r raftLogger) Debug(msg string, args ...any) { r.emit(slog.LevelDebug, msg, args) }
func (r raftLogger) Info(msg string, args ...any)  { r.emit(slog.LevelInfo, msg, args) }
func (r raftLogger) Warn(msg string, args ...any)  { r.emit(warnLevel(msg, args), msg, args) }
func (r raftLogger) Error(msg string, args ...any) { r.emit(errorLevel(args), msg, args) }

func (r raftLogger) IsTrace() bool { return false }
func (r raftLogger) IsDebug() bool { return r.enabled(slog.LevelDebug) }
func (r raftLogger) IsInfo() bool  { return r.enabled(slog.LevelInfo) }
func (r raftLogger) IsWarn() bool  { return r.enabled(slog.LevelWarn) }
func (r raftLogger) IsError() bool { return r.enabled(slog.LevelError) }

func (r raftLogger) Name() string { return r.name }

func (r raftLogger) With(args ...any) hclog.Logger {
	r.log = r.log.With(houseArgs(args)...)
	return r
}

func (r raftLogger) Named(name string) hclog.Logger {
	if r.name != "" {
		name = r.name + "." + name
	}
	return r.ResetNamed(name)
}

func (r raftLogger) ResetNamed(name string) hclog.Logger {
	r.name = name
	return r
}

func (r raftLogger) enabled(level slog.Level) bool {
	return r.log.Enabled(context.Background(), level)
}

func (r raftLogger) emit(level slog.Level, msg string, args []any) {
	if r.enabled(level) {
		r.log.Log(context.Background(), level, msg, houseArgs(args)...)
	}
}

// warnLevel makes the election of a server that just started, which has lost no
// leader, no warning, nor that a follower lags behind what it is told is committed.
func warnLevel(msg string, args []any) slog.Level {
	if strings.HasPrefix(msg, "failed to get previous log") {
		return slog.LevelDebug
	}
	if strings.HasPrefix(msg, "heartbeat timeout reached, starting election") && slices.Contains(args, any(raft.ServerID(""))) {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// errorLevel makes what ends because the server is being stopped no error.
func errorLevel(args []any) slog.Level {
	if slices.Contains(args, any(raft.ErrRaftShutdown)) {
		return slog.LevelDebug
	}
	return slog.LevelError
}

// houseArgs turns keys and values into those of the house.
func houseArgs(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case hclog.Format:
			a = fmt.Sprintf(v[0].(string), v[1:]...)
		case string:
			if i%2 == 0 && v == "error" {
				a = "err"
			}
		}
		out[i] = a
	}
	return out
}

func slogLevel(level hclog.Level) slog.Level {
	switch level {
	case hclog.Error:
		return slog.LevelError
	case hclog.Warn:
		return slog.LevelWarn
	case hclog.Info:
		return slog.LevelInfo
	}
	return slog.LevelDebug
}
