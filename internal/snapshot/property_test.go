package snapshot

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-discovery/muster/internal/fsm"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/state"
)

// TestSavedIsRestored: whatever the state, an archive of it restores to the same, and
// an operator's restore differs in the header alone.
func TestSavedIsRestored(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := fsm.New(state.New(), func([]model.Topic) {})
		for i := range rapid.IntRange(0, 30).Draw(rt, "commands") {
			b, err := fsm.Encode(&fsm.Command{Meta: model.CommandMeta{RequestID: [16]byte{1, byte(i)}}, Op: drawOp(rt)})
			if err != nil {
				rt.Fatal(err)
			}
			m.Apply([][]byte{b})
		}
		a, err := Prepare(Meta{Time: time.Unix(1, 0)}, m.Image())
		if err != nil {
			rt.Fatal(err)
		}
		var file, st bytes.Buffer
		if _, err := a.WriteTo(&file); err != nil {
			rt.Fatal(err)
		}
		if _, err := Read(&file, Options{Build: true, Keep: func(*Meta, int64) (io.Writer, error) { return &st, nil }}); err != nil {
			rt.Fatal(err)
		}
		want := imageOf(rt, m)
		again := fsm.New(state.New(), func([]model.Topic) {})
		if err := again.Restore(bytes.NewReader(st.Bytes())); err != nil {
			rt.Fatal(err)
		}
		if !bytes.Equal(imageOf(rt, again), want) {
			rt.Fatal("the restored state is another one")
		}
		raised, _, err := fsm.Raised(bytes.NewReader(st.Bytes()), int64(st.Len()), state.Header{Index: 1 << 20}, time.Unix(1, 0))
		if err != nil {
			rt.Fatal(err)
		}
		if err := again.Restore(raised); err != nil {
			rt.Fatal(err)
		}
		if got := imageOf(rt, again); string(body(rt, got)) != string(body(rt, want)) {
			rt.Fatal("an operator's restore differs behind the header")
		}
	})
}

func imageOf(t *rapid.T, m *fsm.Machine) []byte {
	var b bytes.Buffer
	if _, err := m.Image().WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// body is a state between header and checksum.
func body(t *rapid.T, image []byte) []byte {
	const magic, checksum = 12, 4
	if len(image) < magic+1 || image[magic] > 0x7f {
		t.Fatal("a long header")
	}
	return image[magic+1+int(image[magic]) : len(image)-checksum]
}

func drawOp(t *rapid.T) any {
	name := func(label string) string {
		return fmt.Sprintf("%s%d", label, rapid.IntRange(0, 3).Draw(t, label))
	}
	switch rapid.IntRange(0, 6).Draw(t, "op") {
	case 0:
		return &model.KVOp{Verb: model.KVDelete, Key: name("k")}
	case 1:
		return &model.Deregistration{Node: name("n")}
	case 2:
		return &model.SessionCreation{Session: model.Session{ID: name("s"), Node: name("n"), Behavior: model.BehaviorRelease, LockDelay: time.Second}}
	case 3:
		return &model.KVOp{Verb: model.KVLock, Key: name("k"), Session: name("s")}
	case 4:
		return &model.Registration{Node: model.Node{Name: name("n"), Address: "10.0.0.1"},
			Service: &model.Service{ID: name("w"), Name: name("w"), Port: 80, Weights: model.Weights{Passing: 1, Warning: 1}},
			Checks:  []*model.Check{{ID: name("c"), Status: model.StatusPassing}}}
	case 5:
		return &model.SessionDestruction{ID: name("s")}
	}
	return &model.KVOp{Verb: model.KVSet, Key: name("k"), Value: rapid.SliceOf(rapid.Byte()).Draw(t, "value")}
}

// BenchmarkArchive is about 100,000 instances.
func BenchmarkArchive(b *testing.B) {
	m := fsm.New(state.New(), func([]model.Topic) {})
	for i := range 100_000 {
		apply(b, m, &model.Registration{Node: model.Node{Name: fmt.Sprintf("node-%05d", i/10), Address: "10.0.0.1"},
			Service: &model.Service{ID: fmt.Sprintf("web-%d", i), Name: fmt.Sprintf("web-%d", i%1000), Port: 80,
				Tags: []string{"v1", "blue"}, Meta: map[string]string{"version": "1.2.3"}, Weights: model.Weights{Passing: 1, Warning: 1}},
			Checks: []*model.Check{{ID: fmt.Sprintf("alive-%d", i), Name: "alive", Status: model.StatusPassing, ServiceID: fmt.Sprintf("web-%d", i)}}})
	}
	var file bytes.Buffer
	var meta Meta
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			file.Reset()
			a, err := Prepare(Meta{}, m.Image())
			if err != nil {
				b.Fatal(err)
			}
			if _, err := a.WriteTo(&file); err != nil {
				b.Fatal(err)
			}
			meta = a.Meta
		}
		b.SetBytes(meta.StateBytes)
		b.ReportMetric(float64(file.Len()), "B/archive")
	})
	for _, build := range []bool{false, true} {
		b.Run(fmt.Sprintf("read/build=%t", build), func(b *testing.B) {
			b.SetBytes(meta.StateBytes)
			for b.Loop() {
				if _, err := Read(bytes.NewReader(file.Bytes()), Options{Build: build}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
