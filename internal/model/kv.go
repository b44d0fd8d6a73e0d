package model

// KVEntry is a key with its value. Immutable once it is in the state.
type KVEntry struct {
	Key   string // any bytes
	Value []byte // nil and empty are told apart: clients see null for nil
	Flags uint64
	// Session holds the key as a lock; empty: nobody does.
	Session string
	// LockIndex counts acquisitions as Consul's clients know it: a plain write
	// sets it back to 0. It is no fencing token.
	LockIndex uint64
	// Token is the fencing token of the latest acquisition, 0 if the key was never
	// a lock. It is kept until the key is deleted, also while nobody holds it.
	Token uint64
	Indexes
}

// KVVerb is what an operation does with a key.
type KVVerb uint8

// The values are part of log format 1: never renumber, only append.
const (
	KVSet            KVVerb = 1
	KVCAS            KVVerb = 2 // set if the entry's index is Index; 0: if there is none
	KVLock           KVVerb = 3 // set and hold for Session
	KVUnlock         KVVerb = 4 // set and give back
	KVDelete         KVVerb = 5
	KVDeleteCAS      KVVerb = 6
	KVDeleteTree     KVVerb = 7  // everything that begins with Key
	KVGet            KVVerb = 8  // this and what follows: in transactions only
	KVGetOrEmpty     KVVerb = 9  // an entry without a value if there is none
	KVGetTree        KVVerb = 10 // everything that begins with Key
	KVCheckIndex     KVVerb = 11
	KVCheckSession   KVVerb = 12
	KVCheckNotExists KVVerb = 13
)

var kvVerbs = [...]string{
	KVSet: "set", KVCAS: "cas", KVLock: "lock", KVUnlock: "unlock", KVDelete: "delete",
	KVDeleteCAS: "delete-cas", KVDeleteTree: "delete-tree", KVGet: "get", KVGetOrEmpty: "get-or-empty",
	KVGetTree: "get-tree", KVCheckIndex: "check-index", KVCheckSession: "check-session",
	KVCheckNotExists: "check-not-exists",
}

// ParseKVVerb finds a verb by the name that clients use.
func ParseKVVerb(name string) (KVVerb, bool) {
	for v, n := range kvVerbs {
		if n == name && n != "" {
			return KVVerb(v), true
		}
	}
	return 0, false
}

func (v KVVerb) String() string {
	if int(v) < len(kvVerbs) {
		return kvVerbs[v]
	}
	return ""
}

// Known reports whether this version knows the verb.
func (v KVVerb) Known() bool { return v >= KVSet && v <= KVCheckNotExists }

// Reads reports whether the verb changes nothing.
func (v KVVerb) Reads() bool { return v >= KVGet }

// Fence is a guard: the write it is part of is refused unless Token is the one of
// the latest acquisition of the lock Key.
type Fence struct {
	Key   string
	Token uint64
}

// KVOp is one operation on a key, as a command of its own or in a transaction.
type KVOp struct {
	Verb    KVVerb
	Key     string
	Value   []byte
	Flags   uint64
	Session string // for locks
	Index   uint64 // for cas
	Fence   *Fence // nil: no guard
}

// Codes tell programs why an operation was refused: they are the Field of errors of
// kind Conflict and Invalid that KV, sessions and transactions answer with.
const (
	CodeInvalid        = "invalid"           // the operation can never succeed as it is
	CodeStale          = "index-stale"       // cas with another index than the present one
	CodeHeld           = "lock-held"         // another session holds the lock
	CodeDelayed        = "lock-delay"        // the last holder's session was invalidated a moment ago
	CodeNotHeld        = "lock-not-held"     // unlock by who does not hold it
	CodeFenced         = "fenced"            // the fencing token is not the latest one
	CodeSession        = "session-invalid"   // there is no such session
	CodeOtherSession   = "session-mismatch"  // check-session
	CodeExists         = "exists"            // check-not-exists
	CodeNotFound       = "not-found"         // get or check of what does not exist
	CodeMissingNode    = "node-missing"      // the owner is not registered
	CodeMissingService = "service-missing"   // the same
	CodeMissingCheck   = "check-missing"     // the same
	CodeCritical       = "check-critical"    // a session can't be bound to a critical check
	CodeTooLarge       = "result-too-large"  // what a transaction reads does not fit its answer
	CodeDenied         = "permission-denied" // the token may not
)
