package httpapi

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
)

type fakeHistories struct {
	req   lookup.Request
	key   string
	limit int
	list  []*model.Revision
}

func (f *fakeHistories) KeyHistory(_ context.Context, r *lookup.Request, key string, limit int) (*lookup.HistoryAnswer, error) {
	f.req, f.key, f.limit = *r, key, limit
	return &lookup.HistoryAnswer{Revisions: f.list, Index: 42, KnownLeader: true, LastContact: 7 * time.Millisecond}, nil
}

func TestKVHistory(t *testing.T) {
	f := &fakeHistories{}
	k := newKit(t, func(c *Config) { c.Histories = f })
	if w := k.do("GET", "/muster/v1/kv/history/none", ""); w.Code != 404 || w.Body.String() != "[]" {
		t.Fatal(w.Code, w.Body)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.list = []*model.Revision{
		{Key: "a/%", Index: 40, Time: at, Accessor: "acc", Source: "http", Kind: model.RevisionKind(model.KVDelete), Txn: true},
		{Key: "a/%", Index: 30, Kind: model.RevisionUnknown, Entry: &model.KVEntry{Value: []byte{0, 1}, Flags: 9, Session: "s"}},
	}
	w := k.do("GET", "/muster/v1/kv/history/a%2F%25?limit=2&stale&index=3&wait=5s", "")
	want := `[{"Index":40,"Time":"2026-01-02T03:04:05Z","Accessor":"acc","Source":"http","Operation":"delete","Txn":true,"Deleted":true,"Flags":0,"Session":"","Size":0,"Value":null},` +
		`{"Index":30,"Time":null,"Accessor":"","Source":"","Operation":"unknown","Txn":false,"Deleted":false,"Flags":9,"Session":"s","Size":2,"Value":"AAE="}]`
	if w.Code != 200 || w.Body.String() != want {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if f.key != "a/%" || f.limit != 2 || f.req.Mode != lookup.ModeStale || f.req.MinIndex != 3 || f.req.Wait != 5*time.Second {
		t.Errorf("asked %q %d %+v", f.key, f.limit, f.req)
	}
	if w.Header().Get("X-Consul-Index") != "42" || w.Header().Get("X-Consul-Lastcontact") != "7" {
		t.Error(w.Header())
	}
	if w := k.do("GET", "/muster/v1/kv/history/a?values=false", ""); w.Code != 200 || f.limit != 0 || strings.Contains(w.Body.String(), "AAE=") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, path := range []string{"", "a?limit=0", "a?limit=x", "a%FF"} {
		if w := k.do("GET", "/muster/v1/kv/history/"+path, ""); w.Code != 400 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}
