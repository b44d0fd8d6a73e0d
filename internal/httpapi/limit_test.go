package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// full refuses all requests that are counted, and notes which they are.
type full struct{ reads, writes int }

func (f *full) Read() error {
	f.reads++
	return limited{model.Errorf(model.KindLimit, "read_rate"), 2200 * time.Millisecond}
}

func (f *full) Write() error {
	f.writes++
	return model.Errorf(model.KindLimit, "write_rate") // as from another server: without a pause
}

func TestRates(t *testing.T) {
	f := &full{}
	k := newKit(t, func(c *Config) { c.Requests = f })
	for _, c := range []struct {
		method, path, pause, text string // empty: not limited
	}{
		{"GET", "/v1/kv/x", "3", "read_rate"},
		{"PUT", "/v1/kv/x", "1", "write_rate"},
		{"GET", "/v1/health/service/web", "3", "read_rate"},
		{"PUT", "/v1/catalog/register", "1", "write_rate"},
		{"PUT", "/v1/txn", "1", "write_rate"},
		{"GET", "/v1/agent/services", "", ""},
		{"GET", "/v1/status/leader", "", ""},
		{"GET", "/v1/nothing", "", ""},
		{"PATCH", "/v1/kv/x", "", ""},
	} {
		w := k.do(c.method, c.path, "")
		if c.text == "" {
			if w.Code == http.StatusTooManyRequests {
				t.Errorf("%s %s is limited", c.method, c.path)
			}
			continue
		}
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != c.pause || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s %s: %d %q, retry after %q", c.method, c.path, w.Code, w.Body, w.Header().Get("Retry-After"))
		}
	}
	if f.reads != 2 || f.writes != 3 {
		t.Errorf("%d reads and %d writes counted", f.reads, f.writes)
	}
}

func TestNoSpace(t *testing.T) {
	k := newKit(t)
	k.catalog.err = model.Errorf(model.KindNoSpace, "no space on server n1")
	w := k.do("PUT", "/v1/catalog/register", `{"Node":"n","Address":"10.0.0.1"}`)
	if w.Code != http.StatusInsufficientStorage || !strings.Contains(w.Body.String(), "no space on server n1") {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}

// closedGate has no place.
type closedGate struct{ left bool }

func (g *closedGate) Enter(context.Context) (func(), error) {
	if g.left {
		return func() {}, nil
	}
	g.left = true
	return nil, limited{errors.New("too many snapshots"), 7 * time.Second}
}

// TestStreamIsPutOff: who gets no snapshot is told when to come back, and can.
func TestStreamIsPutOff(t *testing.T) {
	g := &closedGate{}
	k := newKit(t, func(c *Config) { c.Gate = g })
	w := k.do("GET", "/muster/v1/watch/service/web", "")
	if body := w.Body.String(); !strings.Contains(body, "retry: 7000\n") || !strings.Contains(body, "too many snapshots") || strings.Contains(body, "event: snapshot") {
		t.Errorf("%q", body)
	}
}
