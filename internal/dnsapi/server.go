package dnsapi

import (
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Server answers DNS questions. Make it with New, start it with Listen and Run.
type Server struct {
	config   Config
	zones    *zones
	log      *slog.Logger
	lookup   Lookup
	settings atomic.Pointer[settings]
	metrics  *metrics
	shared   *counters // of TCP and the general path

	pending  chan struct{} // a place for each datagram on the general path
	conns    chan struct{} // a place for each TCP connection
	scanning chan struct{} // a place for who looks through all services
	decks    sync.Pool
	workers  sync.Pool // of TCP connections

	listeners []*listener
	running   sync.WaitGroup // goroutines that Run waits for

	troubled atomic.Int64 // when the last trouble was logged, in Unix seconds
}

// New checks the config and makes a server, which does not listen yet.
func New(c Config) (*Server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	z, err := newZones(c.Domain, c.AltDomain, c.Datacenter)
	if err != nil {
		return nil, err
	}
	s := &Server{
		config: c, zones: z, log: c.Logger, lookup: c.Lookup,
		pending:  make(chan struct{}, max(c.Pending, 1)),
		conns:    make(chan struct{}, max(c.TCPConns, 1)),
		scanning: make(chan struct{}, 1),
	}
	s.metrics, err = newMetrics(c.Registry)
	if err != nil {
		return nil, err
	}
	s.shared = s.metrics.counters(pathGeneral)
	tcp := s.metrics.counters(pathHot)
	s.decks.New = func() any { return newDeck() }
	s.workers.New = func() any { return s.newWorker(tcp, connPlans) }
	s.Reload(c.Settings)
	return s, nil
}

// Reload replaces the settings. Questions under way end with the old ones.
func (s *Server) Reload(set Settings) {
	set.Recursors = s.others(set.Recursors)
	next := newSettings(set)
	if old := s.settings.Load(); old != nil && old.RateLimit.equal(set.RateLimit) {
		next.limiter = old.limiter // who was over the limit stays so
	} else {
		next.limiter = newLimiter(set.RateLimit)
	}
	s.settings.Store(next)
}

// others leaves out recursors that are this server itself: a question for another
// zone would go round until its time is over.
func (s *Server) others(recursors []string) []string {
	var out []string
	for _, r := range recursors {
		if slices.ContainsFunc(s.config.Addrs, func(own string) bool { return listensAt(own, r) }) {
			s.log.Warn("dns recursor is this agent itself, ignored", "addr", r)
			continue
		}
		out = append(out, r)
	}
	return out
}

// zoneText is the text of the zone with a wire name.
func (s *Server) zoneText(wire []byte) string {
	for _, d := range s.zones.domains {
		if string(d.wire) == string(wire) {
			return d.text
		}
	}
	return s.zones.domains[0].text
}

// trouble logs that lookups fail, at most once in ten seconds: every question
// fails then.
func (s *Server) trouble(err error) {
	s.metrics.troubles.Add(1)
	now, last := time.Now().Unix(), s.troubled.Load()
	if now-last >= 10 && s.troubled.CompareAndSwap(last, now) {
		s.log.Warn("dns lookup failed", "err", err)
	}
}

// slow answers a datagram or message on the general path.
func (s *Server) slow(ctx context.Context, in []byte, udp bool) []byte {
	ctx, cancel := context.WithTimeout(ctx, s.config.AnswerTimeout)
	defer cancel()
	start := time.Now()
	defer s.survive()
	d := s.decks.Get().(*deck)
	defer s.decks.Put(d)
	out := s.general(ctx, in, udp, d)
	s.shared.took(time.Since(start), 1)
	return out
}

// survive keeps a panic to the questions at hand. A message made to hit a bug must
// not stop the agent; the log makes sure that the bug is found.
func (s *Server) survive() {
	if p := recover(); p != nil {
		s.metrics.panics.Add(1)
		s.log.Error("dns answer panicked", "err", p, "stack", string(debug.Stack()))
	}
}

// busy is the answer of a server that has no place left on the general path.
func (s *Server) busy(in, out []byte) []byte {
	s.metrics.refused.Add(1)
	return bareReply(in, out, s.settings.Load().ra, rcodeServFail)
}
