package consumer

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Kinds of events, as labels.
const (
	Snapshot  = "snapshot"
	Delta     = "delta"
	Heartbeat = "heartbeat"
	Reset     = "reset"
	Error     = "error"
)

// Protocols, as labels.
const (
	SSE  = "sse"
	GRPC = "grpc"
)

type metrics struct {
	open, watches            *prometheus.GaugeVec
	events                   *prometheus.CounterVec
	bytes, conflated, resume *prometheus.CounterVec
	byProtocol               map[string]*counts
}

// counts are the metrics of one protocol, looked up once.
type counts struct {
	open, watches    prometheus.Gauge
	events           map[string]prometheus.Counter
	bytes, conflated prometheus.Counter
	resumed, lost    prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"protocol"}, labels...))
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"protocol"})
	}
	m := &metrics{
		open:      gauge("muster_stream_open", "Streams that are open, by protocol."),
		watches:   gauge("muster_stream_watches", "Watches on open streams, by protocol."),
		events:    counter("muster_stream_events_total", "Events sent on streams, by kind.", "kind"),
		bytes:     counter("muster_stream_bytes_total", "Bytes of events sent on streams, before compression and framing."),
		conflated: counter("muster_stream_conflations_total", "Deltas that hold several changes, since their consumer or the server was behind."),
		resume:    counter("muster_stream_resumes_total", "Watches that asked to go on from an index, by whether that was possible.", "result"),
		byProtocol: map[string]*counts{
			SSE: nil, GRPC: nil,
		},
	}
	for protocol := range m.byProtocol {
		c := &counts{
			open: m.open.WithLabelValues(protocol), watches: m.watches.WithLabelValues(protocol),
			events: make(map[string]prometheus.Counter),
			bytes:  m.bytes.WithLabelValues(protocol), conflated: m.conflated.WithLabelValues(protocol),
			resumed: m.resume.WithLabelValues(protocol, "resumed"), lost: m.resume.WithLabelValues(protocol, "reset"),
		}
		for _, kind := range []string{Snapshot, Delta, Heartbeat, Reset, Error} {
			c.events[kind] = m.events.WithLabelValues(protocol, kind)
		}
		m.byProtocol[protocol] = c
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.open, m.watches, m.events, m.bytes, m.conflated, m.resume} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of streams: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) of(protocol string) *counts { return m.byProtocol[protocol] }

// Count notes an event of a kind with its size.
func (s *Stream) Count(kind string, bytes int) {
	s.counts.events[kind].Inc()
	s.counts.bytes.Add(float64(bytes))
}

// Conflated notes a delta that holds several changes.
func (s *Stream) Conflated() { s.counts.conflated.Inc() }

// Resumed notes that a watch went on from an index, or could not.
func (s *Stream) Resumed(possible bool) {
	if possible {
		s.counts.resumed.Inc()
	} else {
		s.counts.lost.Inc()
	}
}
