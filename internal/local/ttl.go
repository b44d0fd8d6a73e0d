package local

import (
	"context"
	"time"

	"github.com/muster-discovery/muster/internal/check"
	"github.com/muster-discovery/muster/internal/model"
)

// UpdateTTL takes an application's report about its TTL check. The catalog and
// the disk follow on their own.
func (l *Local) UpdateTTL(_ context.Context, checkID, status, output string) error {
	switch status {
	case model.StatusPassing, model.StatusWarning, model.StatusCritical:
	default:
		return model.Errorf(model.KindInvalid, "Invalid check status: '%s'", status)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.checks.Get(checkID)
	if !ok {
		return unknownCheck(checkID)
	}
	if e.def.Type() != "ttl" || e.maintenance {
		return model.Errorf(model.KindInternal, "CheckID %q does not have associated TTL", checkID)
	}
	l.setStateLocked(e, status, check.Tail(output, l.cfg.Transport.OutputSize(e.def)))
	l.armLocked(e, time.Now().Add(e.def.TTL))
	l.states.noteLocked(e, false) // the deadline has moved
	return nil
}

// armLocked sets a TTL check's deadline. A deadline that only moves back is not
// touched in the schedule: when the old one comes it finds the new one.
func (l *Local) armLocked(e *checkEntry, deadline time.Time) {
	earlier := deadline.Before(e.deadline)
	e.deadline = deadline
	if e.armed && !earlier {
		return
	}
	e.armed = true
	l.sched.Deadline(e.def.ID, deadline, func(now time.Time) time.Time { return l.expire(e, now) })
}

// expire is called when a TTL may have run out.
func (l *Local) expire(e *checkEntry, now time.Time) (next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if current, _ := l.checks.Get(e.def.ID); current != e {
		return time.Time{}
	}
	if e.deadline.After(now) {
		return e.deadline
	}
	e.armed = false
	l.setStateLocked(e, model.StatusCritical, expiredOutput(e.state.Output))
	return time.Time{}
}

func expiredOutput(last string) string {
	if last == "" {
		return "TTL expired"
	}
	return "TTL expired (last output before timeout follows): " + last
}
