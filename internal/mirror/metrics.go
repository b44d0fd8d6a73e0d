package mirror

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are registered as long as the Mirror runs.
type metrics struct {
	reg                   prometheus.Registerer
	all                   []prometheus.Collector
	hits, misses, refused prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, m *Mirror) (*metrics, error) {
	count := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	c := &metrics{
		reg:     reg,
		hits:    count("muster_mirror_hits_total", "Lookups that this agent answered from services that it keeps current."),
		misses:  count("muster_mirror_misses_total", "Lookups of services of which no server had sent the content in time."),
		refused: count("muster_mirror_refused_total", "Lookups of services beyond the number that this agent can keep current."),
	}
	c.all = []prometheus.Collector{c.hits, c.misses, c.refused,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "muster_mirror_services", Help: "Services that this agent keeps current.",
		}, func() float64 { return float64(m.followed()) }),
	}
	if reg == nil {
		return c, nil
	}
	for k, x := range c.all {
		if err := reg.Register(x); err != nil {
			c.all = c.all[:k]
			c.unregister()
			return nil, fmt.Errorf("register metrics of the mirror: %w", err)
		}
	}
	return c, nil
}

func (c *metrics) unregister() {
	if c.reg == nil {
		return
	}
	for _, x := range c.all {
		c.reg.Unregister(x)
	}
}
