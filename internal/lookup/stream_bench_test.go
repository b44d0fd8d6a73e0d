package lookup

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

const (
	benchStreams = 2000
	benchRounds  = 50 // in one operation, since setting up takes longer
	benchBuffer  = 4 << 10
)

// broadcast is the yardstick: one goroutine hands a text that is there already to as
// many others, each of which copies it.
func broadcast(b *testing.B, text []byte) (total time.Duration) {
	channels := make([]chan []byte, benchStreams)
	var running, got sync.WaitGroup
	for k := range channels {
		channels[k] = make(chan []byte, 1)
		running.Go(func() {
			own := make([]byte, 0, benchBuffer)
			for t := range channels[k] {
				own = append(own[:0], t...)
				got.Done()
			}
		})
	}
	for n := range b.N*benchRounds + 1 {
		got.Add(benchStreams)
		start := time.Now()
		for _, c := range channels {
			c <- text
		}
		got.Wait()
		if n > 0 { // the first has the buffers made
			total += time.Since(start)
		}
	}
	for _, c := range channels {
		close(c)
	}
	running.Wait()
	return total
}

// BenchmarkStreamFanOut is one change of one of 500 instances, from its publication
// until 2,000 streams have a copy of the event's text; x-broadcast is the time over
// that of the yardstick in the same run.
func BenchmarkStreamFanOut(b *testing.B) {
	r := newRig()
	for i := range 500 {
		r.register(fmt.Sprintf("n%d", i), "web", 80)
	}
	var running, got sync.WaitGroup
	var text []byte
	var once sync.Once
	got.Add(benchStreams)
	for range benchStreams {
		running.Go(func() {
			s := webStream(b, r, StreamRequest{})
			own := make([]byte, 0, benchBuffer)
			var events []Event
			for range b.N*benchRounds + 2 {
				<-s.Changed()
				events = s.Collect(events[:0])
				frame, _, err := events[0].Frame(s)
				if err != nil || len(events) != 1 {
					b.Error(len(events), err)
				}
				if d, ok := frame.([]byte); ok {
					own = append(own[:0], d...)
					once.Do(func() { text = d })
				}
				got.Done()
			}
		})
	}
	got.Wait() // the snapshots
	var total time.Duration
	for n := range b.N*benchRounds + 1 {
		got.Add(benchStreams)
		start := time.Now()
		r.register(fmt.Sprintf("n%d", n%500), "web", 81+n)
		got.Wait()
		if n > 0 {
			total += time.Since(start)
		}
	}
	running.Wait()
	yardstick := broadcast(b, text)
	rounds := float64(b.N * benchRounds)
	b.ReportMetric(float64(total.Microseconds())/rounds, "µs/change")
	b.ReportMetric(float64(yardstick.Microseconds())/rounds, "µs/broadcast")
	b.ReportMetric(float64(total)/float64(yardstick), "x-broadcast")
}
