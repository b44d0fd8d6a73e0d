package failover

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-discovery/muster/internal/gossip"
)

// DialFunc connects to a server's port for this package's purpose and returns once the
// server has greeted. Its errors wrap the network's.
type DialFunc func(ctx context.Context, addr string) (net.Conn, error)

// Raft is this server's part in consensus. Calls may overlap.
type Raft interface {
	Standing() Standing
	// Peers are the ids of all other servers of the configuration.
	Peers() []string
	// Stand begins an election with this server as the candidate.
	Stand() error
	// LeaderChanged returns a channel that is closed when another leader, or none, is
	// known than at the call.
	LeaderChanged() <-chan struct{}
}

// Config is what New needs. Ping, Logger and Registry may be left out.
type Config struct {
	Self, Name string // this server's id, and the name of its node
	Raft       Raft
	Listener   net.Listener // connections of other servers and of agents; Run closes it
	Dial       DialFunc
	Resolve    func(serverID string) (addr string, err error)
	Members    func() []gossip.Member
	// Knock connects to an agent's gossip port and hangs up. Its errors wrap the
	// network's.
	Knock func(ctx context.Context, addr string) error
	// Ping asks for a sign of life in another way, and waits for it for a bounded time.
	Ping func(m gossip.Member) bool
	// Changed is called when Members says something new, Reached when there is a
	// connection to a server again. They must not wait.
	Changed  func()
	Reached  func(serverID string)
	Logger   *slog.Logger
	Registry prometheus.Registerer
}

// Hints is a server's part. Its methods may be called at the same time, and also
// before Run and after it.
type Hints struct {
	cfg    Config
	log    *slog.Logger
	m      *metrics
	links  links
	held   held
	told   told
	leader lastLeader
	table  table
	probes probes
	tasks  tasks

	answers sync.WaitGroup // questions of others under way
}

// New makes a server's part; Run has it work.
func New(cfg Config) *Hints {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Hints{
		cfg: cfg, log: cfg.Logger.With("component", "failover"), m: newMetrics(cfg.Registry),
		links:  links{byID: make(map[string]*running)},
		held:   held{count: make(map[string]int)},
		table:  table{verdicts: newVerdicts()},
		probes: probes{running: make(map[subject]*probing)},
		tasks:  tasks{queue: make(chan task, maxTasks)},
	}
}

// Run keeps the connections and answers hints until ctx ends.
func (h *Hints) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { h.links.run(ctx, h.cfg.Raft, func(id string) *link { return newLink(id, h) }) })
	wg.Go(func() { h.settle(ctx) })
	wg.Go(func() { h.tasks.run(ctx) })
	wg.Go(func() { h.leader.run(ctx, h.cfg.Raft) })
	wg.Go(func() {
		<-ctx.Done()
		_ = h.cfg.Listener.Close() // ends serveAll
	})
	err := h.serveAll(ctx)
	h.answers.Wait()
	wg.Wait()
	if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Leave tells the other servers that this one takes its node out of the catalog by
// itself, and returns once they know, or ctx ends.
func (h *Hints) Leave(ctx context.Context) {
	if m, ok := h.member(h.cfg.Name); ok {
		s := subjectOf(m)
		h.note(s, wordLeaving, false) // this server may lead a moment longer
		h.links.tellAll(ctx, message{Type: typeLeaving, Name: s.Name, ID: s.ID, Addr: s.Addr})
	}
}

// linkEnded takes the end of the connection to a server as a hint, twice over: that
// the leader is gone, and that the node is.
func (h *Hints) linkEnded(id, name string) {
	h.tasks.offer("lost "+id, func(ctx context.Context) { h.follow(ctx, id) })
	h.Hint(name)
}

// held counts the connections of agents, by node.
type held struct {
	mu    sync.Mutex
	count map[string]int // by name in lower case
}

// add adds n connections and returns how many there are now.
func (c *held) add(name string, n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	name = strings.ToLower(name)
	c.count[name] += n
	left := c.count[name]
	if left == 0 {
		delete(c.count, name)
	}
	return left
}

func (c *held) has(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count[strings.ToLower(name)] > 0
}

// maxTasks bounds the hints that wait and, once more, those that are worked on.
const maxTasks = 256

// tasks runs what hints start, each kind of task once at a time.
type tasks struct{ queue chan task }

type task struct {
	key string
	do  func(ctx context.Context)
}

// offer queues a task and never waits; false if there are too many.
func (t *tasks) offer(key string, do func(ctx context.Context)) bool {
	select {
	case t.queue <- task{key, do}:
		return true
	default:
		return false
	}
}

// run works until ctx ends. A task whose like is under way is left out: that one is
// about the same thing.
func (t *tasks) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	turn := make(chan struct{}, maxTasks)
	var mu sync.Mutex
	under := make(map[string]bool)
	for {
		var next task
		select {
		case next = <-t.queue:
		case <-ctx.Done():
			return
		}
		mu.Lock()
		busy := under[next.key]
		under[next.key] = true
		mu.Unlock()
		if busy {
			continue
		}
		turn <- struct{}{} // tasks are bounded in time
		wg.Go(func() {
			defer func() {
				mu.Lock()
				delete(under, next.key)
				mu.Unlock()
				<-turn
			}()
			next.do(ctx)
		})
	}
}
