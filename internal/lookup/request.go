package lookup

import (
	"time"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
)

// Mode is the consistency that a caller asks for.
type Mode uint8

const (
	ModeDefault    Mode = iota // the leader's state under its lease
	ModeStale                  // any server's state, with its age in the answer
	ModeConsistent             // the leader verified with a majority
)

// Question narrows a topic's items.
type Question struct {
	Passing  bool              // only instances without a check that is not passing
	Healthy  bool              // only instances without a critical check (DNS's default)
	Tags     []string          // instances must carry all of them; case is ignored
	NodeMeta map[string]string // nodes must carry all pairs
	Filter   string            // go-bexpr expression on the encoder's FilterValue
	Near     string            // sort by round-trip time from this node; "_agent" is the own one
}

// Request is a lookup, whatever edge it came through.
type Request struct {
	Topic      model.Topic
	Variant    *view.Variant // from Prepare; nil: all items
	Encoder    *view.Encoder
	Datacenter string // empty: the own one
	Token      string // secret as the caller sent it, may be empty
	Mode       Mode
	MaxStale   time.Duration // with ModeStale: 0 is no bound
	Cached     bool          // a client agent's view will do; servers need no cache
	AtOnce     bool          // fail with ErrNotHere rather than wait for another agent; for stale reads
	MinIndex   uint64        // answer once the topic's index has passed this; 0: at once
	Wait       time.Duration // bound for MinIndex; 0: the default; capped and jittered by lookup

	// all: nothing is hidden, since the caller is shown only what follows from it.
	all bool
}

// Answer is what a lookup found.
type Answer struct {
	Frame       any // what the request's encoder assembled; shared, read-only
	Count       int // items in it
	Index       uint64
	KnownLeader bool
	LastContact time.Duration
	Cached      bool // a client agent answered from its own view
}
