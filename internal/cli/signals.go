package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/muster-discovery/muster/internal/config"
)

// osSignals are the signals that concern an agent.
func osSignals() (c <-chan os.Signal, stop func()) {
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return ch, func() { signal.Stop(ch) }
}

// watchSignals serves signals until ended is closed. The first SIGINT or SIGTERM
// stops the agent in good order, a second one ends the process.
func (p *process) watchSignals(ctx context.Context, cancel context.CancelCauseFunc, cfg *config.Config, started <-chan running, ended <-chan struct{}) {
	signals, stop := p.signals()
	defer stop()
	// Reloading has its own goroutine, so that it can't hold up a stop. One more
	// reload may wait; further ones would read the same files.
	hangups := make(chan running, 1)
	reloader := make(chan struct{})
	go func() {
		defer close(reloader)
		for agent := range hangups {
			p.hangup(ctx, agent)
		}
	}()
	defer func() { <-reloader }()
	defer close(hangups)

	var changed chan struct{} // never, unless the files are watched
	if cfg.Lifecycle.AutoReload {
		changed = make(chan struct{})
		watching := make(chan struct{})
		watchCtx, stopWatching := context.WithCancel(ctx)
		go func() {
			defer close(watching)
			watchFiles(watchCtx, p.options.Paths, p.read, changed)
		}()
		defer func() { stopWatching(); <-watching }()
	}

	log := p.tel.Logger("agent")
	var agent running
	stopping := false
	for {
		select {
		case <-ended:
			return
		case agent = <-started:
		case <-changed:
			log.Info("configuration files have changed, reloading")
			agent = reloadSoon(agent, started, hangups)
		case s := <-signals:
			switch {
			case s == syscall.SIGHUP:
				agent = reloadSoon(agent, started, hangups)
			case stopping:
				log.Warn("second signal, stopping at once", "signal", s.String())
				p.exit(1)
				return
			default:
				stopping = true
				leave := leaves(s, cfg.Lifecycle)
				log.Info("stopping; a second signal stops at once", "signal", s.String(), "leave", leave)
				cancel(cause(leave))
			}
		}
	}
}

// reloadSoon asks for a reload of the agent, which it returns if it runs by now.
func reloadSoon(agent running, started <-chan running, hangups chan<- running) running {
	if agent == nil {
		select {
		case agent = <-started:
		default:
		}
	}
	select {
	case hangups <- agent:
	default:
	}
	return agent
}

func cause(leave bool) error {
	if leave {
		return errLeave
	}
	return context.Canceled
}

// leaves says whether a signal means to leave the cluster for good.
func leaves(s os.Signal, l config.Lifecycle) bool {
	if s == os.Interrupt {
		return !l.SkipLeaveOnInterrupt
	}
	return l.LeaveOnTerminate
}

func (p *process) hangup(ctx context.Context, agent running) {
	log := p.tel.Logger("agent")
	if agent == nil {
		log.Warn("not reloading: the agent is still starting")
		return
	}
	if err := agent.Reload(ctx); err != nil {
		log.Error("configuration not reloaded, the old one stays in force", "err", err)
	}
}
