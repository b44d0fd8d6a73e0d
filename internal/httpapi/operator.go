package httpapi

import "github.com/muster-discovery/muster/internal/wire"

// operatorRaftConfiguration lists the servers that take part in consensus, as this
// server knows them.
func operatorRaftConfiguration(c *call) error {
	if err := c.ownDatacenter(); err != nil {
		return err
	}
	return c.json(wire.RaftConfiguration{Servers: c.s.cfg.Agent.RaftServers()})
}
