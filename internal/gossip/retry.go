package gossip

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"
)

// RetryConfig tells RetryJoin what to do.
type RetryConfig struct {
	Addrs       []string // as for Join; names are resolved again at each attempt
	WAN         bool
	Interval    time.Duration // longest pause between attempts; 0: 30 s
	MaxAttempts int           // 0: for ever
}

// firstPause is the pause after the first failed attempt. Servers that start
// together need a moment to listen, not the whole interval.
const firstPause = 500 * time.Millisecond

// RetryJoin joins until one address answers, with growing, jittered pauses. It
// returns nil on success, the context's error when told to stop, and the last
// attempt's when it gives up after MaxAttempts.
func (p *Pools) RetryJoin(ctx context.Context, rc RetryConfig) error {
	logger := p.cfg.Logger.With("pool", poolName(rc.WAN))
	for attempt := 1; ; attempt++ {
		n, err := p.Join(rc.Addrs, rc.WAN)
		if err == nil {
			logger.Info("joined", "count", n, "attempt", attempt)
			return nil
		}
		if rc.MaxAttempts > 0 && attempt >= rc.MaxAttempts {
			return fmt.Errorf("retry_join: gave up after %d attempts: %w", attempt, err)
		}
		pause := backoff(attempt, first(rc.Interval, 30*time.Second))
		logger.Warn("join failed, will retry", "err", oneLine(err), "attempt", attempt, "duration", pause, "remedy", rendezvousRemedy(rc.Addrs))
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// backoff doubles from firstPause to limit, and takes between half and all of it.
func backoff(attempt int, limit time.Duration) time.Duration {
	d := limit
	if attempt < 16 { // beyond, the shift would exceed any sane limit anyway
		d = min(limit, firstPause<<(attempt-1))
	}
	return d/2 + rand.N(d/2+1)
}

// rendezvousRemedy points out that fixed addresses are no help if all servers
// come back under new ones.
func rendezvousRemedy(addrs []string) string {
	for _, a := range addrs {
		host := a
		if h, _, err := net.SplitHostPort(a); err == nil {
			host = h
		}
		if net.ParseIP(strings.Trim(host, "[]")) == nil {
			return "check that the agents at these addresses run and that the gossip port is open on TCP and UDP"
		}
	}
	return "check that the agents at these addresses run; if all servers may get new addresses, add a name that always leads to one of them to retry_join"
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
