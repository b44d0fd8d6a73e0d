package agent

import (
	"context"
	"encoding/binary"
	"net"
	"time"

	"github.com/muster-discovery/muster/internal/config"
	"github.com/muster-discovery/muster/internal/limit"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/rpc"
	"github.com/muster-discovery/muster/internal/rpcapi"
	"github.com/muster-discovery/muster/internal/streamapi"
	"github.com/muster-discovery/muster/internal/telemetry"
)

// This file puts the limits in front of what they bound.

func newLimits(cfg *config.Config, tel *telemetry.Telemetry) *limit.Limits {
	return limit.New(limitConfig(cfg), tel.Logger("limit"), tel.Registry())
}

// limitConfig reads the settings. Rates of requests are for servers, the rate of calls
// is for client agents.
func limitConfig(cfg *config.Config) limit.Config {
	l := cfg.Limits
	c := limit.Config{
		RPCRate: l.RPCRate, RPCMaxBurst: l.RPCBurst,
		Mode: limit.ParseMode(l.RequestMode), ReadRate: l.RequestReadRate, WriteRate: l.RequestWriteRate,
		HTTPMaxConns: l.HTTPConnsPerClient, RPCMaxConns: l.RPCConnsPerClient,
	}
	if cfg.Server.Enabled {
		c.RPCRate = -1
	} else {
		c.Mode = limit.Disabled
	}
	return c
}

// requests are the rates as HTTP asks for them.
type requests struct{ *limit.Limits }

func (r requests) Read() error  { return r.Reads.Admit() }
func (r requests) Write() error { return r.Writes.Admit() }

// limitedReads counts what other agents ask this server for. What servers ask the leader
// on behalf of many readers at once is not counted: each has counted its readers.
type limitedReads struct {
	rpcapi.Reader
	limits *limit.Limits
}

func (r limitedReads) Read(ctx context.Context, q *rpc.Question) (*rpc.Answer, [][]byte, error) {
	if err := r.limits.Reads.Admit(); err != nil {
		return nil, nil, err
	}
	return r.Reader.Read(ctx, q)
}

// limitedWrites counts what other agents hand on to this server.
type limitedWrites struct {
	rpcapi.Applier
	limits *limit.Limits
}

func (w limitedWrites) ForwardedApply(ctx context.Context, token string, command []byte) (uint64, []byte, error) {
	if err := w.limits.Writes.Admit(); err != nil {
		return 0, nil, err
	}
	return w.Applier.ForwardedApply(ctx, token, command)
}

func (w limitedWrites) RelayedApply(ctx context.Context, token string, command []byte) (uint64, []byte, error) {
	if err := w.limits.Writes.Admit(); err != nil {
		return 0, nil, err
	}
	return w.Applier.RelayedApply(ctx, token, command)
}

// limitedStreams counts the streams that begin.
type limitedStreams struct {
	streamapi.Lookup
	limits *limit.Limits
}

func (s limitedStreams) OpenStream(token string) (*lookup.Stream, error) {
	if err := s.limits.Reads.Admit(); err != nil {
		return nil, err
	}
	return s.Lookup.OpenStream(token)
}

// refuseGRPC closes a connection of a gRPC client with the reason in HTTP/2's words:
// empty settings, and a GOAWAY that tells to be calmer.
func refuseGRPC(conn net.Conn, reason error) {
	const settings, goAway, enhanceYourCalm = 4, 7, 11
	text := reason.Error()
	b := []byte{0, 0, 0, settings, 0, 0, 0, 0, 0}
	b = append(b, 0, byte((len(text)+8)>>8), byte(len(text)+8), goAway, 0, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, 0) // no call was taken
	b = binary.BigEndian.AppendUint32(b, enhanceYourCalm)
	_ = conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	_, _ = conn.Write(append(b, text...))
	_ = conn.Close()
}
