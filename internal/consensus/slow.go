package consensus

import (
	"log/slog"
	"slices"
	"sync"
	"time"
)

const (
	// slowWindow is how long an append counts, slowSamples how many do at most.
	slowWindow  = 30 * time.Second
	slowSamples = 1024
)

// slowness notices a slow disk while there is still time: a server that waits for its
// disk answers nobody, and after the heartbeat timeout the others look for a leader.
// The disk is slow if one in a hundred recent appends took longer than a third of that
// timeout, or if the one under way does.
type slowness struct {
	bound time.Duration
	log   *slog.Logger

	mu     sync.Mutex
	recent []appended // oldest first; guarded by mu
	over   int        // of them longer than bound
	began  time.Time  // of the one under way; zero: there is none
	told   bool       // that the disk is slow
	alarm  *time.Timer
}

type appended struct {
	at   time.Time
	took time.Duration
}

func newSlowness(bound time.Duration, log *slog.Logger) *slowness {
	s := &slowness{bound: bound, log: log}
	s.alarm = time.AfterFunc(bound, func() { s.look(time.Now()) })
	s.alarm.Stop()
	return s
}

// begin and end are called around each append; they don't overlap.
func (s *slowness) begin(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = now
	s.alarm.Reset(s.bound + time.Millisecond) // for one that does not come back
}

func (s *slowness) end(now time.Time) (took time.Duration) {
	s.mu.Lock()
	took = now.Sub(s.began)
	s.began = time.Time{}
	s.alarm.Stop()
	if len(s.recent) == slowSamples {
		s.dropLocked(1)
	}
	s.recent = append(s.recent, appended{now, took})
	if took > s.bound {
		s.over++
	}
	s.mu.Unlock()
	s.look(now)
	return took
}

func (s *slowness) dropLocked(n int) {
	for _, a := range s.recent[:n] {
		if a.took > s.bound {
			s.over--
		}
	}
	s.recent = s.recent[n:] // its array is replaced when it is used up
}

// slow tells how the disk is.
func (s *slowness) slow(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slowLocked(now)
}

func (s *slowness) slowLocked(now time.Time) bool {
	old := 0
	for old < len(s.recent) && now.Sub(s.recent[old].at) > slowWindow {
		old++
	}
	if old > 0 {
		s.dropLocked(old)
	}
	if !s.began.IsZero() && now.Sub(s.began) > s.bound {
		return true
	}
	return s.over > 0 && s.over*100 > len(s.recent)
}

// p99 is what one in a hundred recent appends took at least.
func (s *slowness) p99(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slowLocked(now)
	var all []time.Duration
	for _, a := range s.recent {
		all = append(all, a.took)
	}
	if !s.began.IsZero() {
		all = append(all, now.Sub(s.began))
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[(len(all)-1)*99/100]
}

// look tells the log of a change.
func (s *slowness) look(now time.Time) {
	s.mu.Lock()
	slow := s.slowLocked(now)
	changed := slow != s.told
	s.told = slow
	s.mu.Unlock()
	switch {
	case changed && slow:
		s.log.Warn("the disk of the log is slow: servers that wait for it may lose their leader",
			"duration", s.p99(now).String(), "bound", s.bound.String(),
			"remedy", "take other load off this disk, use a faster one, or raise performance.raft_multiplier")
	case changed:
		s.log.Info("the disk of the log is fast enough again", "duration", s.p99(now).String())
	}
}
