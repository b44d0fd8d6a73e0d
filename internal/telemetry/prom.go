package telemetry

import (
	"fmt"
	"io"
	"math"
	"sort"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/proto"
)

// PromContentType is the content type of what WriteProm writes.
const PromContentType = "text/plain; version=0.0.4; charset=utf-8"

// WriteProm writes all metrics in the Prometheus text form, under our names and
// under those that Consul's dashboards expect.
func (t *Telemetry) WriteProm(w io.Writer) error {
	families, err := t.registry.Gather()
	if err != nil {
		return fmt.Errorf("gather metrics: %w", err)
	}
	families = append(families, familiesOf(expected(flatten(families), t.names.prom))...)
	sort.SliceStable(families, func(i, j int) bool { return families[i].GetName() < families[j].GetName() })
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(w, f); err != nil {
			return fmt.Errorf("write metrics: %w", err)
		}
	}
	return nil
}

// familiesOf builds families from series of the alias table. Samples become
// summaries, as Consul's are.
func familiesOf(list []series) []*dto.MetricFamily {
	var out []*dto.MetricFamily
	for _, s := range list {
		if n := len(out); n == 0 || out[n-1].GetName() != s.name {
			out = append(out, &dto.MetricFamily{
				Name: proto.String(s.name),
				Help: proto.String("The same as a metric of Muster, under the name Consul gives it."),
				Type: [...]dto.MetricType{dto.MetricType_GAUGE, dto.MetricType_COUNTER, dto.MetricType_SUMMARY}[s.form].Enum(),
			})
		}
		f := out[len(out)-1]
		f.Metric = append(f.Metric, metricOf(s))
	}
	return out
}

func metricOf(s series) *dto.Metric {
	m := &dto.Metric{}
	for _, l := range s.labels {
		m.Label = append(m.Label, &dto.LabelPair{Name: proto.String(l.name), Value: proto.String(l.value)})
	}
	switch s.form {
	case asGauge:
		m.Gauge = &dto.Gauge{Value: proto.Float64(s.value)}
	case asCounter:
		m.Counter = &dto.Counter{Value: proto.Float64(s.value)}
	case asSample:
		m.Summary = &dto.Summary{SampleCount: proto.Uint64(s.count), SampleSum: proto.Float64(s.sum)}
		for _, q := range []float64{0.5, 0.9, 0.99} {
			v := s.quantile(q)
			if math.IsInf(v, 0) {
				v = math.NaN()
			}
			m.Summary.Quantile = append(m.Summary.Quantile, &dto.Quantile{Quantile: proto.Float64(q), Value: proto.Float64(v)})
		}
	}
	return m
}
