package dnsapi

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Paths, as a label.
const (
	pathHot     = "hot"
	pathGeneral = "general"
)

// Classes of question types and rcodes: labels from closed sets, kept as array
// indexes so that counting an answer is one addition.
var (
	typeNames  = [...]string{"A", "AAAA", "SRV", "ANY", "TXT", "SOA", "NS", "PTR", "other"}
	rcodeNames = [...]string{"NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "other"}
)

func typeClass(t uint16) int {
	switch t {
	case typeA:
		return 0
	case typeAAAA:
		return 1
	case typeSRV:
		return 2
	case 255:
		return 3
	case typeTXT:
		return 4
	case typeSOA:
		return 5
	case 2:
		return 6
	case 12:
		return 7
	}
	return len(typeNames) - 1
}

// durations are the upper bounds of the histogram, in nanoseconds: from a packed
// answer to a recursor that does not answer.
var durations = [...]time.Duration{
	time.Microsecond, 4 * time.Microsecond, 16 * time.Microsecond, 64 * time.Microsecond, 256 * time.Microsecond,
	time.Millisecond, 4 * time.Millisecond, 16 * time.Millisecond, 64 * time.Millisecond, 256 * time.Millisecond,
	time.Second, 4 * time.Second,
}

// counters are one worker's. Each worker has its own, so that counting touches no
// memory that another core writes; a scrape adds them up.
type counters struct {
	path    string
	answers [len(typeNames)][len(rcodeNames)]atomic.Uint64
	ignored atomic.Uint64
	buckets [len(durations) + 1]atomic.Uint64
	nanos   atomic.Uint64
}

func (c *counters) add(qtype uint16, rcode int) {
	if rcode >= len(rcodeNames) {
		rcode = len(rcodeNames) - 1
	}
	c.answers[typeClass(qtype)][rcode].Add(1)
}

// took counts n answers that took d together. A batch's answers are taken to be
// alike, since asking the clock costs as much as an answer.
func (c *counters) took(d time.Duration, n int) {
	if n == 0 {
		return
	}
	each := d / time.Duration(n)
	i := 0
	for i < len(durations) && each > durations[i] {
		i++
	}
	c.buckets[i].Add(uint64(n))
	c.nanos.Add(uint64(d))
}

// metrics adds up counters when asked.
type metrics struct {
	mu   sync.Mutex
	all  []*counters // guarded by mu; the counters themselves are atomic
	desc struct{ answers, seconds, ignored, refused, troubles, panics, limited *prometheus.Desc }

	refused  atomic.Uint64 // for want of a place
	troubles atomic.Uint64 // lookups that failed
	panics   atomic.Uint64 // bugs
	dropped  atomic.Uint64 // over the rate limit, without an answer
	slipped  atomic.Uint64 // over the rate limit, with an empty answer
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{}
	d := prometheus.NewDesc
	m.desc.answers = d("muster_dns_answers_total", "DNS answers by type of the question, rcode and path.", []string{"type", "rcode", "path"}, nil)
	m.desc.seconds = d("muster_dns_answer_seconds", "Time to make a DNS answer.", []string{"path"}, nil)
	m.desc.ignored = d("muster_dns_ignored_total", "Messages that are no questions and got no answer.", nil, nil)
	m.desc.refused = d("muster_dns_refused_total", "Questions and connections turned away because too many were waiting.", nil, nil)
	m.desc.troubles = d("muster_dns_lookup_errors_total", "DNS questions answered with an error because the catalog could not be asked.", nil, nil)
	m.desc.panics = d("muster_dns_panics_total", "DNS answers that ended in a panic: bugs, see the log.", nil, nil)
	m.desc.limited = d("muster_dns_rate_limited_total", "Questions over the rate limit, dropped or answered with TC alone.", []string{"action"}, nil)
	if reg == nil {
		return m, nil
	}
	if err := reg.Register(m); err != nil {
		return nil, fmt.Errorf("register dns metrics: %w", err)
	}
	return m, nil
}

func (m *metrics) counters(path string) *counters {
	c := &counters{path: path}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, c)
	return c
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.desc.answers, m.desc.seconds, m.desc.ignored, m.desc.refused, m.desc.troubles, m.desc.panics, m.desc.limited} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	all := m.all
	m.mu.Unlock()
	var ignored uint64
	for _, c := range all {
		ignored += c.ignored.Load()
	}
	for _, path := range []string{pathHot, pathGeneral} {
		m.collectPath(ch, all, path)
	}
	counter := func(d *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	counter(m.desc.ignored, ignored)
	counter(m.desc.refused, m.refused.Load())
	counter(m.desc.troubles, m.troubles.Load())
	counter(m.desc.panics, m.panics.Load())
	counter(m.desc.limited, m.dropped.Load(), "dropped")
	counter(m.desc.limited, m.slipped.Load(), "truncated")
}

func (m *metrics) collectPath(ch chan<- prometheus.Metric, all []*counters, path string) {
	var answers [len(typeNames)][len(rcodeNames)]uint64
	var buckets [len(durations) + 1]uint64
	var nanos uint64
	for _, c := range all {
		if c.path != path {
			continue
		}
		for t := range answers {
			for r := range answers[t] {
				answers[t][r] += c.answers[t][r].Load()
			}
		}
		for i := range buckets {
			buckets[i] += c.buckets[i].Load()
		}
		nanos += c.nanos.Load()
	}
	for t, name := range typeNames {
		for r, rcode := range rcodeNames {
			if n := answers[t][r]; n > 0 {
				ch <- prometheus.MustNewConstMetric(m.desc.answers, prometheus.CounterValue, float64(n), name, rcode, path)
			}
		}
	}
	cumulative := make(map[float64]uint64, len(durations))
	var count uint64
	for i, bound := range durations {
		count += buckets[i]
		cumulative[bound.Seconds()] = count
	}
	count += buckets[len(durations)]
	ch <- prometheus.MustNewConstHistogram(m.desc.seconds, count, time.Duration(nanos).Seconds(), cumulative, path)
}
