package lookup

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
)

func ids(items []*view.Item) string {
	var out []string
	for _, i := range items {
		out = append(out, i.Value.(*model.Instance).Service.ID)
	}
	return strings.Join(out, " ")
}

func sortedIDs(items []*view.Item) string {
	out := strings.Fields(ids(items))
	slices.Sort(out)
	return strings.Join(out, " ")
}

func withQueries(f *fixture, index uint64, queries ...*model.Query) *fixture {
	values := make([]any, len(queries))
	for i, q := range queries {
		values[i] = q
	}
	f.store.set(topicQueries, index, values...)
	f.publish(topicQueries)
	return f
}

func TestExecute(t *testing.T) {
	known := map[string]time.Duration{"f1": time.Millisecond, "f2": 2 * time.Millisecond, "f3": 9 * time.Millisecond}
	f := withQueries(newFixture(func(c *Config) {
		c.Distance = func(_, to string) (time.Duration, bool) { d, ok := known[to]; return d, ok }
	}), 4,
		&model.Query{ID: "1", Name: "all", Service: model.QueryService{Service: "web", IgnoreCheckIDs: []string{"c2"}}},
		&model.Query{ID: "2", Name: "healthy", Service: model.QueryService{Service: "web"}},
		&model.Query{ID: "3", Name: "near", Service: model.QueryService{Service: "web", IgnoreCheckIDs: []string{"c2"}, Near: "f3"}},
		&model.Query{ID: "4", Name: "of-", Template: model.QueryTemplate{Type: model.QueryPrefixMatch}, Service: model.QueryService{Service: "${name.suffix}"}},
		&model.Query{ID: "5", Name: "mesh", Service: model.QueryService{Service: "web", Connect: true}},
	)
	for _, c := range []struct {
		x    Execution
		want string
	}{
		{Execution{Name: "all"}, "web-1 web-2 web-3"},
		{Execution{Name: "healthy"}, "web-1 web-3"},
		{Execution{Name: "of-web"}, "web-1 web-3"},
		{Execution{Name: "of-nothing"}, ""},
		{Execution{Name: "mesh"}, ""},
		{Execution{Name: "healthy", Connect: true}, ""},
	} {
		out, err := f.Execute(t.Context(), &c.x)
		if err != nil {
			t.Fatalf("%s: %v", c.x.Name, err)
		}
		if got := sortedIDs(out.Items); got != c.want {
			t.Errorf("%s: %q, want %q", c.x.Name, got, c.want)
		}
	}
	for _, c := range []struct {
		x    Execution
		want string
	}{
		{Execution{Name: "near"}, "web-3 web-1 web-2"}, // the node itself, then by distance
		{Execution{Name: "near", Near: "_agent"}, "web-2 web-1 web-3"},
		{Execution{Name: "near", Limit: 2}, "web-3 web-1"},
		{Execution{Name: "near", Limit: -1}, "web-3 web-1 web-2"},
	} {
		out, err := f.Execute(t.Context(), &c.x)
		if err != nil {
			t.Fatal(err)
		}
		if got := ids(out.Items); got != c.want {
			t.Errorf("near %q, limit %d: %q, want %q", c.x.Near, c.x.Limit, got, c.want)
		}
		if out.Index != 10 || !out.KnownLeader {
			t.Errorf("index %d, leader %t", out.Index, out.KnownLeader)
		}
	}
	_, err := f.Execute(t.Context(), &Execution{Name: "nope"})
	wantError(t, err, model.KindNotFound, "Query not found")
	_, err = f.Execute(t.Context(), &Execution{Name: "all", Request: Request{Datacenter: "dc9"}})
	wantError(t, err, model.KindNoPath, "No path to datacenter")
}

func TestExecuteShuffles(t *testing.T) {
	f := withQueries(newFixture(), 4, &model.Query{ID: "1", Name: "q", Service: model.QueryService{Service: "web", IgnoreCheckIDs: []string{"c2"}}})
	seen := map[string]bool{}
	for range 200 { // the chance to miss one of six orders is below 10^-14
		out, err := f.Execute(t.Context(), &Execution{Name: "q"})
		if err != nil {
			t.Fatal(err)
		}
		seen[ids(out.Items)] = true
	}
	if len(seen) != 6 {
		t.Errorf("%d of 6 orders in 200 executions", len(seen))
	}
	if got := mustDo(t, f, Request{Topic: web}).Frame; got != "web-1 web-2 web-3" {
		t.Errorf("the shared order is now %q", got)
	}
}

// TestExecuteWithTheQuerysToken: the name is all one needs to run a query, and the
// query's token decides what is seen.
func TestExecuteWithTheQuerysToken(t *testing.T) {
	f := withQueries(newFixture(func(c *Config) {
		c.Resolve = func(token string) (acl.Authorizer, error) {
			if token == "all" {
				return acl.AllowAll{}, nil
			}
			return partial{}, nil
		}
	}), 4,
		&model.Query{ID: "1", Name: "with", Token: "all", Service: model.QueryService{Service: "web"}},
		&model.Query{ID: "2", Name: "without", Service: model.QueryService{Service: "web"}})
	for name, want := range map[string]string{"with": "web-1 web-3", "without": ""} {
		out, err := f.Execute(t.Context(), &Execution{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if got := sortedIDs(out.Items); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if a := mustDo(t, f, Request{Topic: topicQueries}); a.Count != 0 {
		t.Errorf("a token without permission lists %d queries", a.Count)
	}
}

func TestExecuteBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withQueries(newFixture(), 4, &model.Query{ID: "1", Name: "q", Service: model.QueryService{Service: "web"}})
		run := func(ctx context.Context, wait time.Duration) chan *Executed {
			done := make(chan *Executed, 1)
			go func() {
				out, err := f.Execute(ctx, &Execution{Name: "q", Request: Request{MinIndex: 10, Wait: wait}})
				if err != nil {
					t.Error(err)
				}
				done <- out
			}()
			synctest.Wait()
			return done
		}
		waits := func(done chan *Executed) {
			t.Helper()
			select {
			case <-done:
				t.Fatal("did not wait")
			default:
			}
		}
		done := run(t.Context(), time.Minute)
		waits(done)
		f.store.set(web, 11)
		f.publish(web)
		if out := <-done; out.Index != 11 || len(out.Items) != 0 {
			t.Errorf("woken by the service: %+v", out)
		}

		f.store.set(web, 10)
		f.publish(web)
		done = run(t.Context(), time.Minute)
		waits(done)
		withQueries(f, 12, &model.Query{ID: "1", Name: "q", Service: model.QueryService{Service: "other"}})
		if out := <-done; out.Index != 12 || out.Query.Service.Service != "other" {
			t.Errorf("woken by the query: %+v", out)
		}

		withQueries(f, 4, &model.Query{ID: "1", Name: "q", Service: model.QueryService{Service: "web"}})
		began := time.Now()
		if out := <-run(t.Context(), time.Minute); out.Index != 10 {
			t.Errorf("after the wait: %+v", out)
		}
		if d := time.Since(began); d < time.Minute || d > time.Minute+5*time.Second {
			t.Errorf("waited %s", d)
		}

		ctx, cancel := context.WithCancel(t.Context())
		done = run(ctx, time.Hour)
		waits(done)
		cancel()
		if out := <-done; out == nil {
			t.Error("no answer when the caller went")
		}
	})
}

func TestFindQuery(t *testing.T) {
	f := withQueries(newFixture(), 7,
		&model.Query{ID: "11111111-2222-3333-4444-555555555555", Name: "p-", Template: model.QueryTemplate{Type: model.QueryPrefixMatch}, Service: model.QueryService{Service: "${name.full}"}})
	out, err := f.FindQuery(t.Context(), &Request{}, "p-x")
	if err != nil || out.Query.Service.Service != "p-x" || out.Index != 7 {
		t.Errorf("%+v, %v", out, err)
	}
	_, err = f.FindQuery(t.Context(), &Request{}, "other")
	wantError(t, err, model.KindNotFound, "Query not found")
	_, err = f.FindQuery(t.Context(), &Request{}, "11111111-2222-3333-4444-555555555555")
	wantError(t, err, model.KindInvalid, "prepared query templates can only be resolved up by name, not by ID")
}
