package event

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/muster-discovery/muster/internal/model"
)

func TestNew(t *testing.T) {
	for _, c := range []struct {
		in   Event
		want string
	}{
		{Event{Name: "deploy", NodeFilter: "n1", ServiceFilter: "web", TagFilter: "a"}, ""},
		{Event{}, "User event missing name"},
		{Event{Name: "x", TagFilter: "a"}, "Cannot provide tag filter without service filter"},
		{Event{Name: "x", NodeFilter: "("}, "Invalid node filter: error parsing regexp: missing closing ): `(`"},
		{Event{Name: "x", ServiceFilter: "("}, "Invalid service filter: error parsing regexp: missing closing ): `(`"},
		{Event{Name: "x", ServiceFilter: "a", TagFilter: "("}, "Invalid tag filter: error parsing regexp: missing closing ): `(`"},
	} {
		e, err := New(c.in)
		got := ""
		if err != nil {
			got = err.Error()
			if model.KindOf(err) != model.KindInvalid {
				t.Errorf("%s: kind %d", got, model.KindOf(err))
			}
		} else if e.ID == "" {
			t.Error("no id")
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.in, got, c.want)
		}
	}
}

func TestFor(t *testing.T) {
	services := func() []Service { return []Service{{"web", []string{"v1", "prod"}}, {"db", nil}} }
	for _, c := range []struct {
		e    Event
		want bool
	}{
		{Event{}, true},
		{Event{NodeFilter: "^n1$"}, true},
		{Event{NodeFilter: "^n2"}, false},
		{Event{ServiceFilter: "we"}, true},
		{Event{ServiceFilter: "cache"}, false},
		{Event{ServiceFilter: "web", TagFilter: "^v"}, true},
		{Event{ServiceFilter: "db", TagFilter: "^v"}, false},
		{Event{NodeFilter: "n2", ServiceFilter: "web"}, false},
		{Event{NodeFilter: "("}, false}, // from an agent that checks less
	} {
		if got := c.e.For("n1", services); got != c.want {
			t.Errorf("%+v: %t", c.e, got)
		}
	}
}

func TestIndexIsConsuls(t *testing.T) {
	// As Consul's agents compute it: the two halves of the id, exclusive or.
	e := Event{ID: "cb9a81ad-fff6-52ac-92a7-5f70687805ec"}
	if got := e.Index(); got != 0xcb9a81adfff652ac^0x92a75f70687805ec {
		t.Errorf("%x", got)
	}
	if got := (&Event{ID: "11111111-1111-1111-1111-111111111111"}).Index(); got != 1 {
		t.Errorf("an index of 0 would mean none; got %d", got)
	}
}

func TestRecent(t *testing.T) {
	r := NewRecent()
	list, changed := r.List()
	if len(list) != 0 {
		t.Fatal("not empty")
	}
	for i := range Kept + 10 {
		r.Add(&Event{Name: fmt.Sprint(i)})
	}
	select {
	case <-changed:
	default:
		t.Error("nobody was woken")
	}
	if len(list) != 0 {
		t.Error("a list that was handed out has changed")
	}
	list, changed = r.List()
	if len(list) != Kept || list[0].Name != "10" || list[Kept-1].Name != fmt.Sprint(Kept+9) {
		t.Errorf("%d events from %s to %s", len(list), list[0].Name, list[len(list)-1].Name)
	}
	select {
	case <-changed:
		t.Error("woken without an event")
	default:
	}
}

func FuzzDecode(f *testing.F) {
	e, err := New(Event{Name: "deploy", Payload: []byte("x"), NodeFilter: "n", ServiceFilter: "s", TagFilter: "t"})
	if err != nil {
		f.Fatal(err)
	}
	b, err := e.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{0x08, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := Decode("n", 7, b)
		if err != nil {
			return
		}
		again, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode("n", 7, again)
		if err != nil || !reflect.DeepEqual(normal(e), normal(back)) {
			t.Errorf("%+v comes back as %+v, %v", e, back, err)
		}
	})
}

func normal(e *Event) Event {
	c := *e
	c.Payload = bytes.Clone(append([]byte{}, e.Payload...))
	return c
}
