package state

import (
	"slices"

	"github.com/muster-discovery/muster/internal/model"
)

// tally counts what the list of services shows of one name, so that a write does
// not have to look at the other instances.
type tally struct {
	instances int
	tags      map[string]int
}

// count notes that an instance appeared (by 1) or went (by -1), and says whether
// the name's entry in the list may have changed.
func (s *Store) count(svc *model.Service, by int) (changed bool) {
	s.undo.add(func() {
		s.count(svc, -by)
		if s.tallies[svc.Name].instances == 0 {
			delete(s.tallies, svc.Name)
		}
	})
	t := s.tallies[svc.Name]
	if t == nil {
		t = &tally{tags: make(map[string]int)}
		s.tallies[svc.Name] = t
	}
	if t.instances += by; t.instances == 0 || t.instances == by {
		changed = true
	}
	for _, tag := range svc.Tags {
		n := t.tags[tag] + by
		if n == 0 || n == by {
			changed = true
		}
		if t.tags[tag] = n; n == 0 {
			delete(t.tags, tag)
		}
	}
	return changed
}

// recount brings the totals from an old to a new service; either may be nil.
func (b *Batch) recount(old, new *model.Service) {
	if old != nil && new != nil && old.Name == new.Name && slices.Equal(old.Tags, new.Tags) {
		return
	}
	// Both may name the same service: add first, so that what stays is never 0.
	if new != nil && b.s.count(new, 1) {
		b.listed = append(b.listed, new.Name)
	}
	if old != nil && b.s.count(old, -1) {
		b.listed = append(b.listed, old.Name)
	}
}

// list ends a command: entries of the list of services that differ from before
// are replaced.
func (b *Batch) list() {
	for _, name := range b.listed {
		b.summarize(name)
	}
	b.listed = b.listed[:0]
}

func (b *Batch) summarize(name string) {
	t := b.s.work
	old, found := t.summaries.Get(&model.ServiceSummary{Name: name})
	total := b.s.tallies[name]
	if total == nil {
		return // listed twice, gone
	}
	if total.instances == 0 {
		delete(b.s.tallies, name)
		if found {
			t.summaries.Delete(old)
			b.touch(model.TopicServices, "")
		}
		return
	}
	next := total.summary(name)
	if found && slices.Equal(old.Tags, next.Tags) {
		return
	}
	t.summaries.Set(next)
	b.touch(model.TopicServices, "")
}

// summary is the entry in the list of services.
func (t *tally) summary(name string) *model.ServiceSummary {
	tags := make([]string, 0, len(t.tags))
	for tag := range t.tags {
		tags = append(tags, tag)
	}
	slices.Sort(tags)
	return &model.ServiceSummary{Name: name, Tags: tags}
}
