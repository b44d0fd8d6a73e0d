package gossip

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func ev(kind EventType, name string) Event { return Event{Type: kind, Member: Member{Name: name}} }

func drainQueue(q *eventQueue) (out []Event) {
	for {
		e, ok := q.head()
		if !ok {
			return out
		}
		q.pop()
		out = append(out, e)
	}
}

func TestQueueKeepsLatest(t *testing.T) {
	tests := []struct {
		name string
		in   []EventType
		want EventType
	}{
		{"one", []EventType{EventJoined}, EventJoined},
		{"flap", []EventType{EventFailed, EventJoined}, EventJoined},
		{"death", []EventType{EventJoined, EventUpdated, EventFailed}, EventFailed},
		{"update of an unknown member", []EventType{EventJoined, EventUpdated}, EventJoined},
		{"update of a known member", []EventType{EventUpdated, EventUpdated}, EventUpdated},
		{"gone", []EventType{EventFailed, EventLeft, EventReaped}, EventReaped},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := newEventQueue(10)
			for i, kind := range tt.in {
				if coalesced := q.push(ev(kind, "a")); coalesced != (i > 0) {
					t.Errorf("push %d: coalesced %v", i, coalesced)
				}
			}
			got := drainQueue(q)
			if len(got) != 1 || got[0].Type != tt.want {
				t.Errorf("got %v, want one %v", got, tt.want)
			}
		})
	}
}

func TestQueueOverflow(t *testing.T) {
	q := newEventQueue(3)
	for i := range 5 {
		q.push(ev(EventJoined, strconv.Itoa(i)))
	}
	q.push(ev(EventFailed, "0"))
	got := drainQueue(q)
	if len(got) != 1 || got[0].Type != EventMissed {
		t.Fatalf("got %v, want one missed", got)
	}
	q.push(ev(EventFailed, "0"))
	if got = drainQueue(q); len(got) != 1 || got[0].Type != EventFailed {
		t.Errorf("after the overflow: %v", got)
	}
}

// TestQueueModel compares with the obvious: a reader that applies what it gets
// ends with the same picture as one that got every event, or was told that it
// missed some.
func TestQueueModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newEventQueue(rapid.IntRange(1, 6).Draw(t, "limit"))
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		truth, reader := map[string]EventType{}, map[string]EventType{}
		read := func() {
			e, ok := q.head()
			if !ok {
				return
			}
			q.pop()
			if e.Type == EventMissed {
				for name, kind := range truth {
					reader[name] = kind
				}
				return
			}
			reader[e.Member.Name] = e.Type
		}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			if rng.IntN(3) == 0 {
				read()
				continue
			}
			name, kind := strconv.Itoa(rng.IntN(8)), EventType(1+rng.IntN(4))
			truth[name] = kind
			q.push(ev(kind, name))
			if len(q.latest) > q.limit || len(q.order) != len(q.latest) {
				t.Fatalf("%d queued, %d ordered, limit %d", len(q.latest), len(q.order), q.limit)
			}
		}
		for range 20 {
			read()
		}
		for name, kind := range truth {
			if reader[name] != kind {
				t.Fatalf("reader believes %s %v, it is %v", name, reader[name], kind)
			}
		}
	})
}

func TestQueueOrder(t *testing.T) {
	q := newEventQueue(10)
	for _, name := range []string{"b", "a", "b", "c"} {
		q.push(ev(EventJoined, name))
	}
	var got []string
	for _, e := range drainQueue(q) {
		got = append(got, e.Member.Name)
	}
	if want := []string{"b", "a", "c"}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}
