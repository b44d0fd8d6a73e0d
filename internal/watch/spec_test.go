package watch

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDecode(t *testing.T) {
	s, err := Decode([]byte(`{"type": "service", "service": "web", "tag": ["a", "b"], "passingonly": true, "token": "t",
		"datacenter": "dc2", "filter": "x == 1", "args": ["/bin/x", "-v"], "handler_timeout": "30s"}`))
	if err != nil {
		t.Fatal(err)
	}
	if s.Service != "web" || !slices.Equal(s.Tags, []string{"a", "b"}) || !s.PassingOnly || s.Token != "t" ||
		s.Datacenter != "dc2" || s.Filter != "x == 1" || !slices.Equal(s.Args, []string{"/bin/x", "-v"}) || s.Timeout != 30*time.Second {
		t.Errorf("%+v", s)
	}
	if s.String() != "service web" {
		t.Errorf("named %q", s)
	}
	// As HCL turns a block into JSON.
	s, err = Decode([]byte(`{"type": "nodes", "handler_type": "http",
		"http_handler_config": [{"path": "http://h/x", "timeout": "3s", "header": {"x-a": ["1", "2"], "x-b": "3"}, "tls_skip_verify": true}]}`))
	if err != nil {
		t.Fatal(err)
	}
	h := s.HTTP
	if h.URL != "http://h/x" || h.Method != "POST" || h.Timeout != 3*time.Second || !h.TLSSkipVerify ||
		!slices.Equal(h.Header["X-A"], []string{"1", "2"}) || !slices.Equal(h.Header["X-B"], []string{"3"}) {
		t.Errorf("%+v", h)
	}
}

func TestDecodeEveryType(t *testing.T) {
	needs := map[string]string{
		"key": `"key": "a",`, "keyprefix": `"prefix": "a",`, "service": `"service": "a",`,
		"connect_leaf": `"service": "a",`, "agent_service": `"service_id": "a",`,
	}
	for _, kind := range Types() {
		if _, err := Decode([]byte(`{"type": "` + kind + `", ` + needs[kind] + ` "handler": "cat"}`)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if n := needs[kind]; n != "" {
			if _, err := Decode([]byte(`{"type": "` + kind + `", "handler": "cat"}`)); err == nil || !strings.Contains(err.Error(), "is missing") {
				t.Errorf("%s without what it needs: %v", kind, err)
			}
		}
	}
}

func TestMistakes(t *testing.T) {
	for in, want := range map[string]string{
		`{"handler": "x"}`:                "type is missing",
		`{"type": 5}`:                     "type: want a text",
		`{"type": "kye", "handler": "x"}`: `type "kye" is unknown; want one of agent_service, checks`,
		`{"type": "nodes"}`:               "no handler",
		`{"type": "nodes", "handler": "x", "args": ["y"]}`:                                                              "more than one handler",
		`{"type": "nodes", "args": []}`:                                                                                 "args: names no program",
		`{"type": "nodes", "args": [5]}`:                                                                                "args: want a list of texts",
		`{"type": "nodes", "handler": "x", "hander_type": "x"}`:                                                         "hander_type: unknown key",
		`{"type": "nodes", "handler": "x", "key": "x"}`:                                                                 "key: not for watches of type nodes",
		`{"type": "nodes", "handler": "x", "stale": "maybe"}`:                                                           "stale: want true or false",
		`{"type": "nodes", "handler_type": "mail"}`:                                                                     "handler_type: want script or http",
		`{"type": "nodes", "handler_type": "http"}`:                                                                     "needs http_handler_config",
		`{"type": "nodes", "handler_timeout": "5", "handler": "x"}`:                                                     "handler_timeout: want a duration",
		`{"type": "nodes", "http_handler_config": {"path": "http://h"}}`:                                                "needs handler_type http",
		`{"type": "nodes", "handler_type": "http", "http_handler_config": {"path": "/x"}}`:                              "path: want an address",
		`{"type": "nodes", "handler_type": "http", "http_handler_config": {"path": "http://h", "timeout": "x"}}`:        "timeout: want a duration",
		`{"type": "nodes", "handler_type": "http", "http_handler_config": {"path": "http://h", "pth": "x"}}`:            `unknown field "pth"`,
		`{"type": "nodes", "handler_type": "http", "http_handler_config": {"path": 5}}`:                                 "want string",
		`{"type": "nodes", "handler_type": "http", "http_handler_config": {"path": "http://h", "header": {"a": [{}]}}}`: "header.a: want a list of texts",
		`{"type": "checks", "service": "a", "state": "any", "handler": "x"}`:                                            "service and state",
		`[]`: "cannot unmarshal",
	} {
		if _, err := Decode([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", in, err, want)
		}
	}
	// All of them are told.
	_, err := Decode([]byte(`{"type": "nodes", "stale": 7, "args": [1], "foo": 1}`))
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("%v", err)
	}
}
