package limit

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/telemetry"
)

// Refusal is the error of a limit that was met.
type Refusal struct {
	err   model.Error
	after time.Duration
}

// Error is the text for the client.
func (r *Refusal) Error() string { return r.err.Text }

// Unwrap gives the kind.
func (r *Refusal) Unwrap() error { return &r.err }

// RetryAfter is how soon another try has a chance.
func (r *Refusal) RetryAfter() time.Duration { return r.after }

// meter counts what went over one limit, and has the log tell of it once a minute.
type meter struct {
	name     string // in metrics
	exceeded prometheus.Counter
	refused  prometheus.Counter // of those
	log      *slog.Logger
	rarely   telemetry.Rarely
}

// over is called for each request over the limit. With enforce it returns the error.
func (m *meter) over(enforce bool, after time.Duration, format string, args ...any) error {
	r := &Refusal{err: model.Error{Kind: model.KindLimit, Text: fmt.Sprintf(format, args...)}, after: after}
	m.exceeded.Inc()
	if enforce {
		m.refused.Inc()
	}
	if ok, count := m.rarely.Now(time.Now()); ok {
		m.log.Warn("over a limit", "limit", m.name, "refused", enforce, "count", count, "err", r.err.Text)
	}
	if !enforce {
		return nil
	}
	return r
}
