package failover

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/muster-discovery/muster/internal/gossip"
)

const (
	// probeTimeout bounds the wait for another server's probe.
	probeTimeout = 2500 * time.Millisecond
	// tellTimeout bounds how long the others may take to note a word. One that does not
	// hears gossip's a little later.
	tellTimeout = 200 * time.Millisecond
	// settleInterval is how often words are held against gossip's, and judged members
	// asked for a sign of life again.
	settleInterval = 500 * time.Millisecond
	// maxKnocks bounds the knocks of one such turn that are under way at once.
	maxKnocks = 16
)

// table is the verdicts with what guards them.
type table struct {
	mu sync.Mutex
	verdicts
}

// Members are gossip's members as the leader's duties are to see them.
func (h *Hints) Members() []gossip.Member {
	members := h.cfg.Members()
	h.table.mu.Lock()
	defer h.table.mu.Unlock()
	return h.table.show(members, time.Now())
}

// Hint says that a connection of a node's agent has ended. It never waits; a hint too
// many is dropped, and gossip tells.
func (h *Hints) Hint(node string) {
	if strings.EqualFold(node, h.cfg.Name) {
		return
	}
	if !h.tasks.offer("judge "+strings.ToLower(node), func(ctx context.Context) { h.count(h.judge(ctx, node)) }) {
		h.count(verdictDropped)
	}
}

func (h *Hints) count(v verdict) { h.m.detect.WithLabelValues(string(v)).Inc() }

// judge has all servers probe a node, and makes their unanimous verdict known.
func (h *Hints) judge(ctx context.Context, node string) verdict {
	m, ok := h.member(node)
	if !ok || m.Status != gossip.StatusAlive || h.word(node) != "" {
		return verdictIgnored
	}
	s := subjectOf(m)
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var dead, dissent int
	var others sync.WaitGroup
	others.Go(func() {
		h.links.askAll(ctx, message{Type: typeProbe, Name: s.Name, ID: s.ID, Addr: s.Addr}, func(m *message) {
			if m != nil && m.Verdict == verdictDead {
				dead++
			} else {
				dissent++
			}
		})
	})
	own := h.probeOnce(ctx, m)
	others.Wait()
	standing := h.cfg.Raft.Standing()
	switch {
	case own != verdictDead:
		return own
	case dissent > 0 || dead+1 < standing.majority() || h.held.has(node):
		h.log.Info("an agent's connection has ended, but the servers are not sure that it is dead", "node", node, "count", dissent)
		return verdictOutvoted
	}
	h.log.Warn("agent is dead: nothing listens at its gossip port, say all servers", "node", node, "addr", s.Addr, "count", dead+1)
	h.note(s, wordDown, true)
	h.tell(ctx, message{Type: typeDown, Name: s.Name, ID: s.ID, Addr: s.Addr})
	return verdictDead
}

// probeOnce probes a member unless that is under way already, for this server or for
// another that asked, and returns the common result.
func (h *Hints) probeOnce(ctx context.Context, m gossip.Member) verdict {
	return h.probes.do(subjectOf(m), func() verdict { return h.probe(ctx, m) })
}

// probes lets those who ask about the same member at the same time share an answer.
type probes struct {
	mu      sync.Mutex
	running map[subject]*probing
}

type probing struct {
	done    chan struct{}
	verdict verdict
}

func (p *probes) do(s subject, probe func() verdict) verdict {
	p.mu.Lock()
	if r := p.running[s]; r != nil {
		p.mu.Unlock()
		<-r.done // a probe is bounded
		return r.verdict
	}
	r := &probing{done: make(chan struct{}), verdict: verdictUnsure}
	p.running[s] = r
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.running, s)
		p.mu.Unlock()
		close(r.done)
	}()
	r.verdict = probe()
	return r.verdict
}

// answerProbe answers another server. Only a member as this server knows it is
// probed: nobody is to make servers knock anywhere else.
func (h *Hints) answerProbe(ctx context.Context, s subject) verdict {
	m, ok := h.member(s.Name)
	if !ok || subjectOf(m) != s {
		return verdictUnsure
	}
	if m.Status == gossip.StatusFailed {
		return verdictDead // gossip was faster here
	}
	return h.probeOnce(ctx, m)
}

func (h *Hints) member(node string) (gossip.Member, bool) {
	for _, m := range h.cfg.Members() {
		if strings.EqualFold(m.Name, node) {
			return m, true
		}
	}
	return gossip.Member{}, false
}

func (h *Hints) word(node string) word {
	h.table.mu.Lock()
	defer h.table.mu.Unlock()
	return h.table.of(node)
}

// note takes a word down and has the duties look again.
func (h *Hints) note(s subject, w word, own bool) {
	h.table.mu.Lock()
	changed := h.table.set(s, w, own, time.Now())
	h.table.mu.Unlock()
	if changed {
		h.cfg.Changed()
	}
}

// signOfLife ends what was said of a node, here and at the other servers.
func (h *Hints) signOfLife(ctx context.Context, node string) {
	if h.lift(node) {
		h.log.Info("agent shows signs of life, gossip's word counts again", "node", node)
		h.tell(ctx, message{Type: typeUp, Name: node})
	}
}

func (h *Hints) lift(node string) bool {
	h.table.mu.Lock()
	there := h.table.lift(node)
	h.table.mu.Unlock()
	if there {
		h.cfg.Changed()
	}
	return there
}

// tell has the other servers note a word.
func (h *Hints) tell(ctx context.Context, m message) {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	h.links.tellAll(ctx, m)
}

// settle ends words that are over, again and again.
func (h *Hints) settle(ctx context.Context) {
	tick := time.NewTicker(settleInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		h.table.mu.Lock()
		empty := len(h.table.byName) == 0
		h.table.mu.Unlock()
		if empty {
			continue
		}
		members := h.cfg.Members()
		h.table.mu.Lock()
		changed := h.table.settle(members, time.Now())
		downs := h.table.downs()
		h.table.mu.Unlock()
		if changed {
			h.cfg.Changed()
		}
		h.lookAgain(ctx, downs)
	}
}

// lookAgain knocks at the ports of members that were judged dead.
func (h *Hints) lookAgain(ctx context.Context, downs []subject) {
	var wg sync.WaitGroup
	turn := make(chan struct{}, maxKnocks)
	for _, s := range downs {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			if h.knock(ctx, s.Addr) == signAlive {
				h.signOfLife(ctx, s.Name)
			}
		})
	}
	wg.Wait()
}
