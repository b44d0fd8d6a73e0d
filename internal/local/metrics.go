package local

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	writes      *prometheus.CounterVec
	comparisons *prometheus.CounterVec
	pending     prometheus.Gauge
	reaped      prometheus.Counter
	stateErrors prometheus.Counter
}

// newMetrics registers with r unless it is nil.
func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_local_catalog_writes_total",
			Help: "Writes of this agent's registrations to the catalog, by result: ok, unavailable (tried again soon) or refused.",
		}, []string{"result"}),
		comparisons: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_local_comparisons_total",
			Help: "Full comparisons of this agent's registrations with the catalog, by result.",
		}, []string{"result"}),
		pending: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "muster_local_pending_writes",
			Help: "Services whose state the catalog does not have yet.",
		}),
		reaped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_local_reaped_services_total",
			Help: "Services removed because a check was critical for too long.",
		}),
		stateErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_local_state_write_errors_total",
			Help: "Check states that could not be written to disk.",
		}),
	}
	if r != nil {
		r.MustRegister(m.writes, m.comparisons, m.pending, m.reaped, m.stateErrors)
	}
	return m
}

func result(err error) string {
	switch {
	case err == nil:
		return "ok"
	case transient(err):
		return "unavailable"
	}
	return "refused"
}

func (m *metrics) write(err error) { m.writes.WithLabelValues(result(err)).Inc() }

func (m *metrics) compared(err error) { m.comparisons.WithLabelValues(result(err)).Inc() }
