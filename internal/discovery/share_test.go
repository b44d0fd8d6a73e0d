package discovery

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/muster-discovery/muster/internal/model"
)

// TestShare: what is the same is held once, and nothing changes by that.
func TestShare(t *testing.T) {
	text := func(s string) string { return string([]byte(s)) } // of its own
	make := func(id string, meta map[string]string, tags []string) *model.Instance {
		return &model.Instance{
			Node:    &model.Node{Name: text("n-" + id), Datacenter: text("dc1"), Meta: map[string]string{"rack": "1"}},
			Service: &model.Service{Node: text("n-" + id), ID: id, Name: text("web"), Tags: tags, Meta: meta},
			Checks: []*model.Check{{Node: text("n-" + id), ID: text("alive"), Status: text("passing"),
				ServiceID: text(id), ServiceName: text("web"), ServiceTags: tags}},
		}
	}
	list := func(meta map[string]string, tags []string) []*model.Instance {
		return []*model.Instance{make("a", meta, tags), make("b", map[string]string{}, []string{"x"}), make("c", nil, []string{"x"}), make("d", nil, nil)}
	}
	got, want := list(map[string]string{}, []string{"x"}), list(map[string]string{}, []string{"x"})
	share(nil, got[0])
	for k := 1; k < len(got); k++ {
		share(got[k-1], got[k])
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("sharing changed %+v to %+v", want, got)
	}
	a, b := got[0], got[1]
	one := func(x, y string) bool { return unsafe.StringData(x) == unsafe.StringData(y) }
	if !one(a.Service.Name, b.Service.Name) || !one(a.Checks[0].Status, b.Checks[0].Status) || !one(b.Node.Name, b.Checks[0].Node) ||
		reflect.ValueOf(a.Node.Meta).Pointer() != reflect.ValueOf(b.Node.Meta).Pointer() ||
		&a.Service.Tags[0] != &b.Checks[0].ServiceTags[0] {
		t.Error("not held once")
	}
}
