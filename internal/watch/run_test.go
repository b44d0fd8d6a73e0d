package watch

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const keyWatch = `{"type": "key", "key": "a", "token": "secret", "datacenter": "dc2", "stale": true, "handler": "x"}`

func want(t *testing.T, what string, got []string, parts ...string) {
	t.Helper()
	if len(got) != len(parts) {
		t.Fatalf("%s: told %d times, want %d: %q", what, len(got), len(parts), got)
	}
	for i, p := range parts {
		for _, word := range strings.Fields(p) {
			if !strings.Contains(got[i], word) {
				t.Errorf("%s: %q is missing in %q", what, word, got[i])
			}
		}
	}
}

func TestToldOfNewsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newAPI()
		f.set("/v1/kv/a", 5, nil)
		r, stop := begin(t, f, keyWatch)
		defer stop()
		synctest.Wait()
		want(t, "a key that is not there", r.take(), "5 null")

		f.set("/v1/kv/a", 6, pair("a", "1", 6))
		synctest.Wait()
		want(t, "a change", r.take(), `6 "Value":"MQ=="`)
		f.set("/v1/kv/a", 7, pair("a", "1", 6)) // as if a neighbor had changed
		synctest.Wait()
		want(t, "a wake-up without news", r.take())
		time.Sleep(20 * time.Minute)
		want(t, "time that passes", r.take())

		if n := f.count(); n > 12 {
			t.Errorf("%d requests", n)
		}
		last := f.last()
		if last.Header.Get("X-Consul-Token") != "secret" || last.URL.Query().Get("dc") != "dc2" || !last.URL.Query().Has("stale") {
			t.Errorf("asked %s with %v", last.URL, last.Header)
		}
	})
}

// TestTroubleIsNoNews: errors back off, and what is the same afterwards is not told.
func TestTroubleIsNoNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newAPI()
		f.set("/v1/kv/a", 6, pair("a", "1", 6))
		r, stop := begin(t, f, keyWatch)
		defer stop()
		synctest.Wait()
		want(t, "the start", r.take(), "6")

		f.setDown(true)
		before := f.count()
		time.Sleep(10 * time.Minute)
		if n := f.count() - before; n < 20 || n > 60 {
			t.Errorf("%d tries in ten minutes", n)
		}
		f.setDown(false)
		time.Sleep(maxPause)
		want(t, "the same after an outage", r.take())
		f.set("/v1/kv/a", 9, pair("a", "2", 9))
		synctest.Wait()
		want(t, "a change after an outage", r.take(), "9")

		// A server whose state is another one: its index is lower.
		f.set("/v1/kv/a", 3, pair("a", "0", 3))
		time.Sleep(pace)
		want(t, "another state", r.take(), "3")
		f.set("/v1/kv/a", 4, pair("a", "00", 4))
		time.Sleep(pace)
		want(t, "a change of that", r.take(), "4")
	})
}

func TestUndeliveredIsToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newAPI()
		f.set("/v1/kv/a", 6, pair("a", "1", 6))
		r, stop := begin(t, f, keyWatch)
		defer stop()
		synctest.Wait()
		r.take()

		r.fail(fmt.Errorf("%w: no route", ErrUndelivered))
		f.set("/v1/kv/a", 7, pair("a", "2", 7))
		time.Sleep(10 * time.Minute)
		if n := len(r.take()); n < 20 || n > 60 {
			t.Errorf("%d tries in ten minutes", n)
		}
		f.set("/v1/kv/a", 8, pair("a", "3", 8))
		time.Sleep(time.Minute)
		r.take()
		r.fail(nil)
		time.Sleep(maxPause)
		want(t, "the newest", r.take(), "8")
		time.Sleep(10 * time.Minute)
		want(t, "once delivered", r.take())

		// A program that failed was told all the same.
		r.fail(fmt.Errorf("exit status 1"))
		f.set("/v1/kv/a", 9, pair("a", "4", 9))
		time.Sleep(10 * time.Minute)
		want(t, "a program that fails", r.take(), "9")
	})
}

// TestAnswersThatDoNotWait: a server that answers at once is not asked in a hot loop.
func TestAnswersThatDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newAPI()
		f.set("/v1/kv/a", 0, pair("a", "1", 6))
		r, stop := begin(t, f, keyWatch)
		defer stop()
		time.Sleep(time.Minute)
		if n := f.count(); n > 62 {
			t.Errorf("%d requests in a minute", n)
		}
		want(t, "the only content", r.take(), "0")
	})
}

func TestEventsAreToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newAPI()
		event := func(n int) map[string]any {
			return map[string]any{"ID": fmt.Sprintf("00000000-0000-0000-0000-%012x", n), "Name": "deploy"}
		}
		f.set("/v1/event/list", 1, []any{})
		r, stop := begin(t, f, `{"type": "event", "name": "deploy", "handler": "x"}`)
		defer stop()
		synctest.Wait()
		want(t, "no event yet", r.take())
		// The index of a list is made of its last event's id.
		f.set("/v1/event/list", 7, []any{event(7)})
		synctest.Wait()
		want(t, "the first", r.take(), `7 "Name":"deploy"`)
		f.set("/v1/event/list", 3, []any{event(7), event(5), event(3)})
		synctest.Wait()
		got := r.take()
		want(t, "two more", got, "3 000000000005")
		if strings.Contains(got[0], "000000000007") {
			t.Errorf("told again: %q", got)
		}
		if name := f.last().URL.Query().Get("name"); name != "deploy" {
			t.Errorf("asked for %q", name)
		}
	})
}

func TestEveryTypeAsks(t *testing.T) {
	for kind, c := range map[string]struct {
		params, path string
		content      any
	}{
		"keyprefix":     {`"prefix": "p/"`, "/v1/kv/p/", pair("p/a", "1", 2)},
		"services":      {`"filter": "f"`, "/v1/catalog/services", map[string][]string{"web": {}}},
		"nodes":         {`"filter": "f"`, "/v1/catalog/nodes", []any{}},
		"service":       {`"service": "web", "tag": "t", "passingonly": true`, "/v1/health/service/web", []any{}},
		"checks":        {`"state": "critical"`, "/v1/health/state/critical", []any{}},
		"connect_roots": {`"token": "x"`, "/v1/agent/connect/ca/roots", map[string]any{}},
		"connect_leaf":  {`"service": "web"`, "/v1/agent/connect/ca/leaf/web", map[string]any{}},
		"agent_service": {`"service_id": "web"`, "/v1/agent/service/web", map[string]any{"ContentHash": "h"}},
	} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newAPI()
				f.set(c.path, 4, c.content)
				r, stop := begin(t, f, `{"type": "`+kind+`", `+c.params+`, "handler": "x"}`)
				defer stop()
				time.Sleep(pace / 2)
				if got := r.take(); len(got) != 1 {
					t.Errorf("told %q", got)
				}
				if kind == "service" && f.last().URL.RawQuery != "index=4&passing=1&tag=t" {
					t.Errorf("asked %s", f.last().URL)
				}
			})
		})
	}
}
