package fsm

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/pb"
	"github.com/muster-discovery/muster/internal/state"
)

func TestScan(t *testing.T) {
	f := newFixture()
	for _, op := range sampleKeyOps() {
		f.Apply([][]byte{encode(t, &Command{Op: op})})
	}
	f.Apply([][]byte{encode(t, sample(1))})
	var image bytes.Buffer
	wrote, err := f.Image().Write(&image)
	if err != nil || wrote.Bytes != int64(image.Len()) || wrote.Header != f.store.Snapshot().Header() {
		t.Fatal(wrote, err)
	}
	for name, read := range map[string]func(visit func(any, int) error) (Summary, error){
		"scan":  func(v func(any, int) error) (Summary, error) { return Scan(bytes.NewReader(image.Bytes()), v) },
		"check": func(v func(any, int) error) (Summary, error) { return Check(bytes.NewReader(image.Bytes()), v) },
	} {
		keys := map[string]bool{}
		got, err := read(func(v any, n int) error {
			if e, ok := v.(*model.KVEntry); ok && n > len(e.Key) {
				keys[e.Key] = true
			}
			return nil
		})
		if err != nil || !reflect.DeepEqual(got, wrote) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", name, err, got, wrote)
		}
		if !keys["lock/1"] {
			t.Errorf("%s: keys %v", name, keys)
		}
	}
	damaged := bytes.Clone(image.Bytes())
	damaged[len(damaged)-1] ^= 1
	if _, err := Scan(bytes.NewReader(damaged), nil); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Error("damage:", err)
	}
}

// TestScanKnowsAllKinds: a new kind of record must fit the table of counts.
func TestScanKnowsAllKinds(t *testing.T) {
	fields := (*pb.SnapshotRecord)(nil).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if n := int(fields.Get(i).Number()); n >= len(tally{}) {
			t.Errorf("record %d has no place", n)
		}
	}
}

// TestRaisedIndex: after a restore by an operator no topic is told below its index,
// things keep theirs, and the next command goes on above both states.
func TestRaisedIndex(t *testing.T) {
	f := newFixture()
	for _, key := range []string{"a", "b"} {
		f.Apply([][]byte{encode(t, &Command{Op: &model.KVOp{Verb: model.KVSet, Key: key}})})
	}
	g := newFixture()
	var raised bytes.Buffer
	known := state.Header{Index: 500, Fence: 7}
	if err := RaiseEpoch(&raised, bytes.NewReader(f.snapshot(t)), known, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	if err := g.Restore(&raised); err != nil {
		t.Fatal(err)
	}
	s := g.store.Snapshot()
	for _, topic := range []model.Topic{
		{Kind: model.TopicKVKey, Name: "a"}, {Kind: model.TopicKVKey, Name: "none"}, {Kind: model.TopicKVPrefix},
		{Kind: model.TopicNodes}, {Kind: model.TopicService, Name: "web"}, {Kind: model.TopicState},
	} {
		if _, index := s.Items(topic); index != 501 || s.TopicIndex(topic) != 501 {
			t.Errorf("%v: %d, %d", topic, index, s.TopicIndex(topic))
		}
	}
	if e := s.Key("a"); e.Create != 2 || e.Modify != 2 {
		t.Errorf("key a: %+v", e.Indexes)
	}
	if r := g.Apply([][]byte{encode(t, &Command{Op: &model.KVOp{Verb: model.KVSet, Key: "c"}})}); r[0].Index != 502 {
		t.Errorf("next: %+v", r)
	}
	again := newFixture()
	if err := again.Restore(bytes.NewReader(g.snapshot(t))); err != nil {
		t.Fatal(err)
	}
	if got := again.store.Snapshot().TopicIndex(model.Topic{Kind: model.TopicKVKey, Name: "a"}); got != 501 {
		t.Errorf("after another snapshot: %d", got)
	}
}
