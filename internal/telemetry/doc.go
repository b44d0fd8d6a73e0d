// Package telemetry sets up the agent's log and its metrics.
//
// The log is log/slog with lines in the shape of Consul's, which people and tools
// read; whoever wants to follow it attaches a tap. Metrics are a Prometheus
// registry that is passed to the parts, never a global one. Their names are ours;
// one table gives the names that existing dashboards expect. The package starts no
// goroutine.
package telemetry
