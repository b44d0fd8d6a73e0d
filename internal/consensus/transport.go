package consensus

import (
	"errors"
	"io"
	"syscall"
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
	return freshVotes{raft.NewNetworkTransportWithConfig(config)}
}

// freshVotes asks for a vote again when the connection was an old one. The transport
// keeps idle connections, and one to a server that has been restarted since fails when
// it is used. Raft counts that as a vote refused, and a candidate that lacks it waits
// for a whole election timeout. To ask twice is harmless: the answer is the same.
type freshVotes struct{ *raft.NetworkTransport }

// RequestVote implements raft.Transport.
func (t freshVotes) RequestVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	return again(func() error { return t.NetworkTransport.RequestVote(id, target, args, resp) })
}

// RequestPreVote implements raft.WithPreVote.
func (t freshVotes) RequestPreVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	return again(func() error { return t.NetworkTransport.RequestPreVote(id, target, args, resp) })
}

// again repeats a call while it fails for a connection that has ended, once for each
// that may be idle. A failed one is not kept.
func again(call func() error) (err error) {
	for range poolSize + 1 {
		if err = call(); !ended(err) {
			break
		}
	}
	return err
}

func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// addressOf resolves server ids when they are dialed. If it fails Raft takes the
// address in its configuration.
type addressOf func(serverID string) (string, error)

func (f addressOf) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	addr, err := f(string(id))
	return raft.ServerAddress(addr), err
}
