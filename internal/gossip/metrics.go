package gossip

import (
	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	foreign   *prometheus.CounterVec
	coalesced *prometheus.CounterVec
	events    *prometheus.CounterVec

	accusations *prometheus.CounterVec
}

func newMetrics() *metrics {
	return &metrics{
		foreign: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_gossip_foreign_refused_total",
			Help: "Packets and streams refused because they came from another pool, for example Consul's.",
		}, []string{"pool", "kind"}),
		coalesced: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_gossip_events_coalesced_total",
			Help: "Member events that were merged with or replaced by a later one before they were read.",
		}, []string{"pool"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_gossip_events_total",
			Help: "Member events, by what happened.",
		}, []string{"pool", "type"}),
		accusations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_gossip_accusations_total",
			Help: "Times this agent held another for dead, or objected to being held for dead, by kind.",
		}, []string{"pool", "kind"}),
	}
}

func (m *metrics) collectors(pools *Pools) []prometheus.Collector {
	return []prometheus.Collector{m.foreign, m.coalesced, m.events, m.accusations, memberCollector{pools}}
}

var membersDesc = prometheus.NewDesc("muster_gossip_members", "Members of the pool, by state.", []string{"pool", "status"}, nil)

// memberCollector counts members when it is asked.
type memberCollector struct{ pools *Pools }

func (memberCollector) Describe(ch chan<- *prometheus.Desc) { ch <- membersDesc }

func (c memberCollector) Collect(ch chan<- prometheus.Metric) {
	for _, wan := range []bool{false, true} {
		p := c.pools.pool(wan)
		if p == nil {
			continue
		}
		var counts [StatusFailed + 1]int
		for _, m := range p.serf.Members() {
			if s := Status(m.Status); s > StatusNone && s <= StatusFailed {
				counts[s]++
			}
		}
		for s := StatusAlive; s <= StatusFailed; s++ {
			ch <- prometheus.MustNewConstMetric(membersDesc, prometheus.GaugeValue, float64(counts[s]), p.name(), s.String())
		}
	}
}
