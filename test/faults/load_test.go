package faults

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/muster-discovery/muster/test/testbed"
)

// load asks agents for writes, reads and DNS, each twenty-five times a second, and notes when
// each call was made, how long it took and what went wrong.
type load struct {
	ended chan struct{}
	wg    sync.WaitGroup

	mu    sync.Mutex
	calls map[string][]called
}

type called struct {
	at   time.Time
	took time.Duration
	err  error
}

// Kinds of calls. Reads and DNS look for the one instance of web.
const (
	writes   = "writes"
	reads    = "default reads"
	stale    = "stale reads"
	resolves = "DNS"
)

func startLoad(nodes ...*testbed.Node) *load {
	l := &load{ended: make(chan struct{}), calls: map[string][]called{}}
	for _, n := range nodes {
		l.every(writes, func(i int) error {
			_, err := n.Within(15*time.Second, http.MethodPut, fmt.Sprintf("/v1/kv/load/%s/%d", n, i%50), []byte("x"), nil)
			return err
		})
		l.every(reads, func(int) error { return findsWeb(n, "") })
		l.every(stale, func(int) error { return findsWeb(n, "stale") })
		l.every(resolves, func(int) error { return resolvesWeb(n) })
	}
	return l
}

func findsWeb(n *testbed.Node, mode string) error {
	var list []any
	_, err := n.Within(15*time.Second, http.MethodGet, "/v1/health/service/web?passing&"+mode, nil, &list)
	if err == nil {
		err = want(len(list), 1)
	}
	return err
}

func resolvesWeb(n *testbed.Node) error {
	m, err := n.Resolve("web.service.consul.", dns.TypeA, 5*time.Second)
	if err == nil && len(m.Answer) != 1 {
		err = fmt.Errorf("%s with %d answers", dns.RcodeToString[m.Rcode], len(m.Answer))
	}
	return err
}

func (l *load) every(kind string, call func(n int) error) {
	l.wg.Go(func() {
		tick := time.NewTicker(40 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-tick.C:
			case <-l.ended:
				return
			}
			l.wg.Go(func() {
				start := time.Now()
				err := call(n)
				l.mu.Lock()
				defer l.mu.Unlock()
				l.calls[kind] = append(l.calls[kind], called{start, time.Since(start), err})
			})
		}
	})
}

// stop ends the load and waits for the calls under way.
func (l *load) stop() {
	close(l.ended)
	l.wg.Wait()
}

// failures are the calls that went wrong.
func (l *load) failures(kind string) (list []called) {
	for _, c := range l.calls[kind] {
		if c.err != nil {
			list = append(list, c)
		}
	}
	return list
}

// gap is the longest time after since in which no call of a kind came back well.
func (l *load) gap(kind string, since time.Time) (gap time.Duration) {
	var ends []time.Time
	for _, c := range l.calls[kind] {
		if c.err == nil {
			ends = append(ends, c.at.Add(c.took))
		}
	}
	slices.SortFunc(ends, time.Time.Compare)
	for i := 1; i < len(ends); i++ {
		if ends[i].After(since) {
			gap = max(gap, ends[i].Sub(ends[i-1]))
		}
	}
	return gap
}

// slowest is the call that took longest, and how many took over a second.
func (l *load) slowest(kind string) (slowest called, slow int) {
	for _, c := range l.calls[kind] {
		if c.took > slowest.took {
			slowest = c
		}
		if c.took > time.Second {
			slow++
		}
	}
	return slowest, slow
}

// report prints a line a kind, and fails the test for kinds of which none may fail.
func (l *load) report(t *testing.T, what string, since time.Time, mayFail ...string) {
	t.Helper()
	for _, kind := range []string{writes, reads, stale, resolves} {
		bad := l.failures(kind)
		worst, slow := l.slowest(kind)
		figure(t, "%s: %d %s, %d failed, longest gap %v, slowest %v (sent %v after the fault), %d took over 1 s", what, len(l.calls[kind]), kind, len(bad),
			l.gap(kind, since).Round(time.Millisecond), worst.took.Round(time.Millisecond), worst.at.Sub(since).Round(time.Millisecond), slow)
		if len(bad) > 0 && !slices.Contains(mayFail, kind) {
			t.Errorf("%s: %d of %s failed, the first %v after the fault, after %v: %v", what, len(bad), kind,
				bad[0].at.Sub(since).Round(time.Millisecond), bad[0].took.Round(time.Millisecond), bad[0].err)
		}
	}
}
