package fsm

import (
	"encoding/binary"
	"runtime"
	"testing"
)

// BenchmarkRecentMemory measures what the full table of recent commands takes.
func BenchmarkRecentMemory(b *testing.B) {
	for range b.N {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		r := newRecent()
		for i := range 2 * maxRecent {
			var id [16]byte
			binary.BigEndian.PutUint64(id[:], uint64(i)*0x9e3779b97f4a7c15+1)
			r.add(id, Result{Index: uint64(i)})
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
		runtime.KeepAlive(r)
	}
}
