package linear

import (
	"fmt"
	"math"

	"github.com/anishathalye/porcupine"
)

// lockState is a lock and what it guards.
type lockState struct {
	holder string // session; "": free
	token  uint64 // of the latest acquisition; 0: none
	floor  uint64 // the highest token that is known
	data   string // what guarded writes left
}

// lost is the token of an acquisition whose answer was lost: above floor, and nobody has
// it to write with.
const lost = math.MaxUint64

// lock is the model of one lock without lock delay, the session of each holder, and one
// key that is written with fencing tokens only. That two holders never both write is not
// stated anywhere: a guarded write is explained only while its token is the latest.
//
// The end of a session by its TTL is an operation of its own in the history, open from
// the earliest moment at which it is allowed (Locks.finish). So an acquisition that comes
// before the former holder's time is over has no explanation.
var lock = porcupine.Model{
	Init: func() any { return lockState{} },
	Step: func(state, input, output any) (bool, any) {
		return stepLock(state.(lockState), input.(*Op))
	},
	DescribeOperation: describe,
	DescribeState: func(state any) string {
		s := state.(lockState)
		return fmt.Sprintf("holder %.8s, token %d, data %q", s.holder, s.token, s.data)
	},
}

func stepLock(s lockState, op *Op) (bool, lockState) {
	free := s
	free.holder = ""
	switch op.Kind {
	case Acquire:
		return acquire(s, op)
	case Release:
		return conditional(op.Result, s.holder == op.Session, free, s)
	case End:
		if s.holder == op.Session {
			return true, free
		}
		return true, s
	case Guarded:
		written := s
		written.data = op.Value
		return conditional(op.Result, s.token == op.Token, written, s)
	case Look:
		return op.Value == s.data, s
	case Holder:
		return holder(s, op)
	}
	return false, s
}

// acquire: clients use a session for one acquisition, so a holder never asks again.
func acquire(s lockState, op *Op) (bool, lockState) {
	taken := s
	taken.holder, taken.token = op.Session, op.Token
	if op.Result == Unknown {
		taken.token = lost
		if s.holder == "" {
			return true, taken
		}
		return true, s
	}
	if op.Result == No {
		return s.holder != "", s
	}
	taken.floor = op.Token
	return s.holder == "" && op.Token > s.floor, taken
}

// holder learns the token of an acquisition whose answer was lost.
func holder(s lockState, op *Op) (bool, lockState) {
	if op.Session != s.holder {
		return false, s
	}
	if s.token == lost && op.Token > s.floor {
		s.token, s.floor = op.Token, op.Token
	}
	return op.Token == s.token, s
}
