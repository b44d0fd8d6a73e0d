package check

import (
	"context"
	"strings"
	"time"
)

// startLocked gives an entry's probe a place, or queues it for one.
func (s *Scheduler) startLocked(ctx context.Context, e *entry) {
	if e.busy {
		// Its last run has not ended, or not even begun.
		s.metrics.skipped.Inc()
		return
	}
	e.busy = true
	if !s.placeLocked(e.lane) {
		s.queues[e.lane] = append(s.queues[e.lane], e)
		s.metrics.queued.Set(float64(len(s.queues[fast]) + len(s.queues[slow])))
		return
	}
	s.goLocked(ctx, e)
}

// placeLocked reports whether a lane may start one more probe.
func (s *Scheduler) placeLocked(lane int) bool {
	if s.running[fast]+s.running[slow] >= s.maxProbes {
		return false
	}
	return lane == fast || s.running[slow] < max(s.maxProbes*3/4, 1)
}

func (s *Scheduler) goLocked(ctx context.Context, e *entry) {
	lane := e.lane
	s.running[lane]++
	s.metrics.running.Inc()
	probeCtx, cancel := context.WithTimeout(ctx, e.task.Timeout)
	e.cancel = cancel
	s.inFlight.Go(func() {
		took := s.run(ctx, probeCtx, e)
		cancel()
		s.finish(ctx, e, lane, took)
	})
}

// run executes one probe in ctx and reports its result.
func (s *Scheduler) run(agent, ctx context.Context, e *entry) (took time.Duration) {
	began := time.Now()
	result := e.task.Probe.Run(ctx)
	took = time.Since(began)
	// A probe cut short because its check or the agent went away says nothing
	// about its target.
	if agent.Err() != nil || ctx.Err() == context.Canceled {
		return took
	}
	// Catalog and JSON hold text only. Bytes that are none would come back changed,
	// and anti-entropy would bring them to the catalog again and again.
	result.Output = strings.ToValidUTF8(result.Output, "\uFFFD")
	s.metrics.observe(e.task.Kind, result.Status, took)
	if s.current(e) {
		e.task.Report(result)
	}
	return took
}

func (s *Scheduler) current(e *entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !e.removed
}

// finish gives a probe's place back, and to those that wait.
func (s *Scheduler) finish(ctx context.Context, e *entry, lane int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.cancel = nil
	e.busy = false
	e.lane = fast
	if took > slowProbe {
		e.lane = slow
	}
	s.running[lane]--
	s.metrics.running.Dec()
	for _, l := range []int{fast, slow} {
		for ctx.Err() == nil && len(s.queues[l]) > 0 && s.placeLocked(l) {
			next := s.queues[l][0]
			s.queues[l][0] = nil
			s.queues[l] = s.queues[l][1:]
			if !next.removed {
				s.goLocked(ctx, next)
			}
		}
	}
	s.metrics.queued.Set(float64(len(s.queues[fast]) + len(s.queues[slow])))
}
