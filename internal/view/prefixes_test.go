package view

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-discovery/muster/internal/model"
)

// TestAbove compares the search with looking at every prefix.
func TestAbove(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab/")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		p := newPrefixes()
		watched := rapid.SliceOfDistinct(text, func(s string) string { return s }).Draw(t, "watched")
		for _, name := range watched {
			p.add(&live{topic: model.Topic{Kind: model.TopicKVPrefix, Name: name}})
		}
		key := text.Draw(t, "key")
		var got, want []string
		p.above(key, func(v *live) { got = append(got, v.topic.Name) })
		for _, name := range watched {
			if strings.HasPrefix(key, name) {
				want = append(want, name)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%q: got %q, want %q", key, got, want)
		}
	})
}

// keySource has the same answer for everything; only its index moves.
type keySource struct{ index uint64 }

func (s *keySource) Items(model.Topic) ([]any, uint64) { return nil, s.index }

func TestPrefixWakesForKeysBelowOnly(t *testing.T) {
	src := &keySource{index: 5}
	h := NewHub(src, Config{})
	woken := make(chan *Content, 1)
	go func() {
		woken <- h.Wait(context.Background(), model.Topic{Kind: model.TopicKVPrefix, Name: "a/"}, 5)
	}()
	for h.Stats().Waiters == 0 {
		time.Sleep(time.Millisecond)
	}
	before := h.Stats().Builds
	for range 1000 {
		h.Publish([]model.Topic{{Kind: model.TopicKVKey, Name: "a"}, {Kind: model.TopicKVKey, Name: "b/a/"}, {Kind: model.TopicSession, Name: "a/x"}})
	}
	if n := h.Stats().Builds; n != before {
		t.Fatal("unrelated writes had the view built", n-before)
	}
	select {
	case <-woken:
		t.Fatal("woken by unrelated writes")
	default:
	}
	src.index = 6
	h.Publish([]model.Topic{{Kind: model.TopicKVKey, Name: "a/b"}})
	if c := <-woken; c.Index != 6 {
		t.Fatal(c.Index)
	}
	if n := h.prefixes.sorted.Len(); n != 0 {
		t.Fatal("an empty view that nobody waits on is still found:", n)
	}
}
