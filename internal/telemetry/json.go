package telemetry

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"time"
)

// interval is the shortest time over which counters and samples are added up, as
// long as Consul's.
const interval = 10 * time.Second

// window is the reading that counters are compared with.
type window struct {
	since time.Time
	base  map[string]series
}

type jsonMetrics struct {
	Timestamp string
	Gauges    []jsonGauge
	Points    []struct{} // Consul's clients want the field; nothing is ever in it
	Counters  []jsonSample
	Samples   []jsonSample
}

type jsonGauge struct {
	Name   string
	Value  float64
	Labels map[string]string
}

type jsonSample struct {
	Name   string
	Count  int
	Rate   float64
	Sum    float64
	Min    float64
	Max    float64
	Mean   float64
	Stddev float64
	Labels map[string]string
}

// JSON is the answer to /v1/agent/metrics in Consul's shape: gauges as they are,
// counters and samples of the current interval. Every metric stands under our
// name; those in the alias table also under Consul's.
func (t *Telemetry) JSON() ([]byte, error) {
	families, err := t.registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("gather metrics: %w", err)
	}
	all := flatten(families)
	all = append(all, expected(all, t.names.json)...)
	return json.Marshal(t.report(all, time.Now()))
}

func (t *Telemetry) report(all []series, now time.Time) jsonMetrics {
	t.mu.Lock()
	defer t.mu.Unlock()
	elapsed := now.Sub(t.window.since)
	out := jsonMetrics{
		Timestamp: t.window.since.Round(time.Second).UTC().String(),
		Gauges:    []jsonGauge{}, Points: []struct{}{}, Counters: []jsonSample{}, Samples: []jsonSample{},
	}
	for _, s := range all {
		if s.form == asGauge {
			out.Gauges = append(out.Gauges, jsonGauge{s.name, finite(s.value), labelMap(s.labels)})
			continue
		}
		d := s.minus(t.window.base[s.key()])
		if s.form == asCounter {
			if d.value != 0 {
				out.Counters = append(out.Counters, counterOf(d, elapsed))
			}
		} else if d.count > 0 {
			out.Samples = append(out.Samples, sampleOf(d, elapsed))
		}
	}
	sort.SliceStable(out.Gauges, func(i, j int) bool { return out.Gauges[i].Name < out.Gauges[j].Name })
	sort.SliceStable(out.Counters, func(i, j int) bool { return out.Counters[i].Name < out.Counters[j].Name })
	sort.SliceStable(out.Samples, func(i, j int) bool { return out.Samples[i].Name < out.Samples[j].Name })
	if elapsed >= interval {
		t.window = &window{since: now, base: map[string]series{}}
		for _, s := range all {
			if s.form != asGauge {
				t.window.base[s.key()] = s
			}
		}
	}
	return out
}

// counterOf reports a counter as Consul's library does: as that many additions of 1.
func counterOf(d series, elapsed time.Duration) jsonSample {
	return jsonSample{
		Name: d.name, Count: int(d.value), Rate: rate(d.value, elapsed), Sum: d.value,
		Min: 1, Max: 1, Mean: 1, Labels: labelMap(d.labels),
	}
}

func sampleOf(d series, elapsed time.Duration) jsonSample {
	mean := d.sum / float64(d.count)
	return jsonSample{
		Name: d.name, Count: int(d.count), Rate: rate(d.sum, elapsed), Sum: finite(d.sum),
		Min: finite(d.quantile(0)), Max: finite(d.quantile(1)), Mean: finite(mean), Stddev: finite(d.stddev(mean)),
		Labels: labelMap(d.labels),
	}
}

// stddev estimates from the middles of the buckets.
func (s *series) stddev(mean float64) float64 {
	var squares float64
	lo, before := 0.0, uint64(0)
	for _, b := range s.buckets {
		middle := lo
		if !math.IsInf(b.upper, 1) {
			middle = (lo + b.upper) / 2
			lo = b.upper
		}
		squares += float64(b.count-before) * (middle - mean) * (middle - mean)
		before = b.count
	}
	if s.count < 2 {
		return 0
	}
	return math.Sqrt(squares / float64(s.count-1))
}

func rate(sum float64, elapsed time.Duration) float64 {
	return finite(sum / max(elapsed, time.Second).Seconds())
}

// finite keeps values out that JSON has no form for.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

func labelMap(list []label) map[string]string {
	m := make(map[string]string, len(list))
	for _, l := range list {
		m[l.name] = l.value
	}
	return m
}
