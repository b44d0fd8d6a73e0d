package model

import "time"

// Behaviors of a session's locks when it ends.
const (
	BehaviorRelease = "release"
	BehaviorDelete  = "delete"
)

// Session is what holds locks. It ends by itself when its node goes, when one of
// its checks goes or turns critical, or when its time to live passes without a
// renewal. Immutable once in the state.
type Session struct {
	ID            string // UUID
	Name          string
	Node          string
	NodeChecks    []string       // ids of checks on the node; nil and empty are told apart
	ServiceChecks []ServiceCheck // the same
	LockDelay     time.Duration
	Behavior      string
	TTL           string // as given; empty or zero: none
	Indexes
}

// ServiceCheck names a check of a service for a session.
type ServiceCheck struct {
	ID        string
	Namespace string
}

// Lifetime is the TTL as a duration, 0 if there is none.
func (s *Session) Lifetime() time.Duration {
	d, err := time.ParseDuration(s.TTL)
	if err != nil || d < 0 {
		return 0
	}
	return d
}

// LockDelay keeps a lock from being taken for a while after its holder's session
// was invalidated. The leader ends it.
type LockDelay struct {
	Key   string
	Delay time.Duration
	Index uint64 // of the command that invalidated the session
}

// SessionCreation is the write that makes a session.
type SessionCreation struct {
	Session Session // Indexes are the state's
}

// SessionDestruction is the write that ends a session on request. One that is not
// there needs no ending.
type SessionDestruction struct {
	ID string
}

// SessionRenewal asks the leader to start a session's time to live anew. It travels
// between servers like a command but is never part of the log.
type SessionRenewal struct {
	ID string
}

// Expiry is the leader's write that ends sessions and lock delays whose time has
// passed by its clock.
type Expiry struct {
	Sessions []string
	Delays   []LockDelay // Key and Index count: a delay begun anew is another one
}
