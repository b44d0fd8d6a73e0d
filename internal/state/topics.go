package state

import (
	"github.com/muster-discovery/muster/internal/model"
)

// Topics without a name never die; their indexes are a plain array.
const (
	staticNodes = iota
	staticServices
	staticChecks
	staticCARoots
	staticSessions
	staticTimers
	staticQueries
	staticCoordinates
	numStatic
)

// Classes of subjects. The values decide the order in which tombstones of one
// index are collected, so they are part of the replicated behaviour.
const (
	classNode    = 1
	classService = 2
	classState   = 3
	classSession = 4
)

// maxTombstones bounds the subjects that are remembered after they are gone. All
// servers must agree on it: changing it is a change of the log format. 32,768 take
// about 4 MB.
const maxTombstones = 32768

// subject holds the indexes of the topics about one node, service, state or session. It
// outlives the thing it is about: a dead subject is a tombstone.
type subject struct {
	class uint8
	dead  bool
	name  string
	slots [3]uint64 // see place; 0: never touched
}

func lessSubject(a, b *subject) bool {
	if a.class != b.class {
		return a.class < b.class
	}
	return a.name < b.name
}

// lessAge orders tombstones by the index of the last change.
func lessAge(a, b *subject) bool {
	if x, y := a.last(), b.last(); x != y {
		return x < y
	}
	return lessSubject(a, b)
}

// last is the highest of the subject's indexes.
func (s *subject) last() uint64 { return max(s.slots[0], s.slots[1], s.slots[2]) }

// place says where a topic's index is kept: in the static array (class 0) or in a
// subject's slot. ok is false for a kind that this version does not know.
func place(kind model.TopicKind) (class uint8, slot int, ok bool) {
	switch kind {
	case model.TopicNodes:
		return 0, staticNodes, true
	case model.TopicServices:
		return 0, staticServices, true
	case model.TopicChecks:
		return 0, staticChecks, true
	case model.TopicCARoots:
		return 0, staticCARoots, true
	case model.TopicSessions:
		return 0, staticSessions, true
	case model.TopicTimers:
		return 0, staticTimers, true
	case model.TopicQueries:
		return 0, staticQueries, true
	case model.TopicCoordinates:
		return 0, staticCoordinates, true
	case model.TopicNodeSessions:
		return classNode, 2, true
	case model.TopicSession:
		return classSession, 0, true
	case model.TopicNode:
		return classNode, 0, true
	case model.TopicNodeChecks:
		return classNode, 1, true
	case model.TopicService:
		return classService, 0, true
	case model.TopicConnect:
		return classService, 1, true
	case model.TopicServiceCheck:
		return classService, 2, true
	case model.TopicChecksState:
		return classState, 0, true
	}
	return 0, 0, false
}

// kinds are the topic kinds of a class by slot.
var kinds = [...][]model.TopicKind{
	0: {model.TopicNodes, model.TopicServices, model.TopicChecks, model.TopicCARoots, model.TopicSessions, model.TopicTimers,
		model.TopicQueries, model.TopicCoordinates},
	classNode:    {model.TopicNode, model.TopicNodeChecks, model.TopicNodeSessions},
	classService: {model.TopicService, model.TopicConnect, model.TopicServiceCheck},
	classState:   {model.TopicChecksState},
	classSession: {model.TopicSession},
}

// topicIndex is the index of a topic's last change, or the floor if none is known. A
// restore by an operator may have changed everything.
func (t *tables) topicIndex(topic model.Topic) uint64 {
	return max(t.recordedIndex(topic), t.raised)
}

func (t *tables) recordedIndex(topic model.Topic) uint64 {
	switch topic.Kind {
	case model.TopicKVKey:
		return t.keyIndex(topic.Name)
	case model.TopicKVPrefix:
		return t.prefixIndex(topic.Name)
	case model.TopicState:
		return t.index
	}
	class, slot, ok := place(topic.Kind)
	if !ok {
		return t.floor
	}
	if class == 0 {
		return t.static[slot]
	}
	if s, found := t.subjects.Get(&subject{class: class, name: topic.Name}); found && s.slots[slot] != 0 {
		return s.slots[slot]
	}
	return t.floor
}

// alive says whether any of the subject's topics has items.
func (t *tables) alive(s *subject) bool {
	found := false
	switch s.class {
	case classNode:
		return t.node(s.name) != nil
	case classService:
		yes := func(*instanceRow) bool { found = true; return false }
		t.eachInstance(s.name, yes)
		if !found {
			t.eachConnect(s.name, yes)
		}
	case classSession:
		return t.session(s.name) != nil
	case classState:
		switch s.name {
		case model.StatusPassing, model.StatusWarning, model.StatusCritical:
			return true
		}
		t.eachFailing(s.name, func(*checkRow) bool { found = true; return false })
	}
	return found
}

// touch records that a topic's answer changed by the current command. Calling it
// again for the same command does nothing.
func (b *Batch) touch(kind model.TopicKind, name string) {
	t := b.s.work
	class, slot, _ := place(kind)
	if class == 0 {
		if t.static[slot] != t.index {
			t.static[slot] = t.index
			b.report(model.Topic{Kind: kind})
		}
		return
	}
	old, found := t.subjects.Get(&subject{class: class, name: name})
	if found && old.slots[slot] == t.index {
		return
	}
	b.report(model.Topic{Kind: kind, Name: name})
	if found && old.last() == t.index {
		old.slots[slot] = t.index // made by this very command: not published yet
		return
	}
	s := &subject{class: class, name: name}
	if found {
		s.name, s.slots = old.name, old.slots
		if old.dead {
			b.s.graves.Delete(old)
		}
	}
	s.slots[slot] = t.index
	t.subjects.Set(s)
	b.written = append(b.written, s)
}

// bury ends a command: subjects without items become tombstones, and the oldest
// tombstones beyond the bound are collected, which raises the floor.
func (b *Batch) bury() {
	t := b.s.work
	for _, s := range b.written {
		if s.dead = !t.alive(s); s.dead {
			b.s.graves.Set(s)
		}
	}
	clear(b.written)
	b.written = b.written[:0]
	for b.s.graves.Len() > b.s.maxTombstones {
		s, _ := b.s.graves.PopMin()
		t.subjects.Delete(s)
		t.floor = max(t.floor, s.last())
	}
}
