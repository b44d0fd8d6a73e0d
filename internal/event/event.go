package event

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/muster-discovery/muster/internal/model"
)

// Event is a user event. The filters say who it is for; empty ones exclude nobody.
type Event struct {
	ID            string
	Name          string
	Payload       []byte
	NodeFilter    string // regular expressions
	ServiceFilter string
	TagFilter     string
	LTime         uint64 // Lamport time of its gossip; 0 until it was received
}

// New makes an event with an id, ready to be fired. The error's kind is Invalid.
func New(e Event) (*Event, error) {
	if e.Name == "" {
		return nil, model.Errorf(model.KindInvalid, "User event missing name")
	}
	if e.TagFilter != "" && e.ServiceFilter == "" {
		return nil, model.Errorf(model.KindInvalid, "Cannot provide tag filter without service filter")
	}
	for _, f := range []struct{ what, expr string }{{"node", e.NodeFilter}, {"service", e.ServiceFilter}, {"tag", e.TagFilter}} {
		if _, err := regexp.Compile(f.expr); err != nil {
			return nil, model.Errorf(model.KindInvalid, "Invalid %s filter: %v", f.what, err)
		}
	}
	e.ID = uuid.NewString()
	return &e, nil
}

// Fields of the message in gossip. Unknown ones are skipped: agents of different
// versions hear each other's events.
const (
	fieldID      = 1
	fieldPayload = 2
	fieldNode    = 3
	fieldService = 4
	fieldTag     = 5
)

// Encode writes what travels beside the name.
func (e *Event) Encode() ([]byte, error) {
	id, err := uuid.Parse(e.ID)
	if err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	var b []byte
	put := func(num protowire.Number, v []byte) {
		if len(v) > 0 {
			b = protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
		}
	}
	put(fieldID, id[:])
	put(fieldPayload, e.Payload)
	put(fieldNode, []byte(e.NodeFilter))
	put(fieldService, []byte(e.ServiceFilter))
	put(fieldTag, []byte(e.TagFilter))
	return b, nil
}

// Decode reads what Encode wrote. It keeps no reference to b.
func Decode(name string, ltime uint64, b []byte) (*Event, error) {
	e := &Event{Name: name, LTime: ltime}
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, fmt.Errorf("decode event: %w", protowire.ParseError(n))
		}
		b = b[n:]
		if typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
				return nil, fmt.Errorf("decode event: %w", protowire.ParseError(n))
			}
			b = b[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return nil, fmt.Errorf("decode event: %w", protowire.ParseError(n))
		}
		b = b[n:]
		if err := e.field(num, v); err != nil {
			return nil, fmt.Errorf("decode event: %w", err)
		}
	}
	if e.ID == "" {
		return nil, fmt.Errorf("decode event: no id")
	}
	return e, nil
}

func (e *Event) field(num protowire.Number, v []byte) error {
	switch num {
	case fieldID:
		id, err := uuid.FromBytes(v)
		if err != nil {
			return err
		}
		e.ID = id.String()
	case fieldPayload:
		e.Payload = slices.Clone(v)
	case fieldNode:
		e.NodeFilter = string(v)
	case fieldService:
		e.ServiceFilter = string(v)
	case fieldTag:
		e.TagFilter = string(v)
	}
	return nil
}

// Service is what an agent has registered, as far as filters look at it.
type Service struct {
	Name string
	Tags []string
}

// For reports whether the event is for the agent of a node with these services. An
// event whose filters don't compile is for nobody.
func (e *Event) For(node string, services func() []Service) bool {
	if !matches(e.NodeFilter, node) {
		return false
	}
	if e.ServiceFilter == "" {
		return true
	}
	return slices.ContainsFunc(services(), func(s Service) bool {
		if !matches(e.ServiceFilter, s.Name) {
			return false
		}
		return e.TagFilter == "" || slices.ContainsFunc(s.Tags, func(t string) bool { return matches(e.TagFilter, t) })
	})
}

func matches(filter, name string) bool {
	if filter == "" {
		return true
	}
	re, err := regexp.Compile(filter)
	return err == nil && re.MatchString(name)
}

// Index is the number that stands for a list which ends in this event, the same on
// every agent. Indexes are not in order: they only tell one list from another.
func (e *Event) Index() uint64 {
	id, err := uuid.Parse(e.ID)
	if err != nil {
		return 1
	}
	s := fmt.Sprintf("%x", id[:])
	// Both always parse: 16 hexadecimal digits each.
	low, _ := strconv.ParseUint(s[:16], 16, 64)
	high, _ := strconv.ParseUint(s[16:], 16, 64)
	return max(low^high, 1)
}
