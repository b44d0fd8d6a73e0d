package gossip

import (
	"bytes"
	"context"
	"log"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/muster-discovery/muster/internal/telemetry"
)

const (
	remedyForeign = "not an agent of this Muster pool (a Consul agent, or the other pool's port): take this agent's address " +
		"out of its retry_join; Muster and Consul agents can't share a pool, `muster import consul` takes over a Consul's data"
	remedyKey = "the two agents must have a gossip key in common: compare encrypt in their configuration, and once keys were " +
		"rotated `muster keyring -list` here with serf/local.keyring in the data dir of the other; then `muster keyring -install`, or remove that file"
	remedyConflict = "node names must be unique: give one of the two agents another name with -node or node_name"
)

// Lines of memberlist that say more than their text; the tests would notice if
// a new version words them differently.
var (
	foreignLine  = regexp.MustCompile(`discarding (stream|packet) with unacceptable label "([^"]*)": from=(\S+)`)
	refusedLine  = regexp.MustCompile(`(?:ignoring alive message for '.*?'|Failed push/pull merge): (.*is refused: .*)`)
	keyLine      = regexp.MustCompile(`(?i)(no installed keys could decrypt the message|encryption is configured but remote state is not encrypted|remote state is encrypted and encryption is not configured)(?: from=(\S+))?`)
	conflictLine = regexp.MustCompile(`Conflicting address for (.+)\. Mine: (\S+) Theirs: (\S+) Old state`)
)

// logAdapter turns the lines of serf and memberlist into slog records. Trouble
// that anyone on the network can cause at will (foreign packets, garbage) is
// logged at a bounded rate.
type logAdapter struct {
	logger    *slog.Logger
	onForeign func(kind string) // called each time
	// onAccusation is asked about each line; true: it has told it. May be nil.
	onAccusation func(text string) bool
	foreign      telemetry.Rarely
	conflict     telemetry.Rarely
	key          telemetry.Rarely
	refused      telemetry.Rarely
	trouble      bucket
}

// stdLogger is what serf.Config and memberlist.Config take.
func (a *logAdapter) stdLogger() *log.Logger { return log.New(a, "", 0) }

// Write implements io.Writer for one line, as package log calls it.
func (a *logAdapter) Write(line []byte) (int, error) {
	level, text := splitLevel(line)
	switch {
	case a.onAccusation != nil && a.onAccusation(string(text)):
	case level >= slog.LevelWarn && a.special(string(text)):
	case level < slog.LevelWarn:
		a.log(level, text)
	default:
		if ok, suppressed := a.trouble.take(time.Now()); ok {
			a.log(level, text, slog.Int("suppressed", suppressed))
		}
	}
	return len(line), nil
}

func (a *logAdapter) log(level slog.Level, text []byte, attrs ...slog.Attr) {
	ctx := context.Background()
	if a.logger.Enabled(ctx, level) {
		a.logger.LogAttrs(ctx, level, string(text), attrs...)
	}
}

// special handles the lines that have a record of their own.
func (a *logAdapter) special(text string) bool {
	if m := foreignLine.FindStringSubmatch(text); m != nil {
		a.onForeign(m[1])
		if ok, n := a.foreign.Now(time.Now()); ok {
			a.logger.Warn("foreign gossip refused", "addr", m[3], "kind", m[1], "label", m[2], "count", n, "remedy", remedyForeign)
		}
		return true
	}
	if m := refusedLine.FindStringSubmatch(text); m != nil {
		if ok, n := a.refused.Now(time.Now()); ok {
			a.logger.Error("two agents have one node id", "err", m[1], "count", n)
		}
		return true
	}
	if m := keyLine.FindStringSubmatch(text); m != nil {
		if ok, n := a.key.Now(time.Now()); ok {
			a.logger.Error("gossip with another key refused", "addr", m[2], "err", m[1], "count", n, "remedy", remedyKey)
		}
		return true
	}
	if m := conflictLine.FindStringSubmatch(text); m != nil {
		if ok, n := a.conflict.Now(time.Now()); ok {
			a.logger.Error("two agents claim one node name", "node", m[1], "addr", m[2], "peer", m[3], "count", n, "remedy", remedyConflict)
		}
		return true
	}
	// serf repeats each conflict in its own words.
	return strings.HasPrefix(text, "serf: Node name conflicts with another node") || strings.HasPrefix(text, "serf: Name conflict for")
}

// namesake tells of an agent that has this agent's name, which goes on for as long as
// both run.
func (a *logAdapter) namesake(own, other party) {
	if ok, n := a.conflict.Now(time.Now()); ok {
		a.logger.Error("two agents claim one node name", "node", own.name, "node_id", own.id, "addr", own.addr,
			"peer_id", other.id, "peer", other.addr, "count", n, "remedy", remedyConflict)
	}
}

// splitLevel cuts "[WARN] memberlist: text" into level and "memberlist: text".
// Routine lines are debug: the pools log joins and deaths themselves.
func splitLevel(line []byte) (slog.Level, []byte) {
	line = bytes.TrimSpace(line)
	tag, rest, ok := bytes.Cut(line, []byte("] "))
	if !ok || len(tag) == 0 || tag[0] != '[' {
		return slog.LevelInfo, line
	}
	if bytes.Contains(rest, []byte("Shutdown without a Leave")) {
		return slog.LevelDebug, rest // stopping without leaving is the rule for servers
	}
	switch string(tag[1:]) {
	case "ERR", "ERROR":
		return slog.LevelError, rest
	case "WARN":
		return slog.LevelWarn, rest
	}
	return slog.LevelDebug, rest
}

// bucket lets a burst of lines through, then one a second.
type bucket struct {
	mu         sync.Mutex
	started    bool
	tokens     float64
	last       time.Time
	suppressed int
}

const bucketSize = 20

func (b *bucket) take(t time.Time) (ok bool, suppressed int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.started {
		b.started, b.tokens = true, bucketSize
	} else {
		b.tokens = min(bucketSize, b.tokens+t.Sub(b.last).Seconds())
	}
	b.last = t
	if b.tokens < 1 {
		b.suppressed++
		return false, 0
	}
	b.tokens--
	suppressed, b.suppressed = b.suppressed, 0
	return true, suppressed
}
