package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"
)

const (
	aliveTTL   = 30 * time.Second
	aliveEvery = 10 * time.Second
)

// agentService shows a snapshot agent in the catalog: that it is there, and, on the
// one that saves, whether that works. Nothing depends on it: failures are only told.
type agentService struct {
	client *api.Client
	conf   *agentSettings
	log    *slog.Logger

	shown bool // the check of saving is registered; run's alone

	mu      sync.Mutex
	saving  bool  // this agent holds the lock
	failure error // of the last attempt
}

func (a *agentService) id() string {
	host, _ := os.Hostname()
	return a.conf.service + ":" + host + ":" + fmt.Sprint(os.Getpid())
}

// saved notes how an attempt went.
func (a *agentService) saved(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.saving, a.failure = true, err
}

func (a *agentService) standBy() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.saving, a.failure = false, nil
}

// run registers the service, keeps its checks up to date, and removes it at the end.
func (a *agentService) run(ctx context.Context) {
	tick := time.NewTicker(aliveEvery)
	defer tick.Stop()
	told := ""
	for {
		text := ""
		if err := a.update(); err != nil {
			text = err.Error()
		}
		if text != told && text != "" {
			a.log.Warn("cannot show this snapshot agent in the catalog", "err", text)
		}
		told = text
		select {
		case <-tick.C:
		case <-ctx.Done():
			_ = a.client.Agent().ServiceDeregister(a.id()) // else it goes critical, and is removed later
			return
		}
	}
}

// update reports on both checks, and registers what the local agent does not have.
func (a *agentService) update() error {
	err := a.report(a.id()+":alive", nil, func(check string) error {
		return a.client.Agent().ServiceRegister(&api.AgentServiceRegistration{
			ID: a.id(), Name: a.conf.service,
			Check: &api.AgentServiceCheck{
				CheckID: check, Name: "Snapshot agent alive", TTL: aliveTTL.String(),
				DeregisterCriticalServiceAfter: a.conf.deregisterAfter.String(),
			},
		})
	})
	if err != nil {
		return err
	}
	a.mu.Lock()
	saving, failure := a.saving, a.failure
	a.mu.Unlock()
	check := a.id() + ":saving"
	if !saving {
		if a.shown {
			a.shown = a.client.Agent().CheckDeregister(check) != nil
		}
		return nil
	}
	a.shown = true
	return a.report(check, failure, func(check string) error {
		return a.client.Agent().CheckRegister(&api.AgentCheckRegistration{
			ID: check, Name: "Snapshot agent saving snapshots", ServiceID: a.id(),
			AgentServiceCheck: api.AgentServiceCheck{TTL: aliveTTL.String()},
		})
	})
}

func (a *agentService) report(check string, failure error, register func(check string) error) error {
	status, output := api.HealthPassing, ""
	if failure != nil {
		status, output = api.HealthCritical, failure.Error()
	}
	if a.client.Agent().UpdateTTL(check, output, status) == nil {
		return nil
	}
	if err := register(check); err != nil {
		return err
	}
	return a.client.Agent().UpdateTTL(check, output, status)
}
