package fsm

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"syscall"
	"testing"

	"github.com/muster-discovery/muster/internal/model"
)

// filled is a machine with n instances, registered in entries of batch commands.
func filled(b testing.TB, n, batch int) *fixture {
	f := newFixture()
	var entry [][]byte
	for i := range n {
		if entry = append(entry, encode(b, sample(i))); len(entry) == batch || i == n-1 {
			for _, r := range f.Apply(entry) {
				if r.Err != nil {
					b.Fatal(r.Err)
				}
			}
			entry = nil
		}
	}
	f.published = nil
	return f
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// cpu reports the process's processor time an operation, which other jobs on the
// machine disturb less than the wall clock.
func cpu(b *testing.B) func() {
	var start syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &start)
	return func() {
		var now syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &now)
		used := now.Utime.Nano() + now.Stime.Nano() - start.Utime.Nano() - start.Stime.Nano()
		b.ReportMetric(float64(used)/float64(b.N), "cpu-ns/op")
	}
}

// BenchmarkHeap reports what an instance takes in the tables, its encoded fragments
// aside. The goal is 2.6 kB for both.
func BenchmarkHeap(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				before := heap()
				f := filled(b, n, 64)
				b.ReportMetric(float64(heap()-before)/float64(n), "B/instance")
				runtime.KeepAlive(f)
			}
		})
	}
}

// BenchmarkRegister decodes and applies registrations of known instances with
// another port, into a catalog of the given size.
func BenchmarkRegister(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		f := filled(b, n, 64)
		for _, batch := range []int{1, 64} {
			b.Run(fmt.Sprintf("instances=%d/batch=%d", n, batch), func(b *testing.B) {
				var commands [2][4096][]byte // each pass changes what the one before set
				for pass := range commands {
					for i := range commands[pass] {
						c := sample(i * 7919 % n)
						c.Meta.RequestID = [16]byte{}
						c.Op.(*model.Registration).Service.Port = 9000 + 2*b.N + pass
						commands[pass][i] = encode(b, c)
					}
				}
				b.ReportAllocs()
				b.ResetTimer()
				defer cpu(b)()
				for i := 0; i < b.N; i += batch {
					at := i % len(commands[0])
					f.Apply(commands[i/len(commands[0])%2][at : at+batch])
				}
				f.published = nil
			})
		}
	}
}

// BenchmarkCheckFlip changes the state of one check at a time.
func BenchmarkCheckFlip(b *testing.B) {
	f := filled(b, 100_000, 64)
	var commands [2][64][]byte
	for s, status := range []string{"critical", "passing"} {
		for i := range commands[s] {
			c := sample(i * 1009)
			c.Meta.RequestID = [16]byte{}
			r := c.Op.(*model.Registration)
			r.SkipNodeUpdate, r.Service, r.Checks = true, nil, r.Checks[1:]
			r.Checks[0].Status = status
			commands[s][i] = encode(b, c)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	defer cpu(b)()
	for i := range b.N {
		f.Apply([][]byte{commands[i/64%2][i%64]})
		f.published = f.published[:0]
	}
}

func BenchmarkSnapshot(b *testing.B) {
	f := filled(b, 100_000, 64)
	image := f.snapshot(b)
	b.Run("take", func(b *testing.B) {
		for b.Loop() {
			_, _ = f.Snapshot()
		}
	})
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(len(image)))
		defer cpu(b)()
		for b.Loop() {
			s, _ := f.Snapshot()
			_, _ = s.WriteTo(io.Discard)
		}
	})
	b.Run("restore", func(b *testing.B) {
		b.SetBytes(int64(len(image)))
		defer cpu(b)()
		for b.Loop() {
			if err := newFixture().Restore(bytes.NewReader(image)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
