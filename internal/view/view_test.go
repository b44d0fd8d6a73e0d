package view

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/muster-discovery/muster/internal/model"
)

// source is a store that tests change by hand. Every change has an index of its own.
type source struct {
	mu     sync.Mutex
	index  uint64
	topics map[model.Topic]entry
	after  func() // called once, after the next Items has read and before it returns
}

type entry struct {
	values []any
	index  uint64
}

func newSource() *source {
	return &source{index: 1, topics: map[model.Topic]entry{}}
}

func (s *source) Items(t model.Topic) ([]any, uint64) {
	s.mu.Lock()
	e, ok := s.topics[t]
	after := s.after
	s.after = nil
	s.mu.Unlock()
	if after != nil {
		after()
	}
	if !ok {
		return nil, 1
	}
	return slices.Clone(e.values), e.index
}

// set changes a topic without telling anybody, and returns its new index.
func (s *source) set(t model.Topic, values ...any) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index++
	s.topics[t] = entry{values, s.index}
	return s.index
}

func service(name string) model.Topic { return model.Topic{Kind: model.TopicService, Name: name} }

// instance makes the i-th instance of a service; n tells versions apart.
func instance(i, n int) *model.Instance {
	node := &model.Node{Name: fmt.Sprintf("node-%05d", i), Address: "10.0.0.1"}
	return &model.Instance{
		Node:    node,
		Service: &model.Service{Node: node.Name, ID: "web", Name: "web", Port: n},
		Checks:  []*model.Check{{Node: node.Name, ID: "c", Status: model.StatusPassing}},
	}
}

func instances(n int) []any {
	values := make([]any, n)
	for i := range values {
		values[i] = instance(i, 0)
	}
	return values
}

// counting is an encoder that counts what it does.
type counting struct {
	*Encoder
	mu                   sync.Mutex
	fragments, assembled int
}

func newCounting() *counting {
	c := &counting{}
	c.Encoder = NewEncoder(Encoder{
		Name: "test",
		Fragment: func(v any) any {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.fragments++
			return text(v)
		},
		Assemble: func(items []*Item) any {
			c.mu.Lock()
			c.assembled++
			c.mu.Unlock()
			var parts []string
			for _, i := range items {
				parts = append(parts, i.Fragment(c.Encoder).(string))
			}
			return strings.Join(parts, ",")
		},
	})
	return c
}

func text(v any) string {
	if i, ok := v.(*model.Instance); ok {
		return fmt.Sprintf("%s:%d", i.Node.Name, i.Service.Port)
	}
	return fmt.Sprint(v)
}

// counts returns the work done since the last call.
func (c *counting) counts() (fragments, assembled int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fragments, assembled = c.fragments, c.assembled
	c.fragments, c.assembled = 0, 0
	return fragments, assembled
}

func mustFrame(t *testing.T, c *Content, e *Encoder, v *Variant) string {
	t.Helper()
	frame, _, err := c.Frame(e, v)
	if err != nil {
		t.Fatal(err)
	}
	return frame.(string)
}

func TestNewEncoderRefusesHalfOnes(t *testing.T) {
	assemble := func([]*Item) any { return nil }
	shape := func(v any) any { return v }
	for _, e := range []Encoder{
		{Assemble: assemble},
		{Name: "x"},
		{Name: "x", Assemble: assemble, FilterValue: shape},
		{Name: "x", Assemble: assemble, FilterZero: 1},
		{Name: "x", Assemble: assemble, Narrow: func(any, func(any) (bool, error)) (any, bool, error) { return nil, false, nil }},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v was accepted", e)
				}
			}()
			NewEncoder(e)
		}()
	}
}

func TestItemKeepsOneFragmentForEachEncoder(t *testing.T) {
	a, b := newCounting(), newCounting()
	item := NewItem(7)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if item.Fragment(a.Encoder) != "7" || item.Fragment(b.Encoder) != "7" {
				t.Error("wrong fragment")
			}
		})
	}
	wg.Wait()
	a.counts()
	item.Fragment(a.Encoder)
	if n, _ := a.counts(); n != 0 {
		t.Error("fragment was made again")
	}
	// Encoders without end, as reloads make them, don't pile up.
	for range 10 * maxFragments {
		item.Fragment(newCounting().Encoder)
	}
	n := 0
	for f := item.fragments.Load(); f != nil; f = f.next {
		n++
	}
	if n > maxFragments+1 {
		t.Errorf("item holds %d fragments", n)
	}
}
