package linear

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Locks is a client that takes locks, writes under them with the fencing token, and
// sometimes overstays: it writes again after its session should be over.
type Locks struct {
	Client
	Locks  int
	Writes int // at most, under one lock
	Prefix string
	Epoch  time.Duration
	Began  time.Time
	TTL    time.Duration
	// Node is a registered node on which the sessions are, without any check: only their
	// TTL ends them.
	Node string
}

// SessionName tells whose session it is.
func SessionName(client int) string { return fmt.Sprintf("client %d", client) }

// hold is one session and what it did.
type hold struct {
	*Locks
	lock, data, session string
	renewed             int64 // when the latest renewal that was confirmed began
	token               uint64
}

// Run works until ctx ends. A session is for one lock, and for one acquisition.
func (c *Locks) Run(ctx context.Context) {
	for c.rest(ctx) {
		lock := fmt.Sprintf("%s/lock/%d/%d", c.Prefix, time.Since(c.Began)/c.Epoch, c.Random.IntN(c.Locks))
		c.Once(ctx, lock)
	}
}

// Once makes a session, tries to get the lock, works under it and ends in one of several
// ways.
func (c *Locks) Once(ctx context.Context, lock string) {
	h := &hold{Locks: c, lock: lock, data: lock + "-data"}
	if !h.create(ctx) {
		return
	}
	if h.acquire(ctx) {
		h.work(ctx)
	} else {
		h.look(ctx)
	}
	h.finish(ctx)
}

func (h *hold) create(ctx context.Context) bool {
	body := fmt.Sprintf(`{"Name":%q,"Node":%q,"Checks":[],"NodeChecks":[],"TTL":%q,"LockDelay":"0s","Behavior":"release"}`,
		SessionName(h.Number), h.Node, h.TTL)
	op, _, answer := h.do(ctx, Op{}, http.MethodPut, "/v1/session/create", []byte(body))
	var created struct{ ID string }
	if op.Result != Yes || json.Unmarshal(answer, &created) != nil {
		return false
	}
	h.session, h.renewed = created.ID, op.Call
	return true
}

// acquire tries a few times. Its answer may get lost: then the session is given up, as
// nobody knows whether it holds the lock.
func (h *hold) acquire(ctx context.Context) bool {
	for range 3 {
		op, header, _ := h.do(ctx, Op{Kind: Acquire, On: h.lock, Session: h.session},
			http.MethodPut, "/v1/kv/"+h.lock+"?acquire="+h.session, nil)
		if op.Result == Unknown && strings.Contains(op.Note, "invalid session") {
			return false // over already: nothing was done
		}
		if op.Result == Yes {
			op.Token, _ = strconv.ParseUint(header.Get("X-Muster-Fencing-Token"), 10, 64)
			h.token = op.Token
		}
		h.History.Add(op)
		if op.Result != No || !h.rest(ctx) {
			return op.Result == Yes
		}
	}
	return false
}

func (h *hold) work(ctx context.Context) {
	for range 1 + h.Random.IntN(h.Writes) {
		h.guarded(ctx)
		if h.Random.IntN(2) == 0 {
			h.look(ctx)
		}
		if h.Random.IntN(2) == 0 {
			h.renew(ctx)
		}
		if !h.rest(ctx) {
			return
		}
	}
	if h.Random.IntN(4) == 0 {
		h.overstay(ctx)
	}
}

// overstay is what a holder does that slept.
func (h *hold) overstay(ctx context.Context) {
	select {
	case <-time.After(h.TTL + time.Duration(h.Random.Int64N(int64(h.TTL)))):
		h.guarded(ctx)
		h.look(ctx)
	case <-ctx.Done():
	}
}

func (h *hold) guarded(ctx context.Context) {
	v := value(h.Number)
	op, _, _ := h.do(ctx, Op{Kind: Guarded, On: h.lock, Session: h.session, Token: h.token, Value: v},
		http.MethodPut, fmt.Sprintf("/v1/kv/%s?fence=%d&fence-key=%s", h.data, h.token, h.lock), []byte(v))
	h.History.Add(op)
}

func (h *hold) look(ctx context.Context) {
	op, e := h.read(ctx, Op{Kind: Look, On: h.lock}, h.data)
	op.Value, op.Token = string(e.Value), 0
	h.History.Add(op)
	op, e = h.read(ctx, Op{Kind: Holder, On: h.lock}, h.lock)
	op.Session = e.Session
	h.History.Add(op)
}

func (h *hold) renew(ctx context.Context) {
	if op, _, _ := h.do(ctx, Op{}, http.MethodPut, "/v1/session/renew/"+h.session, nil); op.Result == Yes {
		h.renewed = max(h.renewed, op.Call)
	}
}

// finish gives the lock back, ends the session, or leaves it to its TTL. The end by TTL
// is in the history in any case but one: where the destruction is known, which was before.
func (h *hold) finish(ctx context.Context) {
	end := Op{Kind: End, On: h.lock, Client: h.Number, Session: h.session, Result: Unknown, Via: "ttl", Call: h.renewed + int64(h.TTL)}
	switch n := h.Random.IntN(8); {
	case n < 4:
		op, _, _ := h.do(ctx, Op{Kind: Release, On: h.lock, Session: h.session},
			http.MethodPut, "/v1/kv/"+h.lock+"?release="+h.session, nil)
		h.History.Add(op)
	case n < 7:
		op, _, _ := h.do(ctx, Op{Kind: End, On: h.lock, Session: h.session}, http.MethodPut, "/v1/session/destroy/"+h.session, nil)
		h.History.Add(op)
		if op.Result == Yes {
			// By TTL it can only have ended before.
			end.Return, end.Result = op.Return, Yes
			if end.Call > end.Return {
				return
			}
		}
	}
	h.History.Add(end)
}
