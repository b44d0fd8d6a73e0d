package wire

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
)

func entries(list ...string) (items []*view.Item) {
	for _, key := range list {
		items = append(items, view.NewItem(&model.KVEntry{Key: key, Token: 9}))
	}
	return items
}

func TestFoldKeys(t *testing.T) {
	tests := []struct {
		prefix, separator, want string
	}{
		{"", "/", `["a","a/","b"]`},
		{"a/", "/", `["a/","a/b","a/c/"]`},
		{"", "c", `["a","a/","a/b","a/c","b"]`},
	}
	all := []string{"a", "a/", "a/b", "a/c/d", "a/c/e", "b"}
	for _, tt := range tests {
		var below []string
		for _, key := range all {
			if strings.HasPrefix(key, tt.prefix) {
				below = append(below, key)
			}
		}
		folded, err := FoldKeys(tt.prefix, tt.separator).Select(entries(below...))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(KeysJSON.Assemble(folded).(*KVFrame).Body); got != tt.want {
			t.Errorf("%q by %q: got %s, want %s", tt.prefix, tt.separator, got, tt.want)
		}
	}
}

func TestKVEncoders(t *testing.T) {
	item := view.NewItem(&model.KVEntry{Key: "k", Value: []byte("v"), Flags: 1<<64 - 1, Token: 1 << 63, LockIndex: 2})
	for e, want := range map[*view.Encoder]string{
		KVJSON:       `[{"LockIndex":2,"Key":"k","Flags":18446744073709551615,"Value":"dg==","CreateIndex":0,"ModifyIndex":0}]`,
		KVTokensJSON: `[{"LockIndex":2,"Key":"k","Flags":18446744073709551615,"Value":"dg==","CreateIndex":0,"ModifyIndex":0,"FencingToken":"9223372036854775808"}]`,
		KVRaw:        `v`,
	} {
		f := e.Assemble([]*view.Item{item}).(*KVFrame)
		if string(f.Body) != want || f.Token != 1<<63 {
			t.Errorf("%s: got %s %d, want %s", e.Name, f.Body, f.Token, want)
		}
		if empty := e.Assemble(nil).(*KVFrame); empty.Token != 0 {
			t.Errorf("%s: a token without an entry", e.Name)
		}
	}
}

func TestDecodeSession(t *testing.T) {
	base := model.Session{NodeChecks: []string{"serfHealth"}, LockDelay: 15 * time.Second}
	with := func(f func(*model.Session)) *model.Session { s := base; f(&s); return &s }
	tests := []struct {
		body, fault string
		want        *model.Session
	}{
		{"", "", &base},
		{`{"Unknown":[1]}`, "", &base},
		{`{"checks":[],"LOCKDELAY":"0s"}`, "", with(func(s *model.Session) { s.NodeChecks, s.LockDelay = []string{}, 0 })},
		{`{"Checks":["a"],"NodeChecks":["b"]}`, "", with(func(s *model.Session) { s.NodeChecks = []string{"b"} })},
		{`{"LockDelay":999}`, "", with(func(s *model.Session) { s.LockDelay = 999 * time.Second })},
		{`{"LockDelay":1000}`, "", with(func(s *model.Session) { s.LockDelay = 1000 })},
		{`{"ServiceChecks":[{"ID":"x"}],"Name":"n"}`, "", with(func(s *model.Session) { s.ServiceChecks, s.Name = []model.ServiceCheck{{ID: "x"}}, "n" })},
		{`{"LockDelay":"abc"}`, `Request decode failed: time: invalid duration "abc"`, nil},
		{`{"LockDelay":true}`, "want a duration", nil},
		{`{"Name":5}`, "want a string", nil},
		{`[]`, "want an object", nil},
		{`{"Namespace":"x"}`, "not supported", nil},
	}
	for _, tt := range tests {
		got, err := DecodeSession([]byte(tt.body))
		if tt.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("%s: got %v, want %q", tt.body, err, tt.fault)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %+v %v, want %+v", tt.body, got, err, tt.want)
		}
	}
}

func TestDecodeTxn(t *testing.T) {
	tests := []struct{ body, fault, err string }{
		{`[{"KV":{"Verb":"set","Key":"k","Value":"dg==","Flags":18446744073709551615,"Index":"7"}}]`, "", ""},
		{`[{},null,{"KV":{"Verb":"get","Key":"k","Unknown":1}}]`, "", ""},
		{`[{"KV":{"Verb":"explode","Key":"k"}}]`, `unknown KV verb "explode"`, ""},
		{`[{"KV":{}}]`, "Must provide key", ""},
		{`[{"KV":{"Verb":"get-tree"}}]`, "", ""},
		{`[{"Node":{"Verb":"set","Node":{}}}]`, "Must provide node", ""},
		{`[{"Service":{"Verb":"x","Service":{"Service":"web"}}}]`, `unknown Service verb "x"`, ""},
		{`[{"Session":{"Verb":"set","Session":{"ID":"x"}}}]`, `unknown Session verb "set"`, ""},
		{`[{"KV":{"Verb":"set","Key":"k","FenceKey":"l"}}]`, "must be given together", ""},
		{`[{"KV":{"Verb":"set","Key":"k","Fence":"5","FenceKey":"l"}}]`, "", ""},
		{`[{"KV":{"Verb":"set","Key":"k","Value":"!"}}]`, "", "illegal base64 data"},
		{`[{"KV":{"Verb":"set","Key":"k","Flags":-1}}]`, "", "not a whole number"},
		{`null`, "", "want a list"},
		{`{}`, "", "want a list"},
		{``, "", "EOF"},
	}
	for _, tt := range tests {
		_, faults, err := DecodeTxn([]byte(tt.body))
		if tt.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), "Failed to parse body: ") || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got %v, want %q", tt.body, err, tt.err)
			}
			continue
		}
		if err != nil || (len(faults) > 0) != (tt.fault != "") || len(faults) > 0 && !strings.Contains(faults[0].Text, tt.fault) {
			t.Errorf("%s: got %v %v, want %q", tt.body, faults, err, tt.fault)
		}
	}
}

func FuzzDecodeTxn(f *testing.F) {
	f.Add(`[{"KV":{"Verb":"set","Key":"k","Value":"dg==","Flags":1}},{"Check":{"Verb":"get","Check":{"Node":"n","CheckID":"c"}}}]`)
	f.Add(`[{"Service":{"Verb":"cas","Node":"n","Service":{"Service":"web","ModifyIndex":7}}},{"Node":{"Verb":"delete","Node":{"ID":"x"}}}]`)
	f.Fuzz(func(t *testing.T, body string) {
		txn, faults, err := DecodeTxn([]byte(body))
		if err != nil {
			if model.KindOf(err) != model.KindInvalid {
				t.Fatal(err)
			}
			return
		}
		for _, e := range faults {
			if e.Op >= len(txn.Ops) {
				t.Fatal(e)
			}
		}
	})
}

func FuzzDecodeSession(f *testing.F) {
	f.Add(`{"Name":"n","LockDelay":5,"NodeChecks":["a"],"ServiceChecks":[{"ID":"x"}],"TTL":"10s"}`)
	f.Fuzz(func(t *testing.T, body string) {
		if s, err := DecodeSession([]byte(body)); err == nil && s.NodeChecks == nil {
			t.Fatal("no checks and no default")
		}
	})
}
