package view

import (
	"testing"

	"github.com/muster-discovery/muster/internal/model"
	"pgregory.net/rapid"
)

// The list changes at random; every value that is still the same keeps its item.
func TestReuseKeepsWhatIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := func(label string, versions map[int]*model.Instance) []any {
			var values []any
			for i := range 12 {
				switch rapid.SampledFrom([]string{"keep", "keep", "change", "absent"}).Draw(t, label) {
				case "absent":
					delete(versions, i)
					continue
				case "change":
					delete(versions, i)
				}
				if versions[i] == nil {
					versions[i] = instance(i, 0)
				}
				// The source joins the parts anew each time.
				copied := *versions[i]
				values = append(values, &copied)
			}
			return values
		}
		versions := map[int]*model.Instance{}
		old, _ := reuse(nil, list("first", versions))
		byService := map[*model.Service]*Item{}
		for _, i := range old {
			byService[i.Value.(*model.Instance).Service] = i
		}
		values := list("second", versions)
		items, unchanged := reuse(old, values)
		if len(items) != len(values) {
			t.Fatalf("%d items for %d values", len(items), len(values))
		}
		kept := 0
		for j, item := range items {
			want := values[j].(*model.Instance)
			if got := item.Value.(*model.Instance); got.Service != want.Service || got.Node != want.Node {
				t.Fatalf("item %d is %v, want %v", j, got, want)
			}
			if before := byService[want.Service]; before != nil {
				kept++
				if before != item {
					t.Fatalf("item %d was the same and was made anew", j)
				}
			}
		}
		if unchanged != (kept == len(old) && len(items) == len(old)) {
			t.Fatalf("unchanged is %t with %d of %d items kept", unchanged, kept, len(old))
		}
	})
}

func TestSame(t *testing.T) {
	a := instance(1, 0)
	copied, check := *a, *a
	check.Checks = []*model.Check{{Node: a.Node.Name, ID: "c", Status: model.StatusCritical}}
	node := &model.NodeServices{Node: a.Node, Services: []*model.Service{a.Service}}
	tests := []struct {
		name string
		a, b any
		want bool
	}{
		{"joined anew", a, &copied, true},
		{"check changed", a, &check, false},
		{"other node object", a, &model.Instance{Node: &model.Node{}, Service: a.Service, Checks: a.Checks}, false},
		{"node with services", node, &model.NodeServices{Node: a.Node, Services: []*model.Service{a.Service}}, true},
		{"node with a service less", node, &model.NodeServices{Node: a.Node}, false},
		{"summary", &model.ServiceSummary{Name: "a", Tags: []string{"x"}}, &model.ServiceSummary{Name: "a", Tags: []string{"x"}}, true},
		{"summary with other tags", &model.ServiceSummary{Name: "a", Tags: []string{"x"}}, &model.ServiceSummary{Name: "a"}, false},
		{"equal nodes that are two objects", &model.Node{Name: "a"}, &model.Node{Name: "a"}, false},
		{"kinds mixed", a, node, false},
		{"values that can't be compared", []int{1}, []int{1}, false},
		{"plain values", 1, 1, true},
		{"nothing", nil, nil, true},
	}
	for _, tt := range tests {
		if got := same(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: same is %t", tt.name, got)
		}
	}
}
