package rpc

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-discovery/muster/internal/telemetry"
)

type muxMetrics struct {
	telemetry.Registration
	accepted *prometheus.CounterVec
	refused  *prometheus.CounterVec
}

func newMuxMetrics(reg prometheus.Registerer, p *pending) (*muxMetrics, error) {
	m := &muxMetrics{
		accepted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_rpc_connections_accepted_total",
			Help: "Connections accepted on the server port, by kind.",
		}, []string{"kind"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_rpc_connections_refused_total",
			Help: "Connections refused on the server port: foreign preamble, none in time, closed while silent to make room, nobody to serve them, or over a limit.",
		}, []string{"reason"}),
	}
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "muster_rpc_connections_pending",
		Help: "Connections on the server port whose preamble is outstanding.",
	}, func() float64 { return float64(p.len()) })
	var err error
	m.Registration, err = telemetry.Register(reg, "rpc", m.accepted, m.refused, waiting)
	return m, err
}

type poolMetrics struct {
	telemetry.Registration
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

func newPoolMetrics(reg prometheus.Registerer) (*poolMetrics, error) {
	m := &poolMetrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_rpc_calls_total",
			Help: "Calls to other servers, by method and result: ok, refused by the other side, not sent, or sent and not answered, or held back by a limit of this agent.",
		}, []string{"method", "result"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "muster_rpc_call_duration_seconds",
			Help:    "Duration of calls to other servers, by method.",
			Buckets: []float64{.0001, .0003, .001, .003, .01, .03, .1, .3, 1, 3, 10},
		}, []string{"method"}),
	}
	var err error
	m.Registration, err = telemetry.Register(reg, "rpc", m.calls, m.seconds)
	return m, err
}
