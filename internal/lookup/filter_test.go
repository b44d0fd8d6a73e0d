package lookup

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
)

// partial may read the named resources only.
type partial map[string]bool

func (p partial) Allowed(r acl.Resource, name string, a acl.Access) bool {
	kind := map[acl.Resource]string{acl.Node: "node:", acl.Service: "service:"}[r]
	return a == acl.Read && (p[kind+name] || p[kind+"*"])
}

func (p partial) AllowsAll(r acl.Resource, a acl.Access) bool { return p.Allowed(r, "*", a) }

func TestPermission(t *testing.T) {
	nodes := model.Topic{Kind: model.TopicNodes}
	checks := model.Topic{Kind: model.TopicChecks}
	services := model.Topic{Kind: model.TopicServices}
	node := model.Topic{Kind: model.TopicNode, Name: "f1"}
	tests := []struct {
		topic  model.Topic
		rights string
		want   string
	}{
		{web, "node:* service:*", "web-1 web-2 web-3"},
		{web, "node:f1 node:f2 service:web", "web-1 web-2"},
		{web, "node:*", ""},
		{web, "service:*", ""},
		{web, "", ""},
		{nodes, "node:f2", "f2"},
		{nodes, "node:*", "f1 f2 f3"},
		{nodes, "service:*", ""},
		{checks, "node:f2 service:web", "c2"},
		{checks, "node:f1 service:db", ""},
		{services, "service:web", "web[Prod,v1,v2]"},
		{services, "node:*", ""},
		{node, "node:f1 service:web", "f1(web-1,web-2)"},
		{node, "node:f1 service:db", "f1()"},
		{node, "service:*", ""},
		{model.Topic{Kind: model.TopicCARoots}, "", "root"},
	}
	for _, tt := range tests {
		rights := partial{}
		for _, r := range strings.Fields(tt.rights) {
			rights[r] = true
		}
		f := newFixture(func(c *Config) {
			c.Resolve = func(token string) (acl.Authorizer, error) {
				if token == "root" {
					return acl.AllowAll{}, nil
				}
				return rights, nil
			}
		})
		f.store.set(model.Topic{Kind: model.TopicCARoots}, 3, root{})
		// Somebody who may see everything has made the shared frame before.
		mustDo(t, f, Request{Topic: tt.topic, Token: "root"})
		if got := mustDo(t, f, Request{Topic: tt.topic}).Frame; got != tt.want {
			t.Errorf("topic %v with %q: %q, want %q", tt.topic, tt.rights, got, tt.want)
		}
	}
}

type root struct{}

func (root) String() string { return "root" }

// What this package doesn't know is not shown to partial permissions.
func TestUnknownTypesAreHidden(t *testing.T) {
	if permit(partial{}, view.NewItem(root{})) != nil {
		t.Error("an unknown type was shown")
	}
}

// The question comes before permission: the filter sees everything, and its errors
// don't depend on rights; nearness orders what is left.
func TestOrderOfFilters(t *testing.T) {
	f := newFixture(func(c *Config) {
		c.Resolve = func(string) (acl.Authorizer, error) {
			return partial{"node:f1": true, "node:f2": true, "service:web": true}, nil
		}
	})
	v, err := f.Prepare(plain, Question{Near: "_agent"})
	if err != nil {
		t.Fatal(err)
	}
	if a := mustDo(t, f, Request{Topic: web, Variant: v}); a.Frame != "web-2 web-1" || a.Count != 2 {
		t.Errorf("got %+v", a)
	}
}

func TestNear(t *testing.T) {
	known := map[string]time.Duration{"f1": 9 * time.Millisecond, "f3": time.Millisecond}
	withTimes := func(c *Config) {
		c.Distance = func(from, to string) (time.Duration, bool) {
			d, ok := known[to]
			return d, ok && from != "ghost"
		}
	}
	tests := []struct {
		near   string
		change []func(*Config)
		want   string
	}{
		{"_agent", nil, "web-2 web-1 web-3"}, // the own node needs no estimate
		{"f2", nil, "web-2 web-1 web-3"},
		{"f3", nil, "web-1 web-2 web-3"}, // nothing is known
		{"ghost", nil, "web-1 web-2 web-3"},
		{"ghost", []func(*Config){withTimes}, "web-1 web-2 web-3"},
		{"f3", []func(*Config){withTimes}, "web-3 web-1 web-2"},
		{"_agent", []func(*Config){withTimes}, "web-2 web-3 web-1"},
	}
	for _, tt := range tests {
		f := newFixture(tt.change...)
		v, err := f.Prepare(plain, Question{Near: tt.near})
		if err != nil {
			t.Fatal(err)
		}
		if got := mustDo(t, f, Request{Topic: web, Variant: v}).Frame; got != tt.want {
			t.Errorf("near %s: %q, want %q", tt.near, got, tt.want)
		}
		if got := mustDo(t, f, Request{Topic: web}).Frame; got != "web-1 web-2 web-3" {
			t.Errorf("near %s changed the shared order to %q", tt.near, got)
		}
	}
}
