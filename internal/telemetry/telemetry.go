package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Config is what a Telemetry is made from.
type Config struct {
	Level  string    // trace, debug, info, warn, error; empty: info
	JSON   bool      // log JSON lines
	Output io.Writer // nil: standard output

	Prefix          string // of Consul's metric names; empty: consul
	Hostname        string // in the names of gauges; empty: the host's
	DisableHostname bool   // no host name in the names of gauges
}

// Telemetry is the log and the metrics of one agent.
type Telemetry struct {
	log      *sink
	registry *prometheus.Registry
	names    naming

	mu     sync.Mutex
	window *window // what counters had at the start of the current interval
}

// New makes a log and a registry with the metrics of the Go runtime and the process.
func New(c Config) (*Telemetry, error) {
	if c.Output == nil {
		c.Output = os.Stdout
	}
	level, err := ParseLevel(c.Level)
	if err != nil {
		return nil, err
	}
	if c.Prefix == "" {
		c.Prefix = "consul"
	}
	if c.Hostname == "" {
		// Without a name the gauges go without it, too.
		c.Hostname, _ = os.Hostname()
	}
	if c.DisableHostname {
		c.Hostname = ""
	}
	t := &Telemetry{
		log:      newSink(c.Output, level, c.JSON),
		registry: prometheus.NewRegistry(),
		names:    naming{prefix: c.Prefix, host: c.Hostname},
		window:   &window{since: time.Now()},
	}
	t.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return t, nil
}

// Registry is where parts register their metrics.
func (t *Telemetry) Registry() *prometheus.Registry { return t.registry }

// Logger is a part's logger. The component stands in front of each message.
func (t *Telemetry) Logger(component string) *slog.Logger {
	return slog.New(&handler{sink: t.log, component: component})
}

// SetLevel changes what is logged, for a reload.
func (t *Telemetry) SetLevel(level string) error {
	l, err := ParseLevel(level)
	if err != nil {
		return err
	}
	t.log.setLevel(l)
	return nil
}

// LevelTrace is below slog's levels: every step of everything.
const LevelTrace = slog.Level(-8)

// ParseLevel reads a level as Consul spells it, in any case.
func ParseLevel(s string) (slog.Level, error) {
	switch strings.ToLower(s) {
	case "trace":
		return LevelTrace, nil
	case "debug":
		return slog.LevelDebug, nil
	case "", "info":
		return slog.LevelInfo, nil
	case "warn", "warning":
		return slog.LevelWarn, nil
	case "err", "error":
		return slog.LevelError, nil
	}
	return 0, fmt.Errorf("unknown log level %q: want trace, debug, info, warn or error", s)
}
