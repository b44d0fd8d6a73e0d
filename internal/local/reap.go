package local

import (
	"context"
	"time"
)

// reapInterval is how often critical checks are looked at for removing their
// service: with it a service goes at most this long after its time.
const reapInterval = 10 * time.Second

// reap removes services whose checks have been critical for too long.
func (l *Local) reap(ctx context.Context) {
	ticker := time.NewTicker(reapInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			for _, id := range l.overdue(now) {
				l.log.Info("removing service: critical for too long", "service", id)
				if err := l.RemoveService(ctx, id); err != nil {
					l.log.Warn("remove service", "service", id, "err", err)
				}
				l.metrics.reaped.Inc()
			}
		}
	}
}

// overdue returns the services to remove. The time counts from the agent's start
// at the earliest: what happened while it was away is not known.
func (l *Local) overdue(now time.Time) []string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	ids := map[string]bool{}
	for id := range l.reapable {
		e, ok := l.checks.Get(id)
		if ok && !e.failingAt.IsZero() && now.Sub(e.failingAt) >= e.def.DeregisterCriticalServiceAfter {
			ids[e.def.ServiceID] = true
		}
	}
	return sortedIDs(ids)
}
