package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// ordered is a source with one counter for all topics.
type ordered struct{ *source }

func (o ordered) Index() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.index
}

// told is an encoder that says what it is given.
func told() *Encoder {
	names := func(items []*Item) string {
		var b strings.Builder
		for _, i := range items {
			v := i.Value.(*model.Instance)
			fmt.Fprintf(&b, " %s:%d", v.Node.Name, v.Service.Port)
		}
		return b.String()
	}
	return NewEncoder(Encoder{
		Name:     "told",
		Assemble: func(items []*Item) any { return "all" + names(items) },
		Changes:  func(upsert, remove []*Item) any { return "put" + names(upsert) + " drop" + names(remove) },
	})
}

func named(node string, port int) *model.Instance {
	i := instance(0, port)
	i.Node = &model.Node{Name: node}
	i.Service.Node = node
	return i
}

// say is news as text; "" if there are none.
func say(t *testing.T, f *Follow, e *Encoder, v *Variant) string {
	t.Helper()
	n, ok := f.Next(0)
	if !ok {
		return ""
	}
	var frame any
	var err error
	if n.Change != nil {
		frame, _, err = n.Change.Frame(e, v)
	} else {
		frame, _, err = n.Content.Frame(e, v)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n.Reset {
		return "reset " + frame.(string)
	}
	return frame.(string)
}

func TestFollow(t *testing.T) {
	s, e := ordered{newSource()}, told()
	a, b, c := named("a", 1), named("b", 1), named("c", 1)
	h := NewHub(s, Config{})
	wake := make(chan struct{}, 1)
	set := func(values ...any) {
		s.set(service("web"), values...)
		h.Publish([]model.Topic{service("web")})
	}
	set(a, b)
	f := h.Follow(service("web"), wake)
	defer f.Close()
	upper := &Variant{Key: "not a", Select: func(items []*Item) ([]*Item, error) {
		return slices.DeleteFunc(slices.Clone(items), func(i *Item) bool { return i.Value.(*model.Instance).Service.Port == 9 }), nil
	}}
	g := h.Follow(service("web"), wake) // sees no port 9
	defer g.Close()
	for _, step := range []struct {
		values   []any
		all, nix string
	}{
		{[]any{a, b}, "all a:1 b:1", "all a:1 b:1"},
		{[]any{a, b}, "", ""},
		{[]any{a, c}, "put c:1 drop b:1", "put c:1 drop b:1"},
		{[]any{named("a", 2), c}, "put a:2 drop", "put a:2 drop"},
		{[]any{named("a", 9), c}, "put a:9 drop", "put drop a:2"},
		{[]any{named("a", 3), c}, "put a:3 drop", "put a:3 drop"},
		{[]any{named("A", 3), c}, "put A:3 drop a:3", "put A:3 drop a:3"}, // spelled anew
		{nil, "put drop A:3 c:1", "put drop A:3 c:1"},
		{[]any{c}, "put c:1 drop", "put c:1 drop"},
	} {
		set(step.values...)
		if got := say(t, f, e, nil); got != step.all {
			t.Errorf("%q, want %q", got, step.all)
		}
		if got := say(t, g, e, upper); got != step.nix {
			t.Errorf("of a variant: %q, want %q", got, step.nix)
		}
		if f.Stale() || g.Stale() {
			t.Error("stale after the news")
		}
	}
	// Who was slow gets one step with what remains of it.
	for _, values := range [][]any{{named("a", 1), c}, {named("a", 2), named("b", 1), c}, {named("a", 2), c}} {
		set(values...)
		h.Content(service("web"))
	}
	n, _ := f.Next(0)
	if frame, count, _ := n.Change.Frame(e, nil); n.Steps != 3 || frame != "put a:2 drop" || count != 1 {
		t.Errorf("%v of %d steps", frame, n.Steps)
	}
	f.Restart()
	if got := say(t, f, e, nil); got != "reset all a:2 c:1" {
		t.Errorf("%q", got)
	}
	h.Publish(nil) // a restore
	if got := say(t, f, e, nil); got != "reset all a:2 c:1" {
		t.Errorf("%q", got)
	}
}

// All followers share one frame of a change, and of what those lack who lag alike.
func TestFollowersShareFrames(t *testing.T) {
	s := ordered{newSource()}
	made := 0
	e := NewEncoder(Encoder{Name: "counting", Assemble: func([]*Item) any { return nil },
		Changes: func(upsert, remove []*Item) any { made++; return new(int) }})
	values := instances(100)
	s.set(service("web"), values...)
	h := NewHub(s, Config{})
	wake := make(chan struct{}, 1)
	var all []*Follow
	for range 1000 {
		f := h.Follow(service("web"), wake)
		defer f.Close()
		f.Next(0)
		all = append(all, f)
	}
	for round, steps := range []int{1, 5} {
		before := h.Stats().Builds
		for n := range steps {
			values[n] = instance(n, round+1)
			s.set(service("web"), values...)
			h.Publish([]model.Topic{service("web")})
			h.Content(service("web"))
		}
		made = 0
		frames := map[any]bool{}
		for _, f := range all {
			n, ok := f.Next(0)
			if !ok || n.Steps != steps {
				t.Fatal(n, ok)
			}
			frame, count, err := n.Change.Frame(e, nil)
			if err != nil || count != steps {
				t.Fatal(count, err)
			}
			frames[frame] = true
		}
		if made != 1 || len(frames) != 1 || h.Stats().Builds-before != uint64(steps) {
			t.Errorf("%d frames made, %d seen, %d builds", made, len(frames), h.Stats().Builds-before)
		}
	}
}

func TestFollowersAreWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := ordered{newSource()}
		h := NewHub(s, Config{})
		wake := make(chan struct{}, 1)
		f, g := h.Follow(service("web"), wake), h.Follow(service("db"), wake)
		f.Next(0)
		g.Next(0)
		for _, name := range []string{"web", "db"} {
			s.set(service(name), instance(1, 1))
			h.Publish([]model.Topic{service(name), service("other")})
			synctest.Wait()
			select {
			case <-wake:
			default:
				t.Error("not woken for", name)
			}
		}
		f.Close()
		g.Next(0)
		s.set(service("web"), instance(1, 2))
		h.Publish([]model.Topic{service("web")})
		synctest.Wait()
		if len(wake) != 0 || g.Stale() {
			t.Error("woken after its end")
		}
		g.Close()
		if n := h.Stats().Waiters; n != 0 {
			t.Errorf("%d waiters are left", n)
		}
	})
}

func TestResume(t *testing.T) {
	s := ordered{newSource()}
	h := NewHub(s, Config{})
	wake := make(chan struct{}, 1)
	touch := func(name string, n int) uint64 {
		i := s.set(service(name), instance(1, n))
		h.Publish([]model.Topic{service(name)})
		return i
	}
	first := touch("web", 1)
	f := h.Follow(service("web"), wake)
	f.Next(0)
	other := touch("db", 1) // the same content of web
	second := touch("web", 2)
	h.Content(service("web"))
	third := touch("web", 3)
	fourth := touch("web", 4) // built together with the third
	f.Next(0)
	last := touch("db", 2)
	f.Close()
	for _, tt := range []struct {
		index uint64
		ok    bool
		steps int
	}{
		{first - 1, false, 0}, {first, true, 2}, {other, true, 2}, {second, true, 1},
		{third, false, 0}, // something may have come and gone there
		{fourth, true, 0}, {last, true, 0}, {last + 1, false, 0}, {0, false, 0},
	} {
		g := h.Follow(service("web"), wake)
		if ok := g.Resume(tt.index); ok != tt.ok {
			t.Errorf("from %d: %t", tt.index, ok)
		}
		n, _ := g.Next(0)
		if tt.ok && n.Steps != tt.steps || tt.ok && n.Reset {
			t.Errorf("from %d: %+v", tt.index, n)
		}
		g.Close()
	}
}

// The ring is bounded in steps and in items; who is behind it starts anew.
func TestRingIsBounded(t *testing.T) {
	s, e := ordered{newSource()}, told()
	h := NewHub(s, Config{})
	wake := make(chan struct{}, 1)
	values := instances(1000)
	s.set(service("web"), values...)
	slow := h.Follow(service("web"), wake)
	defer slow.Close()
	slow.Next(0)
	r := slow.ring
	for n := range ringSteps + 10 {
		values[0] = instance(0, n+1)
		s.set(service("web"), values...)
		h.Publish([]model.Topic{service("web")})
		h.Content(service("web"))
	}
	if len(r.steps) != ringSteps {
		t.Errorf("%d steps", len(r.steps))
	}
	if got := say(t, slow, e, nil); !strings.HasPrefix(got, "reset all") {
		t.Errorf("%.40q", got)
	}
	for n := range 6 { // everything changes
		for k := range values {
			values[k] = instance(k, 1000+n)
		}
		s.set(service("web"), values...)
		h.Publish([]model.Topic{service("web")})
		h.Content(service("web"))
	}
	if r.touches > ringTouches+len(values) || len(r.steps) != 3 {
		t.Errorf("%d touches in %d steps", r.touches, len(r.steps))
	}
}

// Nothing is recorded for topics that nobody streams, nor long after.
func TestRecordEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := ordered{newSource()}
		h := NewHub(s, Config{Idle: time.Minute})
		go func() { _ = h.Run(t.Context()) }()
		s.set(service("web"), instance(1, 1))
		h.Content(service("web"))
		v := h.views.find(service("web"))
		if v.ring.Load() != nil {
			t.Error("recorded before anybody streamed")
		}
		f := h.Follow(service("web"), make(chan struct{}, 1))
		time.Sleep(10*time.Minute + 30*time.Second) // between two sweeps
		if v.ring.Load() == nil {
			t.Error("not recorded although streamed")
		}
		f.Close()
		for range 3 {
			time.Sleep(time.Minute)
			h.Content(service("web")) // in use otherwise
		}
		if v.ring.Load() != nil || h.views.find(service("web")) != v {
			t.Error("still recorded")
		}
		// Names that don't exist leave nothing behind.
		g := h.Follow(service("ghost"), make(chan struct{}, 1))
		g.Next(0)
		g.Close()
		if h.views.find(service("ghost")) != nil {
			t.Error("a name that does not exist is kept")
		}
	})
}

// What is visible but not yet published stays back where an index is to hold for
// several topics.
func TestNextKeepsToTheLimit(t *testing.T) {
	s := ordered{newSource()}
	h := NewHub(s, Config{})
	s.set(service("web"), instance(1, 1))
	h.Publish([]model.Topic{service("web")})
	f := h.Follow(service("web"), make(chan struct{}, 1))
	defer f.Close()
	if _, ok := f.Next(h.Settled()); !ok {
		t.Fatal("no snapshot")
	}
	early := s.set(service("web"), instance(1, 2))
	h.Refresh(service("web")) // somebody sees it early
	f.label--                 // as if an earlier change had woken it
	if n, ok := f.Next(h.Settled()); ok || n.Until == 0 || !f.Stale() {
		t.Errorf("%+v, %t", n, ok)
	}
	h.Publish([]model.Topic{service("web")})
	if n, ok := f.Next(h.Settled()); !ok || n.Change.To != early {
		t.Errorf("%+v, %t", n, ok)
	}
	if h.Settle() != early {
		t.Errorf("settled %d, want %d", h.Settle(), early)
	}
}

func TestWaitSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := ordered{newSource()}
		h := NewHub(s, Config{})
		start := time.Now()
		if h.WaitSettled(t.Context(), 2, time.Second) || time.Since(start) != time.Second {
			t.Error("reached what is not there")
		}
		go func() {
			time.Sleep(time.Second)
			s.set(service("web"), instance(1, 1))
			h.Publish([]model.Topic{})
		}()
		if !h.WaitSettled(t.Context(), 2, time.Minute) || time.Since(start) != 2*time.Second {
			t.Error("not told of it")
		}
		if NewHub(newSource(), Config{}).Settled() != 0 {
			t.Error("a source without a common index is settled")
		}
	})
}
