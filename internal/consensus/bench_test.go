package consensus

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// BenchmarkCommit measures a durable single server with commands of 300 bytes.
func BenchmarkCommit(b *testing.B) {
	for _, callers := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			reg := prometheus.NewRegistry()
			l := openSingle(b, Config{Dir: b.TempDir(), Registry: reg}, &countMachine{})
			awaitLeader(b, l)
			command := bytes.Repeat([]byte("x"), 300)
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if _, err := l.Commit(context.Background(), command); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
			syncs, mean := fsyncs(b, reg)
			b.ReportMetric(float64(b.N)/syncs, "commits/fsync")
			b.ReportMetric(mean*1e6, "us/fsync")
		})
	}
}

// fsyncs returns how many there were and their mean in seconds.
func fsyncs(b *testing.B, reg *prometheus.Registry) (count, mean float64) {
	families, err := reg.Gather()
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "muster_raft_fsync_seconds" {
			h := f.GetMetric()[0].GetHistogram()
			return float64(h.GetSampleCount()), h.GetSampleSum() / float64(h.GetSampleCount())
		}
	}
	b.Fatal("no such metric")
	return 0, 0
}

// BenchmarkReplay measures the start with 100,000 entries in the log.
func BenchmarkReplay(b *testing.B) {
	dir := b.TempDir()
	l := openSingle(b, Config{Dir: dir, SnapshotThreshold: 1 << 40}, &countMachine{})
	awaitLeader(b, l)
	command := bytes.Repeat([]byte("x"), 300)
	fillEntries(b, l, command, 100_000)
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		start := time.Now()
		m := &countMachine{}
		l := openSingle(b, Config{Dir: dir, SnapshotThreshold: 1 << 40}, m)
		b.ReportMetric(time.Since(start).Seconds()*1000, "open-ms")
		awaitLeader(b, l)
		b.ReportMetric(time.Since(start).Seconds()*1000, "serving-ms")
		if m.n != 100_000 {
			b.Fatalf("%d commands", m.n)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// fillEntries writes n entries of one command each, past the batcher.
func fillEntries(b *testing.B, l *Log, command []byte, n int) {
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range n / 64 {
				if err := l.raft.Apply(encodeEntry([][]byte{command}), 0).Error(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for range n % 64 {
		if err := l.raft.Apply(encodeEntry([][]byte{command}), 0).Error(); err != nil {
			b.Fatal(err)
		}
	}
}
