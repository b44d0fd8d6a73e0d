package view

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/muster-discovery/muster/internal/model"
)

func TestChangeEncodesOnlyWhatChanged(t *testing.T) {
	s, enc := newSource(), newCounting()
	values := instances(100)
	s.set(service("web"), values...)
	h := NewHub(s, Config{})
	before := mustFrame(t, h.Content(service("web")), enc.Encoder, nil)
	if n, _ := enc.counts(); n != 100 {
		t.Fatalf("%d fragments at first", n)
	}
	values[40] = instance(40, 1)
	s.set(service("web"), values...)
	if got := mustFrame(t, h.Content(service("web")), enc.Encoder, nil); got != before {
		t.Error("a change showed before it was published")
	}
	h.Publish([]model.Topic{service("web"), service("nobody-asked")})
	after := mustFrame(t, h.Content(service("web")), enc.Encoder, nil)
	if n, frames := enc.counts(); n != 1 || frames != 1 {
		t.Errorf("%d fragments and %d frames for one change", n, frames)
	}
	if after != strings.Replace(before, "node-00040:0", "node-00040:1", 1) {
		t.Error("the change is not in the frame")
	}
}

// A topic that was named without having changed keeps its content and frames.
func TestPublishWithoutChange(t *testing.T) {
	s, enc := newSource(), newCounting()
	s.set(service("web"), instances(3)...)
	h := NewHub(s, Config{})
	first := h.Content(service("web"))
	mustFrame(t, first, enc.Encoder, nil)
	h.Publish([]model.Topic{service("web")})
	if h.Content(service("web")) != first {
		t.Error("content was made anew")
	}
}

func TestRestoreRebuildsEverything(t *testing.T) {
	s := newSource()
	index := s.set(service("web"), instances(3)...)
	h := NewHub(s, Config{})
	h.Content(service("web"))
	s.topics[service("web")] = entry{instances(2), index} // the same index, other data
	h.Publish(nil)
	if n := len(h.Content(service("web")).Items); n != 2 {
		t.Errorf("%d items after the restore", n)
	}
}

func TestIndexIsNeverZero(t *testing.T) {
	s := newSource()
	s.topics[service("zero")] = entry{nil, 0}
	if c := NewHub(s, Config{}).Content(service("zero")); c.Index != 1 {
		t.Errorf("index %d", c.Index)
	}
}

func TestUnknownNamesTakeNoMemory(t *testing.T) {
	h := NewHub(newSource(), Config{})
	for i := range 1000 {
		h.Content(service(fmt.Sprint("ghost-", i)))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 1000 {
		h.Wait(ended, service(fmt.Sprint("awaited-", i)), 10)
	}
	if n := h.Stats().Views; n != 0 {
		t.Errorf("%d views of nothing", n)
	}
}

func TestViewsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		for i := range 100 {
			s.set(service(fmt.Sprint("s", i)), instance(i, 0))
		}
		h := NewHub(s, Config{MaxViews: 10})
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 5 {
			go h.Wait(ctx, service(fmt.Sprint("s", i)), 1000)
		}
		synctest.Wait()
		for i := range 100 {
			if c := h.Content(service(fmt.Sprint("s", i))); len(c.Items) != 1 {
				t.Fatalf("s%d has %d items", i, len(c.Items))
			}
		}
		if st := h.Stats(); st.Views != 10 || st.Waiters != 5 {
			t.Errorf("%+v", st)
		}
		for i := range 5 {
			if h.views.find(service(fmt.Sprint("s", i))) == nil {
				t.Errorf("the view of waiter %d was evicted", i)
			}
		}
		// Waiters get their view also where there is no room.
		for i := 20; i < 40; i++ {
			go h.Wait(ctx, service(fmt.Sprint("s", i)), 1000)
		}
		synctest.Wait()
		if st := h.Stats(); st.Views != 25 || st.Waiters != 25 {
			t.Errorf("%+v", st)
		}
		cancel()
		synctest.Wait()
		h.Content(service("s99"))
		if st := h.Stats(); st.Waiters != 0 {
			t.Errorf("%+v", st)
		}
	})
}

func TestIdleViewsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		for _, name := range []string{"idle", "read", "watched"} {
			s.set(service(name), instance(1, 0))
		}
		h := NewHub(s, Config{Idle: time.Minute})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- h.Run(ctx) }()
		h.Content(service("idle"))
		go h.Wait(ctx, service("watched"), 1000)
		for range 10 {
			h.Content(service("read"))
			time.Sleep(30 * time.Second)
		}
		for name, want := range map[string]bool{"idle": false, "read": true, "watched": true} {
			if got := h.views.find(service(name)) != nil; got != want {
				t.Errorf("view of %s kept: %t", name, got)
			}
		}
		cancel()
		if err := <-done; err != context.Canceled {
			t.Error(err)
		}
	})
}

// Names may be borrowed from a packet's buffer.
func TestNamesAreCopied(t *testing.T) {
	s := newSource()
	s.set(service("web"), instance(1, 0))
	h := NewHub(s, Config{})
	for _, name := range []string{"web", "not"} {
		buf := []byte(name)
		c := h.Content(service(unsafe.String(&buf[0], len(buf))))
		copy(buf, "xxx")
		if c.Topic.Name != name {
			t.Errorf("content's name became %q", c.Topic.Name)
		}
	}
	if h.views.find(service("web")) == nil {
		t.Error("the view is lost")
	}
}

func TestReadPathAllocatesNothing(t *testing.T) {
	s, enc := newSource(), newCounting()
	s.set(service("web"), instances(3)...)
	h := NewHub(s, Config{})
	v := half("half")
	h.Content(service("web")).Frame(enc.Encoder, v)
	n := testing.AllocsPerRun(100, func() {
		if _, _, err := h.Content(service("web")).Frame(enc.Encoder, v); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
