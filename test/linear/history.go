package linear

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sys/unix"
)

// Kind is what an operation does.
type Kind string

// The operations of registers, then those of locks.
const (
	Get       Kind = "get"
	Put       Kind = "put"
	CAS       Kind = "cas" // by the index at which Expect was read; Expect "" creates
	Delete    Kind = "delete"
	DeleteCAS Kind = "delete-cas"

	Acquire Kind = "acquire"
	Release Kind = "release"
	End     Kind = "end"     // a session is destroyed, or its TTL passes
	Guarded Kind = "guarded" // a write with a fencing token
	Look    Kind = "look"    // reads what guarded writes wrote
	Holder  Kind = "holder"  // reads the lock
)

// Result is how an operation ended.
type Result string

// A condition that does not hold is No, also a write that is fenced off.
const (
	Yes     Result = "yes"
	No      Result = "no"
	Unknown Result = "unknown"
)

// Op is one operation. Values are never written twice, so that a value tells which write
// it came from; "" is a key that is not there.
type Op struct {
	Kind    Kind
	On      string // the register's key, or the lock's name: what is judged by itself
	Client  int
	Value   string `json:",omitempty"` // written or read
	Expect  string `json:",omitempty"`
	Session string `json:",omitempty"`
	Token   uint64 `json:",omitempty"` // fencing token
	Index   uint64 `json:",omitempty"` // ModifyIndex that a Get saw
	Result  Result
	Call    int64
	Return  int64  // 0: open
	Via     string `json:",omitempty"` // who was asked, for the reader of a history
	Note    string `json:",omitempty"` // the error
}

// Now is the time in nanoseconds of the clock that all processes of a machine share and
// nobody sets.
func Now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err) // Linux has had it for ever
	}
	return ts.Nano()
}

// History collects operations of many clients.
type History struct {
	mu  sync.Mutex
	ops []Op
}

// Add takes in an operation that has ended.
func (h *History) Add(op Op) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, op)
}

// Ops is a copy of what is there.
func (h *History) Ops() []Op {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Op(nil), h.ops...)
}

// Tally says how many operations ended how, for the log.
func Tally(ops []Op) string {
	n := map[Result]int{}
	for i := range ops {
		n[ops[i].Result]++
	}
	return fmt.Sprintf("%d operations: %d yes, %d no, %d unknown", len(ops), n[Yes], n[No], n[Unknown])
}

// WriteJSON writes operations one a line.
func WriteJSON(w io.Writer, ops []Op) error {
	enc := json.NewEncoder(w)
	for i := range ops {
		if err := enc.Encode(&ops[i]); err != nil {
			return err
		}
	}
	return nil
}

// ReadJSON reads what WriteJSON wrote.
func ReadJSON(r io.Reader) (ops []Op, err error) {
	for dec := json.NewDecoder(r); ; {
		var op Op
		if err := dec.Decode(&op); err == io.EOF {
			return ops, nil
		} else if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
}
