package httpapi

import (
	"github.com/muster-discovery/muster/internal/wire"
)

func agentChecks(c *call) error {
	checks, err := filtered(c, wire.AgentChecksFilter, c.s.cfg.Local.Checks())
	if err != nil {
		return err
	}
	answer := make(map[string]any, len(checks))
	for _, check := range checks {
		answer[check.ID] = wire.AgentCheckOf(check)
	}
	return c.json(answer)
}

func agentCheckRegister(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	def, err := wire.DecodeCheckRequest(body)
	if err != nil {
		return err
	}
	if def.Token == "" {
		def.Token = c.tokenOf(c.r.Header)
	}
	if err := c.s.cfg.Local.AddCheck(c.r.Context(), def); err != nil {
		return err
	}
	return c.nothing()
}

func agentCheckDeregister(c *call) error {
	if err := c.s.cfg.Local.RemoveCheck(c.r.Context(), c.id); err != nil {
		return err
	}
	return c.nothing()
}

// agentCheckReport makes the handler of one verdict of a TTL check's owner.
func agentCheckReport(status string) func(*call) error {
	return func(c *call) error {
		note, _ := c.get("note")
		if err := c.s.cfg.Local.UpdateTTL(c.r.Context(), c.id, status, note); err != nil {
			return err
		}
		return c.nothing()
	}
}

func agentCheckUpdate(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	u, err := wire.DecodeCheckUpdate(body)
	if err != nil {
		return err
	}
	if err := c.s.cfg.Local.UpdateTTL(c.r.Context(), c.id, u.Status, u.Output); err != nil {
		return err
	}
	return c.nothing()
}
