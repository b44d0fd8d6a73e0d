package telemetry

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Registration remembers what was registered where, so that it can be undone: an agent
// may be started more than once in a process. The zero value has nothing.
type Registration struct {
	reg        prometheus.Registerer
	collectors []prometheus.Collector
}

// Register registers all collectors or none. Without a registry it does nothing.
func Register(reg prometheus.Registerer, part string, collectors ...prometheus.Collector) (Registration, error) {
	r := Registration{reg: reg}
	if reg == nil {
		return r, nil
	}
	for _, c := range collectors {
		if err := reg.Register(c); err != nil {
			r.Unregister()
			return Registration{}, fmt.Errorf("%s: register metrics: %w", part, err)
		}
		r.collectors = append(r.collectors, c)
	}
	return r, nil
}

// Unregister undoes it. It may be called twice.
func (r *Registration) Unregister() {
	for _, c := range r.collectors {
		r.reg.Unregister(c)
	}
	r.collectors = nil
}
