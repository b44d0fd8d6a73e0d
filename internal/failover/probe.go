package failover

import (
	"context"
	"time"

	"github.com/muster-discovery/muster/internal/gossip"
)

// verdict is what a server found out about a node; its text is on the wire and, of
// the common one, the label in metrics.
type verdict string

const (
	verdictDead   verdict = "dead"   // its host refuses connections to its gossip port, and it does not answer a ping
	verdictAlive  verdict = "alive"  // it answers
	verdictUnsure verdict = "unsure" // anything else: gossip decides

	// For the metrics alone.
	verdictOutvoted verdict = "outvoted" // this server found it dead, the others did not
	verdictIgnored  verdict = "ignored"  // gossip does not say alive, or it is leaving
	verdictDropped  verdict = "dropped"  // too many questions under way
)

const (
	// knockPause is between two knocks. Two refusals in a row are wanted: a port that is
	// closed for the moment of a hand-over is no death.
	knockPause = 250 * time.Millisecond
	// knockTimeout bounds a knock: a host in the same datacenter refuses in a
	// millisecond, and one that is silent proves nothing.
	knockTimeout = 200 * time.Millisecond
	// knocks bounds them; an agent that is stopping still answers the first.
	knocks = 6
	// aliveKnocks in a row end the questions.
	aliveKnocks = 4
	refusals    = 2
)

// tally is the pure part: what a row of knocks amounts to.
type tally struct{ refused, answered int }

// add takes the next knock's sign and returns the verdict, empty while it is open.
func (t *tally) add(s sign) verdict {
	switch s {
	case signDead:
		t.refused, t.answered = t.refused+1, 0
	case signAlive:
		t.refused, t.answered = 0, t.answered+1
	case signDying:
		t.refused, t.answered = 0, 0
	case signUnsure:
		return verdictUnsure
	}
	switch {
	case t.refused >= refusals:
		return verdictDead
	case t.answered >= aliveKnocks:
		return verdictAlive
	}
	return ""
}

// probe finds out whether a member is dead. It takes at most a second and a half.
func (h *Hints) probe(ctx context.Context, m gossip.Member) verdict {
	var t tally
	var pinged chan bool
	for range knocks {
		s := h.knock(ctx, m.GossipAddr())
		if s == signDead && pinged == nil && h.cfg.Ping != nil {
			// While the knocks go on: a firewall that rejects one looks like a refusal.
			pinged = make(chan bool, 1)
			go func() { pinged <- h.cfg.Ping(m) }()
		}
		if v := t.add(s); v != "" {
			if pinged != nil && <-pinged {
				return verdictAlive
			}
			return v
		}
		if !pause(ctx, knockPause) {
			break
		}
	}
	if pinged != nil {
		<-pinged
	}
	return verdictUnsure
}

func (h *Hints) knock(ctx context.Context, addr string) sign {
	ctx, cancel := context.WithTimeout(ctx, knockTimeout)
	defer cancel()
	return readSign(h.cfg.Knock(ctx, addr))
}
