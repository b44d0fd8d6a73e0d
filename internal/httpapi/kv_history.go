package httpapi

import (
	"context"
	"net/http"
	"strconv"

	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/wire"
)

// Histories are the pasts of keys. Calls may overlap.
type Histories interface {
	KeyHistory(ctx context.Context, r *lookup.Request, key string, limit int) (*lookup.HistoryAnswer, error)
}

// kvHistory lists what a key was, newest first: with ?limit only so many, with
// ?values=false without the values. A key that nothing is known of is not found.
func kvHistory(c *call) error {
	if err := c.key(false); err != nil {
		return err
	}
	limit, err := c.limit()
	if err != nil {
		return err
	}
	if err := c.request(model.Topic{Kind: model.TopicKVKey, Name: c.id}, nil); err != nil {
		return err
	}
	a, err := c.s.cfg.Histories.KeyHistory(c.r.Context(), &c.req, c.id, limit)
	if err != nil {
		return rpc(err)
	}
	h := c.w.Header()
	h["X-Consul-Index"] = []string{strconv.FormatUint(max(a.Index, 1), 10)}
	h["X-Consul-Knownleader"] = []string{strconv.FormatBool(a.KnownLeader)}
	h["X-Consul-Lastcontact"] = []string{strconv.FormatInt(a.LastContact.Milliseconds(), 10)}
	values, given := c.get("values")
	status := http.StatusOK
	if len(a.Revisions) == 0 {
		status = http.StatusNotFound
	}
	return c.jsonStatus(status, wire.RevisionsJSON(a.Revisions, !given || on(values)))
}

// limit is how many things a list may have; 0: all.
func (c *call) limit() (int, error) {
	text, ok := c.get("limit")
	if !ok {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, model.Errorf(model.KindInvalid, "Invalid limit: want a whole number above 0")
	}
	return n, nil
}
