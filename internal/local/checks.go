package local

import (
	"reflect"
	"time"

	"github.com/muster-discovery/muster/internal/check"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/retry"
)

const (
	// firstRunMin leaves a registration the time to reach the catalog before the
	// first result, so that the two are two changes for whoever watches.
	firstRunMin = 50 * time.Millisecond
	// firstRunSpread spreads the first runs of checks registered together. They
	// come soon all the same: an instance waits for its first result.
	firstRunSpread = time.Second
	// restartSpread is the same for checks found on disk: their states are known
	// or critical, and there may be thousands.
	restartSpread = 10 * time.Second
)

// setCheckLocked puts a check into the tables and starts it. One that was there
// keeps its state, and if nothing about it changed its runner too.
func (l *Local) setCheckLocked(key string, c checkDef) {
	old, ok := l.checks.Get(c.def.ID)
	kept := ok && old.def.ServiceID == c.def.ServiceID && old.maintenance == c.maintenance && old.def.Type() == c.def.Type()
	if ok && !kept {
		l.removeCheckLocked(c.def.ID, old.unit)
	}
	if !kept {
		e := &checkEntry{checkDef: c, unit: key}
		l.checks.Set(c.def.ID, e)
		if c.def.ServiceID == "" {
			l.nodeOwn[c.def.ID] = true
		}
		l.push.keepCheckLocked(c.def.ServiceID, c.def.ID)
		l.startLocked(e)
		return
	}
	same := old.unit == key && reflect.DeepEqual(old.def, c.def)
	state := *old.state
	e := old
	if !same {
		// A new entry, so that a probe of the old definition that is still under
		// way reports to nobody.
		e = &checkEntry{synced: old.synced, failingAt: old.failingAt, saveAfter: old.saveAfter, outputDue: old.outputDue}
		l.checks.Set(c.def.ID, e)
		l.sched.Remove(c.def.ID)
		l.unfollowLocked(old)
	}
	e.checkDef, e.unit = c, key
	e.state = l.describe(c, state.Status, state.Output)
	e.synced = nil
	if !same {
		e.thresholds = check.NewThresholds(c.def, true)
		e.deadline = time.Now().Add(c.def.TTL)
		l.runLocked(e)
	} else if c.def.TTL > 0 {
		l.armLocked(e, time.Now().Add(c.def.TTL))
	}
}

// startLocked gives a new entry its first state and starts its runner.
func (l *Local) startLocked(e *checkEntry) {
	status, output := e.def.Status, ""
	known := status != ""
	if status == "" {
		status = model.StatusCritical
	}
	e.state = l.describe(e.checkDef, status, output)
	if r, ok := l.restored[e.def.ID]; ok {
		delete(l.restored, e.def.ID)
		known = l.restoreLocked(e, r) || known
	}
	e.thresholds = check.NewThresholds(e.def, known)
	l.noteFailingLocked(e)
	if e.deadline.IsZero() && e.def.TTL > 0 {
		e.deadline = time.Now().Add(e.def.TTL)
		if e.state.Status != model.StatusCritical {
			l.states.noteLocked(e, false) // a restart must not begin the TTL anew
		}
	}
	l.runLocked(e)
}

// describe is the state of a check as clients see it.
func (l *Local) describe(c checkDef, status, output string) *model.Check {
	s := &model.Check{
		Node: l.nodeName(), ID: c.def.ID, Name: c.def.Name,
		Status: status, Notes: c.def.Notes, Output: output,
		ServiceID: c.def.ServiceID, ServiceName: c.serviceName, ServiceTags: c.serviceTags,
		Type: c.def.Type(), ExposedPort: c.def.ExposedPort,
	}
	if !c.embedded || c.def.Interval > 0 {
		s.Interval = c.def.Interval.String()
	}
	if !c.embedded || c.def.Timeout > 0 {
		s.Timeout = c.def.Timeout.String()
	}
	switch {
	case c.maintenance:
		s.Type = "maintenance"
	case c.fromFile && !c.embedded:
		s.Type = "" // so existing agents describe checks of their files
	}
	return s
}

// runLocked starts whatever drives the check.
func (l *Local) runLocked(e *checkEntry) {
	id := e.def.ID
	if e.def.DeregisterCriticalServiceAfter > 0 && e.def.ServiceID != "" {
		l.reapable[id] = true
	} else {
		delete(l.reapable, id)
	}
	switch {
	case e.maintenance:
	case e.def.TTL > 0 && e.def.Type() == "ttl":
		l.armLocked(e, e.deadline)
	case e.def.Type() == "alias" && l.localAlias(e.def):
		l.followLocked(e)
	case e.def.Type() == "alias" && l.follow.watcher != nil:
		l.follow.addLocked(e)
	default:
		l.probeLocked(e)
	}
}

// probeLocked schedules a check's probe. A check that can't run is critical and
// says why.
func (l *Local) probeLocked(e *checkEntry) {
	var probe check.Probe
	var err error
	interval := e.def.Interval
	if e.def.Type() == "alias" {
		probe, interval = &remoteAlias{catalog: l.cfg.Catalog, def: e.def}, aliasInterval
	} else if err = l.refuseScript(e.def, e.fromFile); err == nil {
		probe, err = check.New(e.def, l.cfg.Transport)
	}
	if err != nil {
		e.state = l.describe(e.checkDef, model.StatusCritical, err.Error())
		l.noteFailingLocked(e)
		return
	}
	l.sched.Probe(e.def.ID, check.Task{
		Kind: e.def.Type(), Probe: probe,
		Interval: interval, Timeout: e.def.Timeout, Delay: l.firstDelay(interval),
		Report: func(r check.Result) { l.report(e, r) },
	})
}

func (l *Local) firstDelay(interval time.Duration) time.Duration {
	if l.loading {
		return l.random(min(interval, restartSpread))
	}
	return min(firstRunMin, interval/2) + l.random(min(interval/2, firstRunSpread))
}

// random is a random part of d.
func (l *Local) random(d time.Duration) time.Duration {
	return d - retry.Spread(d, 1, l.cfg.Checks.Rand)
}

// report takes a probe's result.
func (l *Local) report(e *checkEntry, r check.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if current, _ := l.checks.Get(e.def.ID); current != e {
		return // replaced or removed while the probe ran
	}
	status := e.thresholds.Next(e.state.Status, r.Status)
	l.setStateLocked(e, status, r.Output)
}

// setStateLocked is the only place where a running check changes. It passes the
// change on to the disk, to the checks that follow this one and to the catalog.
func (l *Local) setStateLocked(e *checkEntry, status, output string) {
	if e.state.Status == status && e.state.Output == output {
		return
	}
	changed := e.state.Status != status
	next := *e.state
	next.Status, next.Output = status, output
	e.state = &next
	l.noteFailingLocked(e)
	l.states.noteLocked(e, changed)
	l.updateAliasesLocked(e.def.ServiceID)
	l.push.stateChangedLocked(e)
}

// noteFailingLocked keeps the time since when a check is critical.
func (l *Local) noteFailingLocked(e *checkEntry) {
	switch {
	case e.state.Status != model.StatusCritical:
		e.failingAt = time.Time{}
	case e.failingAt.IsZero():
		e.failingAt = time.Now()
	}
}

func (l *Local) removeCheckLocked(id, key string) {
	e, ok := l.checks.Get(id)
	if !ok || e.unit != key {
		return
	}
	l.checks.Delete(id)
	l.sched.Remove(id)
	delete(l.reapable, id)
	delete(l.nodeOwn, id)
	l.unfollowLocked(e)
	l.states.forgetLocked(id)
	l.push.removeCheckLocked(e.def.ServiceID, id, l.tokenLocked(e))
}

// tokenLocked is the token for writes about a check: its own, its service's, or
// the agent's.
func (l *Local) tokenLocked(e *checkEntry) string {
	if e.def.Token != "" {
		return e.def.Token
	}
	if s, ok := l.services.Get(e.def.ServiceID); ok && s.token != "" {
		return s.token
	}
	return l.cfg.Token()
}
