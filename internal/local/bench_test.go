package local

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// benchAdd registers services, each with a TTL check, from 64 callers, while the
// catalog follows.
func benchAdd(b *testing.B, j Journal) {
	l := open(b, testConfig(newFakeCatalog(), j))
	defer run(b, l)()
	var n atomic.Int64
	b.SetParallelism(32) // times GOMAXPROCS, 2 on the reference machine
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := n.Add(1) % 10000
			d := &model.ServiceDefinition{
				Service: model.Service{ID: fmt.Sprint("web-", i), Name: "web", Port: int(i), Tags: []string{"v1"}},
				Checks:  []*model.CheckDefinition{{TTL: time.Minute}},
			}
			if err := l.AddService(context.Background(), d, false); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reg/s")
}

func BenchmarkAddServiceMemory(b *testing.B) { benchAdd(b, nil) }

func BenchmarkAddServiceDisk(b *testing.B) {
	j := openJournal(b, filepath.Join(b.TempDir(), "local"))
	benchAdd(b, j)
}

func BenchmarkUpdateTTL(b *testing.B) {
	l := open(b, testConfig(newFakeCatalog(), newFakeJournal()))
	defer run(b, l)()
	add(b, l, service("x", "x", ttl("c", time.Minute)))
	b.ReportAllocs()
	for i := range b.N {
		if err := l.UpdateTTL(ctx, "c", model.StatusPassing, fmt.Sprint(i)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkServices1000(b *testing.B) {
	l := open(b, testConfig(newFakeCatalog(), nil))
	for i := range 1000 {
		add(b, l, service(fmt.Sprint(i), "x"))
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		l.Services()
	}
}

// BenchmarkCompare10000 is a full comparison without differences. The tables are
// locked for most of it.
func BenchmarkCompare10000(b *testing.B) {
	l := open(b, testConfig(newFakeCatalog(), nil))
	for i := range 10000 {
		add(b, l, service(fmt.Sprint(i), "x", ttl(fmt.Sprint("c", i), time.Minute)))
	}
	drain(l)
	b.ResetTimer()
	for range b.N {
		l.push.syncNow()
		drain(l)
	}
}
