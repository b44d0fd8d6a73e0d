package telemetry

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

func read(t *testing.T, tel *Telemetry) jsonMetrics {
	t.Helper()
	b, err := tel.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var m jsonMetrics
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func gauge(m jsonMetrics, name string) (float64, bool) {
	for _, g := range m.Gauges {
		if g.Name == name {
			return g.Value, true
		}
	}
	return 0, false
}

func sampleNamed(list []jsonSample, name string) *jsonSample {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

func TestJSONHasConsulsGauges(t *testing.T) {
	tel, _ := newTest(t, Config{})
	m := read(t, tel)
	for _, name := range []string{"alloc_bytes", "sys_bytes", "num_goroutines", "heap_objects", "malloc_count", "free_count", "total_gc_runs", "total_gc_pause_ns"} {
		if _, ok := gauge(m, "consul.box.runtime."+name); !ok {
			t.Errorf("no gauge consul.box.runtime.%s", name)
		}
	}
	if v, _ := gauge(m, "consul.box.runtime.alloc_bytes"); v <= 0 {
		t.Errorf("alloc_bytes is %v", v)
	}
	plain, _ := newTest(t, Config{DisableHostname: true, Prefix: "acme"})
	if _, ok := gauge(read(t, plain), "acme.runtime.alloc_bytes"); !ok {
		t.Error("no gauge acme.runtime.alloc_bytes")
	}
}

func TestCountersAndSamplesOfTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tel, _ := newTest(t, Config{})
		calls := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "muster_rpc_calls_total"}, []string{"method"})
		commit := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "muster_raft_commit_seconds", Buckets: []float64{.001, .01, .1}})
		tel.Registry().MustRegister(calls, commit)
		calls.WithLabelValues("a").Add(3)
		calls.WithLabelValues("b").Add(4)
		commit.Observe(.005)
		commit.Observe(.005)

		m := read(t, tel)
		// Series that differ only in a label that Consul does not have are added up.
		if c := sampleNamed(m.Counters, "consul.rpc.request"); c == nil || c.Count != 7 || len(c.Labels) != 0 {
			t.Errorf("rpc.request: %+v", c)
		}
		if c := sampleNamed(m.Counters, "muster_rpc_calls_total"); c == nil || c.Labels["method"] == "" {
			t.Errorf("our own counter: %+v", c)
		}
		s := sampleNamed(m.Samples, "consul.raft.commitTime")
		if s == nil || s.Count != 2 || math.Abs(s.Mean-5) > 1e-9 || s.Min != 1 || s.Max != 10 {
			t.Errorf("commitTime in ms: %+v", s)
		}

		// A new interval starts at zero; what did not happen in it is not listed.
		time.Sleep(11 * time.Second)
		read(t, tel)
		calls.WithLabelValues("a").Add(5)
		time.Sleep(5 * time.Second)
		m = read(t, tel)
		if c := sampleNamed(m.Counters, "consul.rpc.request"); c == nil || c.Count != 5 || c.Rate != 1 {
			t.Errorf("rpc.request in the second interval: %+v", c)
		}
		if s := sampleNamed(m.Samples, "consul.raft.commitTime"); s != nil {
			t.Errorf("commitTime in the second interval: %+v", s)
		}
		// Shorter questions do not end an interval for others.
		if c := sampleNamed(read(t, tel).Counters, "consul.rpc.request"); c == nil || c.Count != 5 {
			t.Errorf("asked again: %+v", c)
		}
	})
}

func TestEmptyListsAreNotNull(t *testing.T) {
	tel, _ := newTest(t, Config{})
	b, err := tel.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte("null")) {
		t.Errorf("null in %s", b)
	}
	if !regexp.MustCompile(`"Timestamp":"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC"`).Match(b) {
		t.Errorf("timestamp in %.100s", b)
	}
}

func TestProm(t *testing.T) {
	tel, _ := newTest(t, Config{})
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "muster_raft_commit_seconds", Buckets: []float64{.001, .01}})
	tel.Registry().MustRegister(h)
	h.Observe(.004)
	var b bytes.Buffer
	if err := tel.WriteProm(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# TYPE consul_runtime_alloc_bytes gauge", "# TYPE consul_raft_commitTime summary", "consul_raft_commitTime_count 1", "# TYPE muster_raft_commit_seconds histogram", "go_goroutines "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	p := expfmt.NewTextParser(model.UTF8Validation)
	if _, err := p.TextToMetricFamilies(&b); err != nil {
		t.Errorf("not the text form: %v", err)
	}
}

func TestTwoAgentsInOneProcess(t *testing.T) {
	for range 2 {
		newTest(t, Config{})
	}
}

func TestQuantile(t *testing.T) {
	s := &series{count: 10, buckets: []bucket{{1, 0}, {2, 5}, {4, 9}, {math.Inf(1), 10}}}
	for q, want := range map[float64]float64{0: 1, 0.5: 2, 0.7: 3, 0.9: 4, 1: 4} {
		if got := s.quantile(q); math.Abs(got-want) > 1e-9 {
			t.Errorf("quantile(%v) = %v, want %v", q, got, want)
		}
	}
	if got := (&series{}).quantile(0.5); !math.IsNaN(got) {
		t.Errorf("quantile of nothing is %v", got)
	}
}

func TestAliasesAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range aliases {
		if seen[a.theirs] || a.scale == 0 || a.ours == "" {
			t.Errorf("%+v", a)
		}
		seen[a.theirs] = true
	}
}
