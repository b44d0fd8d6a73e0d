package httpapi

import (
	"time"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/wire"
)

func agentServices(c *call) error {
	services, err := filtered(c, wire.AgentServicesFilter, c.s.cfg.Local.Services())
	if err != nil {
		return err
	}
	answer := make(map[string]*wire.AgentService, len(services))
	for _, s := range services {
		answer[s.ID] = wire.AgentServiceOf(s, c.s.cfg.Datacenter)
	}
	return c.json(answer)
}

// agentService is one local service with a hash of its content. A reader that
// knows the hash waits until it is another.
func agentService(c *call) error {
	known, _ := c.get("hash")
	wait := c.s.cfg.MaxWait
	if c.wait != "" {
		d, err := parseWait(c.wait)
		if err != nil {
			return err
		}
		wait = min(d, wait)
	}
	var deadline <-chan time.Time
	if known != "" {
		t := time.NewTimer(wait)
		defer t.Stop()
		deadline = t.C
	}
	for {
		// Taken before the service is read, so that no change falls between.
		changed := c.s.cfg.Local.Watch(c.id)
		svc, ok := c.s.cfg.Local.Service(c.id)
		if !ok {
			return model.Errorf(model.KindNotFound, "unknown service ID: %s", c.id)
		}
		answer := wire.AgentServiceOf(svc, c.s.cfg.Datacenter)
		if answer.Hash() != known || deadline == nil {
			c.w.Header()["X-Consul-Contenthash"] = []string{answer.ContentHash}
			return c.json(answer)
		}
		select {
		case <-changed:
		case <-deadline:
			deadline = nil // answer with what there is
		case <-c.r.Context().Done():
			deadline = nil // the agent is shutting down, or nobody reads it
		}
	}
}

func agentServiceRegister(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	def, err := wire.DecodeServiceRequest(body)
	if err != nil {
		return err
	}
	setToken(def, c.tokenOf(c.r.Header))
	if err := c.s.cfg.Local.AddService(c.r.Context(), def, c.has("replace-existing-checks")); err != nil {
		return err
	}
	return c.nothing()
}

// setToken makes the caller's token that of a definition without one.
func setToken(def *model.ServiceDefinition, token string) {
	if token == "" || def == nil {
		return
	}
	if def.Token == "" {
		def.Token = token
	}
	for _, check := range def.Checks {
		if check.Token == "" {
			check.Token = token
		}
	}
	setToken(def.Sidecar, token)
}

func agentServiceDeregister(c *call) error {
	if err := c.s.cfg.Local.RemoveService(c.r.Context(), c.id); err != nil {
		return err
	}
	return c.nothing()
}

func agentServiceMaintenance(c *call) error {
	if err := c.need("Missing service ID"); err != nil {
		return err
	}
	on, reason, err := c.maintenance()
	if err != nil {
		return err
	}
	if err := c.s.cfg.Local.SetServiceMaintenance(c.r.Context(), c.id, on, reason); err != nil {
		return err
	}
	return c.nothing()
}
