package streamapi

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/muster-discovery/muster/internal/consumer"
	"github.com/muster-discovery/muster/internal/discovery"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
	v1 "github.com/muster-discovery/muster/proto/muster/discovery/v1"
)

// Lookup is the read path. Calls may overlap.
type Lookup interface {
	OpenStream(token string) (*lookup.Stream, error)
	Prepare(e *view.Encoder, q lookup.Question) (*view.Variant, error)
}

// Gate is where streams wait for their turn to get a snapshot: when many come at once,
// as after a restart, some are served and the others wait. Leave may be called more
// than once.
type Gate interface {
	Enter(ctx context.Context) (leave func(), err error)
}

// Config is what the service needs.
type Config struct {
	Lookup    Lookup
	Gate      Gate // nil: nobody waits
	Consumers *consumer.Registry
	Node      string // the own one, told to clients
	Logger    *slog.Logger
	// SendTimeout is how long a client may leave one message unread before its stream
	// is ended; 0: 20 s.
	SendTimeout time.Duration
}

// Service answers muster.discovery.v1. It may be registered at several servers.
type Service struct {
	v1.UnimplementedDiscoveryServer
	cfg  Config
	open sync.WaitGroup
}

// New makes the service.
func New(c Config) *Service {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.SendTimeout <= 0 {
		c.SendTimeout = 20 * time.Second
	}
	return &Service{cfg: c}
}

// Register adds the service to a gRPC server that is not serving yet.
func (s *Service) Register(r grpc.ServiceRegistrar) { v1.RegisterDiscoveryServer(r, s) }

// Wait returns when nothing of any stream runs any more. It is for after the servers
// have stopped: calls alone end a moment earlier.
func (s *Service) Wait() { s.open.Wait() }

// Watch implements v1.DiscoveryServer.
func (s *Service) Watch(stream grpc.BidiStreamingServer[v1.WatchRequest, v1.WatchResponse]) error {
	c, err := s.begin(stream)
	if err != nil {
		return status.Error(codeOf(err), err.Error())
	}
	ended := make(chan error, 1)
	s.open.Go(func() { ended <- c.run() })
	s.open.Go(c.read)
	select {
	case err := <-ended:
		return err
	case <-c.stuck:
		// Returning ends the stream, and with it the write that hangs.
		return status.Errorf(codes.ResourceExhausted, "nothing was read from the stream for %s: read faster, or resume", s.cfg.SendTimeout)
	}
}

func (s *Service) begin(stream grpc.BidiStreamingServer[v1.WatchRequest, v1.WatchResponse]) (*session, error) {
	look, err := s.cfg.Lookup.OpenStream(tokenOf(stream.Context()))
	if err != nil {
		return nil, err
	}
	info := consumer.Info{Protocol: consumer.GRPC}
	if p, ok := peer.FromContext(stream.Context()); ok {
		info.Address = p.Addr.String()
	}
	who, err := s.cfg.Consumers.Open(info)
	if err != nil {
		look.Close()
		return nil, err
	}
	c := &session{
		service: s, stream: stream, look: look, consumer: who, beat: defaultBeat,
		marks: make(map[uint64]*consumer.Watch), requests: make(chan *v1.WatchRequest, 64), stuck: make(chan struct{}),
	}
	c.patience = time.AfterFunc(s.cfg.SendTimeout, sync.OnceFunc(func() { close(c.stuck) }))
	c.patience.Stop()
	return c, nil
}

func tokenOf(ctx context.Context) string {
	if v := metadata.ValueFromIncomingContext(ctx, discovery.TokenKey); len(v) > 0 {
		return v[0]
	}
	return ""
}

// codeOf is the table from error kinds to gRPC.
func codeOf(err error) codes.Code {
	switch model.KindOf(err) {
	case model.KindInvalid:
		return codes.InvalidArgument
	case model.KindNotFound:
		return codes.NotFound
	case model.KindDenied:
		return codes.PermissionDenied
	case model.KindConflict:
		return codes.FailedPrecondition
	case model.KindTooLarge, model.KindLimit:
		return codes.ResourceExhausted
	case model.KindNotLeader, model.KindNoLeader, model.KindNoQuorum, model.KindUnavailable, model.KindNoPath:
		return codes.Unavailable
	}
	return codes.Internal
}
