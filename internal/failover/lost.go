package failover

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// rounds is how often the guard is walked through for one lost leader. Entries that
	// still arrive can make each survivor hold the other for the better placed one.
	rounds = 8
	// lateRound is the first in which a candidate is not waited for any more.
	lateRound = 3
	// The pause between rounds differs from server to server.
	roundPauseMin  = 60 * time.Millisecond
	roundPauseSpan = 40 * time.Millisecond
	// redialTimeout bounds one attempt to reach the leader. A refusal comes within a
	// millisecond, so does a greeting; a host that is silent for longer is a matter for
	// Raft's timeout.
	redialTimeout = 100 * time.Millisecond
	// dyingPause is between attempts while the process dies, dyingTimeout bounds them.
	dyingPause   = time.Millisecond
	dyingTimeout = 200 * time.Millisecond
	// lostPatience is how long a server that is asked waits for its own connection to
	// end; the asker waits a little longer for the answer.
	lostPatience  = 20 * time.Millisecond
	answerTimeout = 2 * lostPatience
	// toldFor is how long a place in the log stands once it was told.
	toldFor = 50 * time.Millisecond
)

// follow walks through the guard for a server whose connection has ended, until there
// is a new leader or nothing more to do.
func (h *Hints) follow(ctx context.Context, lost string) {
	start := time.Now()
	var r result
	for round := range rounds {
		changed := h.cfg.Raft.LeaderChanged()
		r = h.round(ctx, lost, round >= lateRound)
		h.log.Debug("a server's connection has ended", "peer", lost, "attempt", round+1, "result", r)
		if r == resultActed {
			h.log.Warn("the leader is gone, standing for election", "peer", lost, "attempt", round+1)
		}
		h.m.failover.WithLabelValues(string(r)).Inc()
		if r.final() {
			return
		}
		if h.led(ctx, lost, changed) {
			h.m.election.Observe(time.Since(start).Seconds())
			return
		}
	}
	h.m.failover.WithLabelValues(string(resultLost)).Inc()
}

// led waits for a pause between rounds, and reports whether another server leads.
func (h *Hints) led(ctx context.Context, lost string, changed <-chan struct{}) bool {
	timer := time.NewTimer(h.roundPause())
	defer timer.Stop()
	for {
		if leader := h.cfg.Raft.Standing().Leader; leader != "" && leader != lost {
			return true
		}
		select {
		case <-changed:
			changed = h.cfg.Raft.LeaderChanged()
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

func (h *Hints) roundPause() time.Duration {
	voters := slices.Sorted(slices.Values(h.cfg.Raft.Standing().Voters))
	rank := max(0, slices.Index(voters, h.cfg.Self))
	return roundPauseMin + roundPauseSpan*time.Duration(rank)/time.Duration(max(1, len(voters)-1))
}

// round walks through the guard once.
func (h *Hints) round(ctx context.Context, lost string, late bool) result {
	s := h.cfg.Raft.Standing()
	if ok, otherwise := mayFollow(s, h.cfg.Self, lost, h.leader.last()); !ok {
		return otherwise
	}
	if r := h.redial(ctx, lost); r != "" {
		return r
	}
	answers := h.askVoters(ctx, s, lost)
	// What happened meanwhile counts: the vote of another candidate, a new leader.
	s = h.cfg.Raft.Standing()
	if ok, otherwise := mayFollow(s, h.cfg.Self, lost, h.leader.last()); !ok {
		return otherwise
	}
	if r := decide(s, h.place(s), answers, late); r != resultActed {
		return r
	}
	if ctx.Err() != nil {
		return resultStopped
	}
	if err := h.cfg.Raft.Stand(); err != nil {
		h.log.Warn("cannot stand for election", "err", err)
		return resultNotStood
	}
	return resultActed
}

// redial is empty if the leader is proven dead, and else how the round ends.
func (h *Hints) redial(ctx context.Context, lost string) result {
	addr, err := h.cfg.Resolve(lost)
	if err != nil {
		return resultUnsure
	}
	ctx, cancel := context.WithTimeout(ctx, dyingTimeout)
	defer cancel()
	for {
		switch h.knockServer(ctx, addr) {
		case signAlive:
			return resultAlive
		case signDead:
			return ""
		case signUnsure:
			return resultUnsure
		case signDying:
		}
		if !pause(ctx, dyingPause) {
			return resultUnsure
		}
	}
}

// knockServer dials a server's port and waits for its greeting.
func (h *Hints) knockServer(ctx context.Context, addr string) sign {
	ctx, cancel := context.WithTimeout(ctx, redialTimeout)
	defer cancel()
	conn, err := h.cfg.Dial(ctx, addr)
	if err == nil {
		_ = conn.Close()
	}
	return readSign(err)
}

// askVoters asks all other voters at once about the lost leader.
func (h *Hints) askVoters(ctx context.Context, s Standing, lost string) []answer {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var mu sync.Mutex
	var answers []answer
	var wg sync.WaitGroup
	for _, id := range s.Voters {
		peer := h.links.asker(id)
		if peer == nil || id == lost || id == h.cfg.Self {
			continue
		}
		wg.Go(func() {
			m, err := peer.ask(ctx, message{Type: typeLost, ID: lost})
			if err != nil {
				return // counts against the hint
			}
			mu.Lock()
			defer mu.Unlock()
			answers = append(answers, answer{
				place:   place{term: m.Term, index: m.Index, standing: m.Standing, id: id},
				current: m.Current, lost: m.Yes, led: m.Led,
			})
		})
	}
	wg.Wait()
	return answers
}

// answerLost answers another server's question about a lost leader.
func (h *Hints) answerLost(ctx context.Context, lost string) message {
	l := h.links.get(lost)
	yes := l != nil && l.lost(ctx, lostPatience)
	s := h.cfg.Raft.Standing()
	p := h.place(s)
	return message{
		Yes: yes, Led: s.Leader != "" && s.Leader != lost,
		Current: s.Term, Term: p.term, Index: p.index, Standing: p.standing,
	}
}

// lastLeader remembers the leader that was known last, also when none is.
type lastLeader struct{ id atomic.Pointer[string] }

func (l *lastLeader) last() string {
	if id := l.id.Load(); id != nil {
		return *id
	}
	return ""
}

// run follows Raft's word until ctx ends.
func (l *lastLeader) run(ctx context.Context, r Raft) {
	for {
		changed := r.LeaderChanged()
		if id := r.Standing().Leader; id != "" {
			l.id.Store(&id)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// told is the place in the log that this server named last. It stands for a moment:
// two servers that ask each other while entries still arrive must compare the same
// numbers, or both would think themselves the best placed.
type told struct {
	mu          sync.Mutex
	term, index uint64
	until       time.Time
}

func (h *Hints) place(s Standing) place {
	h.told.mu.Lock()
	defer h.told.mu.Unlock()
	if now := time.Now(); !now.Before(h.told.until) {
		h.told.term, h.told.index, h.told.until = s.LastTerm, s.LastIndex, now.Add(toldFor)
	}
	return place{term: h.told.term, index: h.told.index, standing: s.Candidate, id: h.cfg.Self}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
