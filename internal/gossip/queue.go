package gossip

import "github.com/hashicorp/serf/serf"

// EventType says what happened to a member.
type EventType uint8

const (
	EventJoined  EventType = iota + 1 // new, or alive again
	EventFailed                       // does not answer
	EventLeft                         // left gracefully, or was forced to
	EventReaped                       // forgotten by the pool
	EventUpdated                      // tags or address changed
	// EventMissed means that events were given up because nobody read them for
	// too long. Member is empty: compare with Members.
	EventMissed
)

// String is the word used in logs.
func (t EventType) String() string {
	switch t {
	case EventJoined:
		return "joined"
	case EventFailed:
		return "failed"
	case EventLeft:
		return "left"
	case EventReaped:
		return "reaped"
	case EventUpdated:
		return "updated"
	case EventMissed:
		return "missed"
	}
	return "unknown"
}

// Event is the latest that is known about one member of one pool.
type Event struct {
	Type   EventType
	WAN    bool
	Member Member
}

var eventTypes = map[serf.EventType]EventType{
	serf.EventMemberJoin:   EventJoined,
	serf.EventMemberFailed: EventFailed,
	serf.EventMemberLeave:  EventLeft,
	serf.EventMemberReap:   EventReaped,
	serf.EventMemberUpdate: EventUpdated,
}

// maxQueued bounds the members with an undelivered event. Beyond it (a reader
// that stands still in a very large pool) the queue is replaced by one
// EventMissed: the reader compares with the member list, which is cheaper than
// that many events.
const maxQueued = 4096

// eventQueue holds one event per member, the latest, in the order in which the
// members first got one. It is not safe for concurrent use: the pump owns it.
type eventQueue struct {
	limit   int
	order   []string
	latest  map[string]Event
	dropped bool
}

func newEventQueue(limit int) *eventQueue {
	return &eventQueue{limit: limit, latest: make(map[string]Event)}
}

// push adds e, replacing an undelivered event about the same member. It reports
// whether an event was lost to the reader's slowness: coalesced or given up.
func (q *eventQueue) push(e Event) (coalesced bool) {
	if q.dropped {
		return true // the reader will look at the whole list anyway
	}
	old, queued := q.latest[e.Member.Name]
	if queued && e.Type == EventUpdated && old.Type == EventJoined {
		e.Type = EventJoined // the reader does not know the member yet
	}
	if !queued {
		if len(q.latest) >= q.limit {
			q.order, q.latest, q.dropped = nil, make(map[string]Event), true
			return true
		}
		q.order = append(q.order, e.Member.Name)
	}
	q.latest[e.Member.Name] = e
	return queued
}

// head is the next event to deliver.
func (q *eventQueue) head() (Event, bool) {
	if q.dropped {
		return Event{Type: EventMissed}, true
	}
	if len(q.order) == 0 {
		return Event{}, false
	}
	return q.latest[q.order[0]], true
}

// pop removes what head returned.
func (q *eventQueue) pop() {
	if q.dropped {
		q.dropped = false
		return
	}
	delete(q.latest, q.order[0])
	if q.order = q.order[1:]; len(q.order) == 0 {
		q.order = nil // let go of the delivered names
	}
}
