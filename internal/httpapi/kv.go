package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/wire"
)

// Keys is the write path of keys, sessions and transactions. An empty dc is the own
// one. Calls may overlap.
type Keys interface {
	WriteKV(ctx context.Context, c apply.Caller, dc string, op *model.KVOp) (token uint64, err error)
	Transact(ctx context.Context, c apply.Caller, dc string, txn *model.Txn) (*model.Outcome, error)
	CreateSession(ctx context.Context, c apply.Caller, dc string, s *model.Session) (id string, err error)
	DestroySession(ctx context.Context, c apply.Caller, dc, id string) error
	RenewSession(ctx context.Context, c apply.Caller, dc, id string) (*model.Session, error)
}

// Txns does transactions that only read. Calls may overlap.
type Txns interface {
	ReadTxn(ctx context.Context, r *lookup.Request, txn *model.Txn) (*lookup.TxnAnswer, error)
}

// Headers of Muster's own: what programs need beyond Consul's answers.
const (
	headerToken  = "X-Muster-Fencing-Token"
	headerReason = "X-Muster-Reason" // a code of package model
)

// kvRoot leads from the path without a slash to the one with it, as Consul does.
func kvRoot(c *call) error {
	to := "/v1/kv/"
	if q := c.r.URL.RawQuery; q != "" {
		to += "?" + q
	}
	h := c.w.Header()
	delete(h, "Vary") // nothing of the API answers here
	delete(h, "X-Consul-Default-Acl-Policy")
	h["Location"] = []string{to}
	h["Content-Type"] = []string{"text/html; charset=utf-8"}
	c.write(http.StatusTemporaryRedirect, []byte("<a href=\"/v1/kv/\">Temporary Redirect</a>.\n\n"))
	return nil
}

// key is the key that the path names. It may be any text: what JSON can't carry
// could be written, but not be listed or exported unchanged.
func (c *call) key(mayBeEmpty bool) error {
	if c.id == "" && !mayBeEmpty {
		return model.Errorf(model.KindInvalid, "Missing key name")
	}
	if !utf8.ValidString(c.id) {
		return model.Errorf(model.KindInvalid, "Invalid key: it is not UTF-8 text")
	}
	return nil
}

func kvGet(c *call) error {
	names, recurse := c.has("keys"), c.has("recurse")
	if err := c.key(names || recurse); err != nil {
		return err
	}
	t, e := model.Topic{Kind: model.TopicKVKey, Name: c.id}, wire.KVJSON
	if names || recurse {
		t.Kind = model.TopicKVPrefix
	}
	raw := false
	switch {
	case names:
		e = wire.KeysJSON
	case c.has("tokens"):
		e = wire.KVTokensJSON
	case !recurse && c.has("raw"):
		e, raw = wire.KVRaw, true
	}
	if err := c.request(t, e); err != nil {
		return err
	}
	if separator, ok := c.get("separator"); ok && separator != "" && names {
		c.req.Variant = wire.FoldKeys(c.id, separator)
	}
	if err := c.find(); err != nil {
		return err
	}
	f := c.answer.Frame.(*wire.KVFrame)
	c.answerHeaders(f.Frame)
	if c.answer.Count == 0 && (!names || c.id != "") {
		c.writeHeader(http.StatusNotFound)
		return nil
	}
	if f.Token != 0 && t.Kind == model.TopicKVKey {
		c.w.Header()[headerToken] = []string{strconv.FormatUint(f.Token, 10)}
	}
	if raw {
		c.raw(f.Frame)
		return nil
	}
	c.frame(f.Frame)
	return nil
}

// raw sends a value as it is, so that no browser takes it for a page.
func (c *call) raw(f *wire.Frame) {
	h := c.w.Header()
	h["Content-Type"] = contentPlain
	h["X-Content-Type-Options"] = []string{"nosniff"}
	h["Content-Security-Policy"] = []string{"sandbox"}
	h["Content-Length"] = f.Length()
	c.write(http.StatusOK, f.Body)
}

func kvPut(c *call) error {
	if err := c.key(false); err != nil {
		return err
	}
	op := &model.KVOp{Verb: model.KVSet, Key: c.id}
	if err := c.conditions(op, "cas", "acquire", "release"); err != nil {
		return err
	}
	if text, ok := c.get("flags"); ok && text != "" {
		var err error
		if op.Flags, err = strconv.ParseUint(text, 10, 64); err != nil {
			return &statusError{http.StatusInternalServerError, err.Error()}
		}
	}
	body, err := c.bodyUpTo(c.s.cfg.MaxValue, func(size int64) error {
		return valueTooLarge(size, c.s.cfg.MaxValue, "limits.kv_max_value_size")
	})
	if err != nil {
		return err
	}
	if len(body) > 0 {
		op.Value = body
	}
	return c.writeKV(op)
}

func kvDelete(c *call) error {
	recurse := c.has("recurse")
	if err := c.key(recurse); err != nil {
		return err
	}
	op := &model.KVOp{Verb: model.KVDelete, Key: c.id}
	if err := c.conditions(op, "recurse", "cas"); err != nil {
		return err
	}
	switch {
	case recurse:
		op.Verb = model.KVDeleteTree
	case op.Verb == model.KVCAS:
		op.Verb = model.KVDeleteCAS
	}
	return c.writeKV(op)
}

func valueTooLarge(size, limit int64, setting string) error {
	return model.Errorf(model.KindTooLarge, "Request body(%d bytes) too large, max size: %d bytes. See %s.", size, limit, setting)
}

// conditions reads the parameters that say when a write is to be done. Only one of
// the named ones may be there.
func (c *call) conditions(op *model.KVOp, exclusive ...string) error {
	found := ""
	for _, name := range exclusive {
		value, ok := c.get(name)
		if !ok || name == "recurse" && !on(value) {
			continue
		}
		if found != "" {
			return model.Errorf(model.KindInvalid, "Conflicting flags: %s and %s", found, name)
		}
		found = name
		switch name {
		case "cas":
			index, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				return &statusError{http.StatusInternalServerError, err.Error()}
			}
			op.Verb, op.Index = model.KVCAS, index
		case "acquire":
			op.Verb, op.Session = model.KVLock, value
		case "release":
			op.Verb, op.Session = model.KVUnlock, value
		}
	}
	var err error
	op.Fence, err = c.fence()
	return err
}

// fence reads the guard that a write may carry.
func (c *call) fence() (*model.Fence, error) {
	token, hasToken := c.get("fence")
	key, hasKey := c.get("fence-key")
	if !hasToken && !hasKey {
		return nil, nil
	}
	if token == "" || key == "" {
		return nil, model.Errorf(model.KindInvalid, "fence and fence-key must be given together")
	}
	n, err := strconv.ParseUint(token, 10, 64)
	if err != nil {
		return nil, model.Errorf(model.KindInvalid, "Invalid fencing token %q", token)
	}
	return &model.Fence{Key: key, Token: n}, nil
}

// writeKV answers true, or false with the reason in a header if a condition does not
// hold.
func (c *call) writeKV(op *model.KVOp) error {
	token, err := c.s.cfg.Keys.WriteKV(c.r.Context(), c.caller(), c.dc, op)
	if err != nil {
		return c.refused(err)
	}
	if token != 0 {
		c.w.Header()[headerToken] = []string{strconv.FormatUint(token, 10)}
	}
	return c.json(true)
}

// refused answers for a write of keys that was not done.
func (c *call) refused(err error) error {
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.KindConflict && e.Kind != model.KindInvalid || e.Field == "" {
		return rpc(err)
	}
	c.w.Header()[headerReason] = []string{e.Field}
	switch {
	case e.Field == model.CodeFenced:
		return &statusError{http.StatusConflict, e.Text}
	case e.Kind == model.KindConflict:
		return c.json(false)
	case e.Field == model.CodeSession:
		return &statusError{http.StatusInternalServerError, "raft apply failed: " + e.Text}
	}
	return err
}
