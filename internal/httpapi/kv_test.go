package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
)

// fakeKeys remembers the last write and answers with err.
type fakeKeys struct {
	err     error
	op      *model.KVOp
	txn     *model.Txn
	session *model.Session
	dc, id  string
	outcome *model.Outcome
	reads   int
}

func (f *fakeKeys) WriteKV(_ context.Context, _ apply.Caller, dc string, op *model.KVOp) (uint64, error) {
	f.op, f.dc = op, dc
	if op.Verb == model.KVLock {
		return 17, f.err
	}
	return 0, f.err
}

func (f *fakeKeys) Transact(_ context.Context, _ apply.Caller, _ string, txn *model.Txn) (*model.Outcome, error) {
	f.txn = txn
	return f.outcome, f.err
}

func (f *fakeKeys) CreateSession(_ context.Context, _ apply.Caller, _ string, s *model.Session) (string, error) {
	f.session = s
	return "id", f.err
}

func (f *fakeKeys) DestroySession(_ context.Context, _ apply.Caller, _, id string) error {
	f.id = id
	return f.err
}

func (f *fakeKeys) RenewSession(_ context.Context, _ apply.Caller, _, id string) (*model.Session, error) {
	f.id = id
	return &model.Session{ID: id}, f.err
}

func (f *fakeKeys) ReadTxn(_ context.Context, _ *lookup.Request, txn *model.Txn) (*lookup.TxnAnswer, error) {
	f.reads++
	f.txn = txn
	return &lookup.TxnAnswer{Outcome: f.outcome, Index: 9, KnownLeader: true}, f.err
}

func newKeyKit(t *testing.T) (*kit, *fakeKeys) {
	f := &fakeKeys{outcome: new(model.Outcome)}
	k := newKit(t, func(c *Config) {
		c.Keys, c.Txns, c.Node = f, f, "n1"
		c.MaxValue, c.MaxTxnBody, c.MaxTxnOps = 8, 1000, 3
	})
	return k, f
}

// TestKeysAsTheyAre: a key is decoded exactly once and nothing else happens to it.
func TestKeysAsTheyAre(t *testing.T) {
	k, f := newKeyKit(t)
	for path, want := range map[string]string{
		"a//b": "a//b", "a/../b": "a/../b", "a/./b": "a/./b", "a%2Fb": "a/b", "a%2fb%25": "a/b%", "a%252Fb": "a%2Fb", "a+b": "a+b",
		"a%20b": "a b", "%2F": "/", "a/": "a/", "a%3Fb%23c": "a?b#c", "gr%C3%BC%C3%9Fe": "grüße", "%E2%82%AC": "€", "a;b=c": "a;b=c",
		"x/health/service/y": "x/health/service/y", "a%00b": "a\x00b",
	} {
		if w := k.do("PUT", "/v1/kv/"+path, "v"); w.Code != 200 || f.op == nil || f.op.Key != want {
			t.Errorf("%s: %d %q, want key %q", path, w.Code, f.op.Key, want)
		}
	}
	f.op = nil
	if w := k.do("PUT", "/v1/kv/a%FFb", "v"); w.Code != 400 || f.op != nil {
		t.Errorf("not UTF-8: %d %v", w.Code, f.op)
	}
}

func TestKVWrites(t *testing.T) {
	k, f := newKeyKit(t)
	tests := []struct {
		method, path, body string
		status             int
		want               *model.KVOp
		text               string
	}{
		{"PUT", "k?flags=7", "v", 200, &model.KVOp{Verb: model.KVSet, Key: "k", Value: []byte("v"), Flags: 7}, "true"},
		{"PUT", "k", "", 200, &model.KVOp{Verb: model.KVSet, Key: "k"}, "true"},
		{"PUT", "k?cas=0", "v", 200, &model.KVOp{Verb: model.KVCAS, Key: "k", Value: []byte("v")}, "true"},
		{"PUT", "k?acquire=s&fence=3&fence-key=l%2F1", "v", 200, &model.KVOp{Verb: model.KVLock, Key: "k", Value: []byte("v"), Session: "s",
			Fence: &model.Fence{Key: "l/1", Token: 3}}, "true"},
		{"PUT", "k?release=s", "v", 200, &model.KVOp{Verb: model.KVUnlock, Key: "k", Value: []byte("v"), Session: "s"}, "true"},
		{"PUT", "k?cas=-1", "v", 500, nil, `strconv.ParseUint: parsing "-1": invalid syntax`},
		{"PUT", "k?flags=x", "v", 500, nil, `strconv.ParseUint: parsing "x": invalid syntax`},
		{"PUT", "k?cas=1&acquire=s", "v", 400, nil, "Conflicting flags: cas and acquire"},
		{"PUT", "k?fence=1", "v", 400, nil, "fence and fence-key must be given together"},
		{"PUT", "k?fence=x&fence-key=l", "v", 400, nil, `Invalid fencing token "x"`},
		{"PUT", "k", "123456789", 413, nil, "Request body(9 bytes) too large, max size: 8 bytes. See limits.kv_max_value_size."},
		{"PUT", "", "v", 400, nil, "Missing key name"},
		{"DELETE", "k", "", 200, &model.KVOp{Verb: model.KVDelete, Key: "k"}, "true"},
		{"DELETE", "k?cas=5", "", 200, &model.KVOp{Verb: model.KVDeleteCAS, Key: "k", Index: 5}, "true"},
		{"DELETE", "?recurse", "", 200, &model.KVOp{Verb: model.KVDeleteTree}, "true"},
		{"DELETE", "k?recurse=false", "", 200, &model.KVOp{Verb: model.KVDelete, Key: "k"}, "true"},
		{"DELETE", "k?recurse&cas=1", "", 400, nil, "Conflicting flags: recurse and cas"},
		{"DELETE", "", "", 400, nil, "Missing key name"},
	}
	for _, tt := range tests {
		f.op = nil
		w := k.do(tt.method, "/v1/kv/"+tt.path, tt.body)
		if w.Code != tt.status || w.Body.String() != tt.text {
			t.Errorf("%s %s: %d %q", tt.method, tt.path, w.Code, w.Body)
		}
		if (f.op == nil) != (tt.want == nil) || f.op != nil && dump(f.op) != dump(tt.want) {
			t.Errorf("%s %s: wrote %s", tt.method, tt.path, dump(f.op))
		}
		if token := w.Header().Get(headerToken); (token == "17") != (f.op != nil && f.op.Verb == model.KVLock) {
			t.Errorf("%s %s: token %q", tt.method, tt.path, token)
		}
	}
}

func dump(op *model.KVOp) string {
	var b strings.Builder
	b.WriteString(op.Verb.String() + " " + op.Key + " " + op.Session + " ")
	if op.Value == nil {
		b.WriteString("nil")
	}
	b.Write(op.Value)
	if op.Fence != nil {
		b.WriteString(" fence " + op.Fence.Key)
	}
	return b.String()
}

func TestKVRefusals(t *testing.T) {
	k, f := newKeyKit(t)
	tests := []struct {
		kind   model.ErrorKind
		code   string
		status int
		body   string
	}{
		{model.KindConflict, model.CodeStale, 200, "false"},
		{model.KindConflict, model.CodeHeld, 200, "false"},
		{model.KindConflict, model.CodeFenced, 409, "text"},
		{model.KindInvalid, model.CodeSession, 500, "raft apply failed: text"},
		{model.KindNoLeader, "", 500, "text"},
		{model.KindDenied, "", 403, "text"},
	}
	for _, tt := range tests {
		f.err = &model.Error{Kind: tt.kind, Field: tt.code, Text: "text"}
		w := k.do("PUT", "/v1/kv/k", "v")
		if w.Code != tt.status || w.Body.String() != tt.body || w.Header().Get(headerReason) != tt.code {
			t.Errorf("%s: %d %q %q", tt.code, w.Code, w.Body, w.Header().Get(headerReason))
		}
	}
}

func TestKVReads(t *testing.T) {
	k, _ := newKeyKit(t)
	entry := func(key string) *model.KVEntry {
		return &model.KVEntry{Key: key, Value: []byte("<b>"), Token: 5, Indexes: model.Indexes{Create: 2, Modify: 3}}
	}
	k.set(model.Topic{Kind: model.TopicKVKey, Name: "d/a"}, 3, entry("d/a"))
	k.set(model.Topic{Kind: model.TopicKVPrefix, Name: "d/"}, 4, entry("d/a"), entry("d/b/c"), entry("d/b/d"))
	tests := []struct {
		path   string
		status int
		body   string
	}{
		{"d/a?raw", 200, "<b>"},
		{"d/?keys", 200, `["d/a","d/b/c","d/b/d"]`},
		{"d/?keys&separator=/", 200, `["d/a","d/b/"]`},
		{"d/?keys&separator=", 200, `["d/a","d/b/c","d/b/d"]`},
		{"none", 404, ""}, {"none?raw", 404, ""}, {"none?recurse", 404, ""}, {"none?keys", 404, ""},
		{"?keys", 200, "[]"},
		{"", 400, "Missing key name"},
		{"d/a?recurse=0", 200, `[{"LockIndex":0,"Key":"d/a","Flags":0,"Value":"PGI+","CreateIndex":2,"ModifyIndex":3}]`},
		{"d/a?tokens", 200, `[{"LockIndex":0,"Key":"d/a","Flags":0,"Value":"PGI+","CreateIndex":2,"ModifyIndex":3,"FencingToken":"5"}]`},
	}
	for _, tt := range tests {
		w := k.do("GET", "/v1/kv/"+tt.path, "")
		if w.Code != tt.status || w.Body.String() != tt.body {
			t.Errorf("%s: %d %q, want %d %q", tt.path, w.Code, w.Body, tt.status, tt.body)
		}
		if tt.status != 400 && w.Header().Get("X-Consul-Index") == "" {
			t.Errorf("%s: no index", tt.path)
		}
	}
	w := k.do("GET", "/v1/kv/d/a?raw", "")
	if w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get(headerToken) != "5" {
		t.Error(w.Header())
	}
	if w := k.do("GET", "/v1/kv?recurse", ""); w.Code != http.StatusTemporaryRedirect || w.Header().Get("Location") != "/v1/kv/?recurse" {
		t.Error(w.Code, w.Header())
	}
}

func TestTxn(t *testing.T) {
	k, f := newKeyKit(t)
	f.outcome = &model.Outcome{Results: []model.TxnResult{{KV: &model.KVEntry{Key: "k", Token: 3}}}}
	if w := k.do("PUT", "/v1/txn?fence=3&fence-key=l", `[{"KV":{"Verb":"set","Key":"k"}}]`); w.Code != 200 || f.reads != 0 || f.txn.Fence == nil ||
		w.Body.String() != `{"Results":[{"KV":{"LockIndex":0,"Key":"k","Flags":0,"Value":null,"CreateIndex":0,"ModifyIndex":0}}],"Errors":null}` {
		t.Error(w.Code, w.Body)
	}
	if w := k.do("PUT", "/v1/txn?stale", `[{"KV":{"Verb":"get","Key":"k"}}]`); w.Code != 200 || f.reads != 1 || !strings.Contains(w.Body.String(), `"KnownLeader":true`) {
		t.Error(w.Code, w.Body)
	}
	f.outcome = &model.Outcome{Errors: []model.TxnError{{Op: 1, Code: model.CodeStale, Text: "stale"}}}
	w := k.do("PUT", "/v1/txn?codes", `[{"KV":{"Verb":"set","Key":"k"}}]`)
	if w.Code != 409 || w.Body.String() != `{"Results":null,"Errors":[{"OpIndex":1,"What":"stale","Code":"index-stale"}]}` ||
		w.Header().Get(headerCodes) != "1=index-stale" {
		t.Error(w.Code, w.Body, w.Header())
	}
	for body, status := range map[string]int{
		`[{"KV":{"Verb":"set","Key":"k","Value":"MTIzNDU2Nzg5"}}]`:                                       413,
		`[{"KV":{"Verb":"set","Key":""}}]`:                                                               409,
		`[` + strings.Repeat(`{"KV":{"Verb":"get","Key":"k"}},`, 3) + `{"KV":{"Verb":"get","Key":"k"}}]`: 413,
		`{}`:                                    400,
		`["` + strings.Repeat("x", 1000) + `"]`: 413,
	} {
		if w := k.do("PUT", "/v1/txn", body); w.Code != status {
			t.Errorf("%.40s: %d %s", body, w.Code, w.Body)
		}
	}
}

func TestSessions(t *testing.T) {
	k, f := newKeyKit(t)
	if w := k.do("PUT", "/v1/session/create", ""); w.Body.String() != `{"ID":"id"}` || f.session.Node != "n1" {
		t.Error(w.Body, f.session)
	}
	if w := k.do("PUT", "/v1/session/renew/x", ""); w.Code != 200 || !strings.HasPrefix(w.Body.String(), `[{"ID":"x"`) {
		t.Error(w.Code, w.Body)
	}
	f.err = &model.Error{Kind: model.KindInvalid, Field: model.CodeMissingNode, Text: "Missing node registration"}
	if w := k.do("PUT", "/v1/session/create", `{"Node":"ghost"}`); w.Code != 500 || w.Body.String() != "apply failed: Missing node registration" {
		t.Error(w.Code, w.Body)
	}
	f.err = model.Errorf(model.KindNotFound, "Session id 'x' not found")
	if w := k.do("PUT", "/v1/session/renew/x", ""); w.Code != 404 {
		t.Error(w.Code, w.Body)
	}
	for _, path := range []string{"destroy/", "renew/"} {
		if w := k.do("PUT", "/v1/session/"+path, ""); w.Code != 400 || w.Body.String() != "Missing session" {
			t.Error(path, w.Code, w.Body)
		}
	}
	k.set(model.NewTopic(model.TopicNodeSessions, "N1"), 7, &model.Session{ID: "s", Node: "n1"})
	if w := k.do("GET", "/v1/session/node/N1", ""); w.Header().Get("X-Consul-Index") != "7" || !strings.Contains(w.Body.String(), `"ID":"s"`) {
		t.Error(w.Header(), w.Body)
	}
}
