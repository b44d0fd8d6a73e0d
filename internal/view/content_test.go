package view

import (
	"errors"
	"fmt"
	"sync"
	"testing"
)

func testContent(n int) *Content {
	items, _ := reuse(nil, instances(n))
	return newContent(service("web"), items, 5, 0)
}

// half selects the first half of the items.
func half(key string) *Variant {
	return &Variant{Key: key, Select: func(items []*Item) ([]*Item, error) { return items[:len(items)/2], nil }}
}

func TestFrameIsMadeOnceAndShared(t *testing.T) {
	c, enc := testContent(10), newCounting()
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			if _, n, err := c.Frame(enc.Encoder, nil); n != 10 || err != nil {
				t.Errorf("%d items, error %v", n, err)
			}
			if _, n, err := c.Frame(enc.Encoder, half("half")); n != 5 || err != nil {
				t.Errorf("%d items, error %v", n, err)
			}
		})
	}
	wg.Wait()
	if fragments, assembled := enc.counts(); fragments < 10 || assembled != 2 {
		t.Errorf("%d fragments and %d frames for two questions", fragments, assembled)
	}
}

func TestPrivateFramesAreNotKept(t *testing.T) {
	c, enc := testContent(3), newCounting()
	v := half("near")
	v.Private = true
	v.Select = nil
	v.Sort = func(items []*Item) { items[0], items[2] = items[2], items[0] }
	for range 2 {
		if got := mustFrame(t, c, enc.Encoder, v); got != "node-00002:0,node-00001:0,node-00000:0" {
			t.Fatal(got)
		}
	}
	if _, assembled := enc.counts(); assembled != 2 {
		t.Errorf("%d frames for two callers", assembled)
	}
	if got := mustFrame(t, c, enc.Encoder, nil); got != "node-00000:0,node-00001:0,node-00002:0" {
		t.Errorf("sorting changed the shared items: %s", got)
	}
}

func TestVariantsAreBounded(t *testing.T) {
	c, enc := testContent(2), newCounting()
	for i := range 3 * maxVariants {
		mustFrame(t, c, enc.Encoder, half(fmt.Sprint("v", i)))
	}
	mustFrame(t, c, enc.Encoder, nil) // has its place in any case
	if n := len(*c.frames.all.Load()); n != maxVariants+1 {
		t.Fatalf("%d frames kept", n)
	}
	// A trim after which only one is used leaves that one.
	c.frames.trim()
	mustFrame(t, c, enc.Encoder, half("v3"))
	c.frames.trim()
	enc.counts()
	mustFrame(t, c, enc.Encoder, half("v3"))
	if _, made := enc.counts(); made != 0 || len(*c.frames.all.Load()) != 1 {
		t.Errorf("%d made, %d kept after trim", made, len(*c.frames.all.Load()))
	}
}

func TestFrameErrors(t *testing.T) {
	c, enc := testContent(2), newCounting()
	want := errors.New("no")
	v := &Variant{Key: "bad", Select: func([]*Item) ([]*Item, error) { return nil, want }}
	for range 2 {
		if _, _, err := c.Frame(enc.Encoder, v); err != want {
			t.Fatal(err)
		}
	}
}

// An encoder that panics takes its own caller down, and leaves nobody waiting.
func TestPanicInEncoder(t *testing.T) {
	c := testContent(2)
	enc := NewEncoder(Encoder{Name: "bad", Assemble: func([]*Item) any { panic("boom") }})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		c.Frame(enc, nil)
	}()
	if _, _, err := c.Frame(enc, nil); err == nil {
		t.Error("no error for the next caller")
	}
}
