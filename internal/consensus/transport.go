package consensus

import (
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const (
	// poolSize is how many idle connections to a peer are kept.
	poolSize = 3
	// rpcTimeout bounds a call; for a snapshot Raft stretches it with the size.
	rpcTimeout = 10 * time.Second
)

func newTransport(c *Config, logger hclog.Logger) raft.Transport {
	if c.transport != nil {
		return c.transport
	}
	if c.Stream == nil {
		_, t := raft.NewInmemTransport(raft.ServerAddress(c.NodeID))
		return t
	}
	config := &raft.NetworkTransportConfig{
		Logger:                  logger,
		Stream:                  c.Stream,
		MaxPool:                 poolSize,
		Timeout:                 rpcTimeout,
		MsgpackUseNewTimeFormat: true,
	}
	if c.AddressOf != nil {
		config.ServerAddressProvider = addressOf(c.AddressOf)
	}
	return raft.NewNetworkTransportWithConfig(config)
}

// addressOf resolves server ids when they are dialed. If it fails Raft takes the
// address in its configuration.
type addressOf func(serverID string) (string, error)

func (f addressOf) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	addr, err := f(string(id))
	return raft.ServerAddress(addr), err
}
