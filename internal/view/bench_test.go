package view

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// joining is an encoder that does about what one for JSON does: 700 bytes an item,
// joined into one body.
func joining() *Encoder {
	filling := strings.Repeat("x", 700)
	var e *Encoder
	e = NewEncoder(Encoder{
		Name:     "joining",
		Fragment: func(v any) any { return []byte(text(v) + filling) },
		Assemble: func(items []*Item) any {
			n := 2
			for _, i := range items {
				n += len(i.Fragment(e).([]byte)) + 1
			}
			body := make([]byte, 0, n)
			for _, i := range items {
				body = append(append(body, i.Fragment(e).([]byte)...), ',')
			}
			return body
		},
	})
	return e
}

func benchHub(n int) (*source, *Hub, []any) {
	s := newSource()
	values := instances(n)
	s.set(service("web"), values...)
	for i := range 1000 {
		s.set(service(fmt.Sprint("other-", i)), instance(i, 0))
	}
	h := NewHub(s, Config{})
	for i := range 1000 {
		h.Content(service(fmt.Sprint("other-", i)))
	}
	return s, h, values
}

func BenchmarkContent(b *testing.B) {
	_, h, _ := benchHub(500)
	t := service("web")
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			h.Content(t)
		}
	})
}

func BenchmarkContentAndFrame(b *testing.B) {
	_, h, _ := benchHub(500)
	t, enc, v := service("web"), joining(), half("half")
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			h.Content(t).Frame(enc, v)
		}
	})
}

func BenchmarkUnknownName(b *testing.B) {
	_, h, _ := benchHub(1)
	t := service("ghost")
	b.ReportAllocs()
	for b.Loop() {
		h.Content(t)
	}
}

// One of the instances changes; the frame is asked for.
func BenchmarkRebuild(b *testing.B) {
	for _, n := range []int{500, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, h, values := benchHub(n)
			enc := joining()
			topics := []model.Topic{service("web")}
			h.Content(topics[0]).Frame(enc, nil)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				values[i%n] = instance(i%n, i)
				s.set(topics[0], values...)
				h.Publish(topics)
				h.Content(topics[0]).Frame(enc, nil)
			}
		})
	}
}

// What Publish costs the goroutine that applies commands.
func BenchmarkPublish(b *testing.B) {
	_, h, _ := benchHub(500)
	topics := []model.Topic{service("web"), service("other-1"), service("ghost")}
	b.ReportAllocs()
	for b.Loop() {
		h.Publish(topics)
	}
}

const watchers = 2000

// The yardstick: a channel closed for as many goroutines.
func closeForAll(b *testing.B) time.Duration {
	var total time.Duration
	for range b.N {
		var ready, done sync.WaitGroup
		ch := make(chan struct{})
		ready.Add(watchers)
		for range watchers {
			done.Go(func() {
				ready.Done()
				<-ch
			})
		}
		ready.Wait()
		time.Sleep(5 * time.Millisecond) // until they are parked
		start := time.Now()
		close(ch)
		done.Wait()
		total += time.Since(start)
	}
	return total
}

// All watchers are woken by one change of one of 500 instances and get the frame.
// The metric x-close is the time over that of the yardstick.
func BenchmarkFanOut(b *testing.B) {
	s, h, values := benchHub(500)
	enc := joining()
	topic := service("web")
	var total time.Duration
	for n := range b.N {
		index := h.Content(topic).Index
		var done sync.WaitGroup
		for range watchers {
			done.Go(func() {
				c := h.WaitFor(b.Context(), topic, index, time.Minute)
				if _, n, err := c.Frame(enc, nil); n != len(values) || err != nil {
					b.Error(n, err)
				}
			})
		}
		for h.Stats().Waiters < watchers {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(5 * time.Millisecond)
		values[n%len(values)] = instance(n%len(values), n+1)
		s.set(topic, values...)
		start := time.Now()
		h.Publish([]model.Topic{topic})
		done.Wait()
		total += time.Since(start)
	}
	yardstick := closeForAll(b)
	b.ReportMetric(float64(total.Microseconds())/float64(b.N), "µs/fan-out")
	b.ReportMetric(float64(yardstick.Microseconds())/float64(b.N), "µs/close")
	b.ReportMetric(float64(total)/float64(yardstick), "x-close")
}
