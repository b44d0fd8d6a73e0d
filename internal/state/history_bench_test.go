package state

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// manyKeys writes so many keys so often, with small values.
func manyKeys(t testing.TB, h model.KVHistory, keys, times int) *Store {
	s := New()
	b := s.Batch()
	if _, err := b.SetHistory(&model.CommandMeta{}, &model.KVHistorySet{Config: h}); err != nil {
		t.Fatal(err)
	}
	for n := range times {
		for i := range keys {
			meta := &model.CommandMeta{Time: time.Unix(int64(n), 0), Accessor: "00000000-0000-0000-0000-000000000002", Source: "http"}
			op := &model.KVOp{Verb: model.KVSet, Key: fmt.Sprintf("app/config/%06d", i), Value: fmt.Appendf(nil, "value %d of %06d", n, i)}
			if _, _, err := b.WriteKV(meta, op); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.Commit()
	return s
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestHistoryMemory: a revision may not take more than it is charged with.
func TestHistoryMemory(t *testing.T) {
	const keys, times = 20_000, 4 // with 100,000 the figures are the same
	measure := func(h model.KVHistory, times int) (*Store, int64) {
		before := heap()
		s := manyKeys(t, h, keys, times)
		return s, heap() - before
	}
	plain, none := measure(model.KVHistory{}, 1)
	present, one := measure(model.KVHistory{Revisions: 10, MaxBytes: 1 << 30}, 1)
	past, four := measure(model.KVHistory{Revisions: 10, MaxBytes: 1 << 30}, times)
	each := (four - one) / (keys * (times - 1))
	t.Logf("a key takes %d bytes without history; its present revision %d more; a past one %d, charged with %d",
		none/keys, (one-none)/keys, each, past.pastBytes/(keys*(times-1)))
	if charged := int64(past.pastBytes / (keys * (times - 1))); each > charged {
		t.Errorf("a past revision takes %d bytes, it is charged with %d", each, charged)
	}
	runtime.KeepAlive(plain)
	runtime.KeepAlive(present)
}

func BenchmarkDeleteTree(b *testing.B) {
	for _, h := range []model.KVHistory{{}, {Revisions: 10, MaxBytes: 64 << 20}, {Revisions: 10, MaxBytes: 1 << 20}} {
		b.Run(fmt.Sprintf("keys=100000/revisions=%d/MiB=%d", h.Revisions, h.MaxBytes>>20), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				s := manyKeys(b, h, 100_000, 1)
				b.StartTimer()
				batch := s.Batch()
				if _, _, err := batch.WriteKV(&model.CommandMeta{}, &model.KVOp{Verb: model.KVDeleteTree}); err != nil {
					b.Fatal(err)
				}
				batch.Commit()
			}
		})
	}
}

func BenchmarkSet(b *testing.B) {
	for _, h := range []model.KVHistory{{}, {Revisions: 10, MaxBytes: 64 << 20}, {Revisions: 1000, MaxBytes: 64 << 20}} {
		b.Run(fmt.Sprintf("revisions=%d", h.Revisions), func(b *testing.B) {
			b.ReportAllocs()
			s := manyKeys(b, h, 10_000, 10)
			for i := 0; b.Loop(); i++ {
				batch := s.Batch()
				op := &model.KVOp{Verb: model.KVSet, Key: fmt.Sprintf("app/config/%06d", i%10_000), Value: fmt.Append(nil, i)}
				if _, _, err := batch.WriteKV(&model.CommandMeta{}, op); err != nil {
					b.Fatal(err)
				}
				batch.Commit()
			}
		})
	}
}
