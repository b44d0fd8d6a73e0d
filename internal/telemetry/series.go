package telemetry

import (
	"math"
	"slices"
	"sort"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// series is one time series with all that the two output forms need.
type series struct {
	name    string
	labels  []label
	form    form
	value   float64 // gauge or counter
	count   uint64  // sample
	sum     float64
	buckets []bucket // cumulative, by upper bound; the last is +Inf
}

type label struct{ name, value string }

type bucket struct {
	upper float64
	count uint64
}

// key identifies a series over time.
func (s *series) key() string {
	var b strings.Builder
	b.WriteString(s.name)
	for _, l := range s.labels {
		b.WriteString("\x00" + l.name + "\x00" + l.value)
	}
	return b.String()
}

// flatten turns what a registry gathers into series. Summaries become two series,
// NAME_sum and NAME_count, as in the text form.
func flatten(families []*dto.MetricFamily) []series {
	var out []series
	for _, f := range families {
		for _, m := range f.GetMetric() {
			s := series{name: f.GetName()}
			for _, l := range m.GetLabel() {
				s.labels = append(s.labels, label{l.GetName(), l.GetValue()})
			}
			switch {
			case m.Gauge != nil:
				s.value = m.Gauge.GetValue()
			case m.Untyped != nil:
				s.value = m.Untyped.GetValue()
			case m.Counter != nil:
				s.form, s.value = asCounter, m.Counter.GetValue()
			case m.Histogram != nil:
				s.form, s.count, s.sum = asSample, m.Histogram.GetSampleCount(), m.Histogram.GetSampleSum()
				s.buckets = bucketsOf(m.Histogram)
			case m.Summary != nil:
				s.form = asCounter
				c := s
				s.name, s.value = s.name+"_sum", m.Summary.GetSampleSum()
				c.name, c.value = c.name+"_count", float64(m.Summary.GetSampleCount())
				out = append(out, c)
			}
			out = append(out, s)
		}
	}
	return out
}

func bucketsOf(h *dto.Histogram) []bucket {
	out := make([]bucket, 0, len(h.GetBucket())+1)
	for _, b := range h.GetBucket() {
		out = append(out, bucket{b.GetUpperBound(), b.GetCumulativeCount()})
	}
	if len(out) == 0 || !math.IsInf(out[len(out)-1].upper, 1) {
		out = append(out, bucket{math.Inf(1), h.GetSampleCount()})
	}
	return out
}

// expected makes the series under the names of the alias table.
func expected(all []series, name func(alias) string) []series {
	byName := map[string][]series{}
	for _, s := range all {
		byName[s.name] = append(byName[s.name], s)
	}
	var out []series
	for _, a := range aliases {
		start := len(out)
		for _, s := range byName[a.ours] {
			t := a.apply(s, name(a))
			i := slices.IndexFunc(out[start:], func(o series) bool { return o.key() == t.key() })
			if i < 0 {
				out = append(out, t)
				continue
			}
			out[start+i].add(t)
		}
	}
	return out
}

func (a alias) apply(s series, name string) series {
	t := series{name: name, form: a.form, value: s.value * a.scale, count: s.count, sum: s.sum * a.scale}
	for _, l := range s.labels {
		if slices.Contains(a.labels, l.name) {
			t.labels = append(t.labels, l)
		}
	}
	for _, b := range s.buckets {
		t.buckets = append(t.buckets, bucket{b.upper * a.scale, b.count})
	}
	if a.form == asSample && s.form != asSample { // a gauge seen as the sample of this moment
		t.count, t.sum = 1, t.value
		t.buckets = []bucket{{t.value, 1}, {math.Inf(1), 1}}
	}
	return t
}

func (s *series) add(o series) {
	s.value += o.value
	s.count += o.count
	s.sum += o.sum
	for i := range min(len(s.buckets), len(o.buckets)) {
		s.buckets[i].count += o.buckets[i].count
	}
}

// minus is what was added since an earlier reading of the same series.
func (s *series) minus(o series) series {
	t := *s
	if o.value > s.value || o.count > s.count { // started anew
		return t
	}
	t.value -= o.value
	t.count -= o.count
	t.sum -= o.sum
	t.buckets = slices.Clone(s.buckets)
	for i := range min(len(t.buckets), len(o.buckets)) {
		t.buckets[i].count -= o.buckets[i].count
	}
	return t
}

// quantile estimates from the buckets, linearly within one.
func (s *series) quantile(q float64) float64 {
	if s.count == 0 {
		return math.NaN()
	}
	rank := q * float64(s.count)
	i := sort.Search(len(s.buckets), func(i int) bool { return float64(s.buckets[i].count) >= rank && s.buckets[i].count > 0 })
	if i == len(s.buckets) {
		i--
	}
	lo, before := 0.0, uint64(0)
	if i > 0 {
		lo, before = s.buckets[i-1].upper, s.buckets[i-1].count
	}
	hi := s.buckets[i].upper
	if math.IsInf(hi, 1) {
		return lo // no better bound is known
	}
	in := s.buckets[i].count - before
	if in == 0 {
		return hi
	}
	return lo + (hi-lo)*max(0, rank-float64(before))/float64(in)
}
