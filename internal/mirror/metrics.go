package mirror

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-discovery/muster/internal/telemetry"
)

// metrics are registered as long as the Mirror runs.
type metrics struct {
	telemetry.Registration
	hits, misses, refused prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, m *Mirror) (*metrics, error) {
	count := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	c := &metrics{
		hits:    count("muster_mirror_hits_total", "Lookups that this agent answered from services that it keeps current."),
		misses:  count("muster_mirror_misses_total", "Lookups of services of which no server had sent the content in time."),
		refused: count("muster_mirror_refused_total", "Lookups of services beyond the number that this agent can keep current."),
	}
	var err error
	c.Registration, err = telemetry.Register(reg, "mirror",
		c.hits, c.misses, c.refused,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "muster_mirror_services", Help: "Services that this agent keeps current.",
		}, func() float64 { return float64(m.followed()) }),
	)
	return c, err
}
