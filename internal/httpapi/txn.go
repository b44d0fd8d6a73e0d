package httpapi

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/wire"
)

// headerCodes has a code of package model for each failed operation of a transaction,
// as "place=code": texts are for people.
const headerCodes = "X-Muster-Error-Codes"

func txn(c *call) error {
	body, err := c.bodyUpTo(c.s.cfg.MaxTxnBody, func(size int64) error {
		return valueTooLarge(size, c.s.cfg.MaxTxnBody, "limits.txn_max_req_len")
	})
	if err != nil {
		return err
	}
	t, faults, err := wire.DecodeTxn(body)
	if err != nil {
		return err
	}
	if n, limit := len(t.Ops), c.s.cfg.MaxTxnOps; n > limit {
		return model.Errorf(model.KindTooLarge, "Transaction contains too many operations (%d > %d)", n, limit)
	}
	for i := range t.Ops {
		if kv := t.Ops[i].KV; kv != nil && int64(len(kv.Value)) > c.s.cfg.MaxValue {
			return model.Errorf(model.KindTooLarge, "Value for key %q is too large (%d > %d bytes)",
				kv.Key, len(kv.Value), c.s.cfg.MaxValue)
		}
	}
	if t.Fence, err = c.fence(); err != nil {
		return err
	}
	if onlyReads(t) {
		return c.readTxn(t, faults)
	}
	if len(faults) > 0 {
		return c.txnAnswer(&model.Outcome{Errors: faults})
	}
	out, err := c.s.cfg.Keys.Transact(c.r.Context(), c.caller(), c.dc, t)
	if err != nil {
		return c.txnRefused(err)
	}
	return c.txnAnswer(out)
}

// onlyReads counts operations with an unknown verb as reads: they change nothing.
func onlyReads(t *model.Txn) bool {
	for i := range t.Ops {
		if op := &t.Ops[i]; !op.Reads() && (op.KV == nil || op.KV.Verb.Known()) {
			return false
		}
	}
	return true
}

// txnRefused answers for a transaction whose guard does not hold.
func (c *call) txnRefused(err error) error {
	var e *model.Error
	if errors.As(err, &e) && e.Field == model.CodeFenced {
		c.w.Header()[headerReason] = []string{e.Field}
		return &statusError{http.StatusConflict, e.Text}
	}
	return rpc(err)
}

func (c *call) txnAnswer(out *model.Outcome) error {
	return c.jsonStatus(c.txnStatus(out), wire.NewTxnAnswer(out, c.ownFields()))
}

// ownFields is whether the caller asks for fields that Consul's answers don't have.
func (c *call) ownFields() bool { return c.has("tokens") || c.has("codes") }

// txnStatus is the status of an answer; the codes of its errors go into a header.
func (c *call) txnStatus(out *model.Outcome) int {
	if len(out.Errors) == 0 {
		return http.StatusOK
	}
	codes := make([]string, len(out.Errors))
	for i, e := range out.Errors {
		codes[i] = strconv.Itoa(e.Op) + "=" + e.Code
	}
	c.w.Header()[headerCodes] = []string{strings.Join(codes, ", ")}
	return http.StatusConflict
}

// readTxn does a transaction that only reads: it needs no log, and knows modes of
// consistency.
func (c *call) readTxn(t *model.Txn, faults []model.TxnError) error {
	mode, maxStale, err := c.consistency()
	if err != nil {
		return err
	}
	a := &lookup.TxnAnswer{Outcome: &model.Outcome{Errors: faults}}
	if len(faults) == 0 {
		r := &lookup.Request{Datacenter: c.dc, Token: c.tokenOf(c.r.Header), Mode: mode, MaxStale: maxStale}
		if a, err = c.s.cfg.Txns.ReadTxn(c.r.Context(), r, t); err != nil {
			return c.txnRefused(err)
		}
	}
	h := c.w.Header()
	h["X-Consul-Knownleader"] = valueFalse
	if a.KnownLeader {
		h["X-Consul-Knownleader"] = valueTrue
	}
	ms := a.LastContact.Milliseconds()
	h["X-Consul-Lastcontact"] = []string{strconv.FormatInt(ms, 10)}
	return c.jsonStatus(c.txnStatus(a.Outcome), wire.TxnReadAnswer{
		TxnAnswer: wire.NewTxnAnswer(a.Outcome, c.ownFields()),
		Index:     a.Index, LastContact: ms, KnownLeader: a.KnownLeader,
	})
}
