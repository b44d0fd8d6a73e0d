package local

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// load fills the tables from the journal.
func (l *Local) load() error {
	if l.cfg.Journal == nil {
		return nil
	}
	records, err := l.cfg.Journal.Load()
	if err != nil {
		return fmt.Errorf("load registrations: %w", err)
	}
	type stored struct {
		unit *unit
		seq  uint64
	}
	var units []stored
	for _, key := range sortedIDs(records) {
		switch {
		case strings.HasPrefix(key, serviceUnit("")), strings.HasPrefix(key, checkUnit("")):
			u, seq, err := decodeUnit(key, l.nodeName(), records[key])
			if err != nil {
				return fmt.Errorf("read stored registration %q: %w", key, err)
			}
			units = append(units, stored{u, seq})
			l.stored[key] = true
			l.seq.Store(max(l.seq.Load(), seq))
		case strings.HasPrefix(key, stateKey("")):
			// A state that can't be read costs a check its last state, not the agent
			// its start.
			if r, err := decodeState(records[key]); err != nil {
				l.log.Warn("read stored check state", "key", key, "err", err)
			} else {
				l.restored[strings.TrimPrefix(key, stateKey(""))] = r
			}
		case key == aliveKey:
			l.warm = aliveRecently(records[key])
		}
	}
	// In the order of writing, so that of two units that claim the same service
	// or check (the agent died between their writes) the later one gets it.
	slices.SortFunc(units, func(a, b stored) int { return int(a.seq) - int(b.seq) })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loading = true
	defer func() { l.loading = false }()
	for _, s := range units {
		if len(s.unit.services) == 0 && strings.HasPrefix(s.unit.key, serviceUnit("")) {
			l.overlays[s.unit.key] = s.unit
			continue
		}
		l.mu.Unlock()
		all := l.takeOver([]*unit{s.unit})
		l.mu.Lock()
		l.applyLocked(all)
	}
	return nil
}

// forgetUnclaimed removes what is stored of checks and services that are not
// there any more: their files no longer name them.
func (l *Local) forgetUnclaimed(ctx context.Context) {
	if l.cfg.Journal == nil {
		return
	}
	l.mu.Lock()
	var keys []string
	for id := range l.restored {
		keys = append(keys, stateKey(id))
	}
	for key := range l.overlays {
		keys = append(keys, key)
	}
	clear(l.restored)
	clear(l.overlays)
	l.mu.Unlock()
	for _, key := range keys {
		if err := l.cfg.Journal.Delete(ctx, key); err != nil {
			l.log.Warn("remove stale record", "key", key, "err", err)
		}
	}
}
