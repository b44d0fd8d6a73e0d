package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/muster-discovery/muster/internal/model"
)

const defaultCallTimeout = 10 * time.Second

// PoolConfig is what NewPool needs.
type PoolConfig struct {
	// Resolve finds a server's address by its id. It is asked at each dial, so
	// that servers may move; calls may overlap.
	Resolve    func(serverID string) (addr string, err error)
	Datacenter string
	NodeName   string // the caller's, for the other side's log
	Dialer     *Dialer
	// Admit is asked before each call; nil: all are made.
	Admit func() error
	// CallTimeout bounds calls whose context has no deadline; 0: 10 s, which is longer
	// than an election, so that a write can outlive one.
	CallTimeout time.Duration
	Logger      *slog.Logger
	Registry    prometheus.Registerer
}

// Pool keeps connections to other servers, one to each, dialled when first used.
// All methods may be called at the same time.
type Pool struct {
	cfg PoolConfig
	m   *poolMetrics

	mu     sync.Mutex
	conns  map[string]*grpc.ClientConn
	closed bool
}

// NewPool makes an empty pool. The caller must close it.
func NewPool(cfg PoolConfig) (*Pool, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Logger = cfg.Logger.With("component", "rpc")
	if cfg.Dialer == nil {
		cfg.Dialer = &Dialer{}
	}
	if cfg.CallTimeout <= 0 {
		cfg.CallTimeout = defaultCallTimeout
	}
	m, err := newPoolMetrics(cfg.Registry)
	if err != nil {
		return nil, err
	}
	return &Pool{cfg: cfg, m: m, conns: make(map[string]*grpc.ClientConn)}, nil
}

// Conn is the connection to a server, for services beyond this package's own calls.
func (p *Pool) Conn(serverID string) (grpc.ClientConnInterface, error) { return p.conn(serverID) }

// conn is the connection to a server, made if there is none. It does not dial.
func (p *Pool) conn(serverID string) (*grpc.ClientConn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, model.Errorf(model.KindUnavailable, "the connections to other servers are closed: the agent is stopping")
	}
	if c := p.conns[serverID]; c != nil {
		return c, nil
	}
	c, err := grpc.NewClient("passthrough:///"+serverID, p.dialOptions(serverID)...)
	if err != nil {
		return nil, fmt.Errorf("connect to server %s: %w", serverID, err)
	}
	p.conns[serverID] = c
	return c, nil
}

func (p *Pool) dialOptions(serverID string) []grpc.DialOption {
	return []grpc.DialOption{
		// Encryption is the Dialer's matter: its Wrap.
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return p.dial(ctx, serverID) }),
		grpc.WithNoProxy(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
			MinConnectTimeout: dialTimeout,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout, PermitWithoutStream: true}),
		grpc.WithInitialWindowSize(window),
		grpc.WithInitialConnWindowSize(window),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
	}
}

func (p *Pool) dial(ctx context.Context, serverID string) (net.Conn, error) {
	addr, err := p.cfg.Resolve(serverID)
	if err != nil {
		return nil, fmt.Errorf("find server %s: %w", serverID, err)
	}
	conn, err := p.cfg.Dialer.Dial(ctx, addr, KindGRPC)
	if err != nil {
		p.cfg.Logger.Debug("dial failed", "peer", serverID, "addr", addr, "err", err)
	}
	return conn, err
}

// Hint says that a server may be reachable again, for example because its member
// joined: a connection that is waiting before its next dial tries at once.
func (p *Pool) Hint(serverID string) {
	p.mu.Lock()
	c := p.conns[serverID]
	p.mu.Unlock()
	if c != nil {
		c.ResetConnectBackoff()
	}
}

// Remove closes the connection to a server that is gone for good. Calls under
// way on it fail.
func (p *Pool) Remove(serverID string) {
	p.mu.Lock()
	c := p.conns[serverID]
	delete(p.conns, serverID)
	p.mu.Unlock()
	if c != nil {
		_ = c.Close() // fails only if it is closed already
	}
}

// Close closes all connections. Calls under way fail, and so do later ones.
func (p *Pool) Close() error {
	p.mu.Lock()
	conns := p.conns
	p.conns, p.closed = nil, true
	p.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
	p.m.Unregister()
	return nil
}
