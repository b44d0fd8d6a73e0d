package discovery

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-discovery/muster/internal/telemetry"

	v1 "github.com/muster-discovery/muster/proto/muster/discovery/v1"
)

// metrics are the client's. They are registered as long as the Mux runs.
type metrics struct {
	telemetry.Registration
	events *prometheus.CounterVec
	resets prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, m *Mux) (*metrics, error) {
	c := &metrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_discovery_events_total",
			Help: "Events received on this agent's stream from the servers, by kind.",
		}, []string{"kind"}),
		resets: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_discovery_resets_total",
			Help: "Watches of this agent that could not be resumed and were sent anew.",
		}),
	}
	count := func(f func() float64, name, help string) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f)
	}
	var err error
	c.Registration, err = telemetry.Register(reg, "discovery",
		c.events, c.resets,
		count(func() float64 {
			m.mu.Lock()
			defer m.mu.Unlock()
			return float64(len(m.watches))
		}, "muster_discovery_watches", "Services that this agent follows at the servers."),
		count(func() float64 {
			if m.Healthy() {
				return 1
			}
			return 0
		}, "muster_discovery_synchronized", "1 if all that this agent follows is up to date."),
	)
	return c, err
}

// kindOf is an event's kind as a label.
func kindOf(r *v1.WatchResponse) string {
	switch r.GetEvent().(type) {
	case *v1.WatchResponse_Started:
		return "started"
	case *v1.WatchResponse_Snapshot:
		return "snapshot"
	case *v1.WatchResponse_Delta:
		return "delta"
	case *v1.WatchResponse_Heartbeat:
		return "heartbeat"
	case *v1.WatchResponse_Reset_:
		return "reset"
	case *v1.WatchResponse_Error:
		return "error"
	}
	return "unknown"
}
