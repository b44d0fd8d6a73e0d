package gossip

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/serf/serf"
)

// Labels stand in front of every packet and stream, and are authenticated where
// gossip is encrypted. A pool without or with another label is refused, whichever
// side speaks first. The number is the format of what Muster's agents tell each
// other beyond serf's own protocol.
const (
	labelLAN = "muster-lan-1"
	labelWAN = "muster-wan-1"
)

// serfBacklog is the capacity of the channel that serf sends events to. It is
// above the 1024 that serf itself may hold, so that serf's goroutine can hand
// over all it has and end, also when the pump has already stopped.
const serfBacklog = 2048

// pool is one serf instance with its pump.
type pool struct {
	wan    bool
	serf   *serf.Serf
	in     chan serf.Event
	out    chan<- Event
	heard  func(Message) // nil: nobody listens
	logger *slog.Logger
	m      *metrics

	admission admission
	accused   accusations
	conflicts chan struct{} // capacity 1: a member has this agent at another address
	stop      chan struct{}
	pumped    chan struct{} // closed when the pump has ended
	mended    chan struct{} // closed when the mender has ended
}

func poolName(wan bool) string {
	if wan {
		return "wan"
	}
	return "lan"
}

func (p *pool) name() string { return poolName(p.wan) }

// reconnectInterval is how often a failed member of the LAN pool is tried again: one
// that was cut off has long been gone from all lookups when the cable is back. Serf's
// 30 s are for pools whose links cost something.
const reconnectInterval = 5 * time.Second

// openPool starts a serf instance and its goroutines.
func openPool(cfg *Config, pc PoolConfig, wan bool, wanPort int, out chan<- Event, m *metrics) (*pool, error) {
	p := &pool{
		wan: wan, out: out, m: m, heard: cfg.OnMessage,
		in:        make(chan serf.Event, serfBacklog),
		logger:    cfg.Logger.With("pool", poolName(wan)),
		conflicts: make(chan struct{}, 1),
		stop:      make(chan struct{}),
		pumped:    make(chan struct{}),
		mended:    make(chan struct{}),
	}
	sc, err := p.serfConfig(cfg, pc, wanPort)
	if err != nil {
		return nil, err
	}
	if pc.SnapshotPath != "" {
		if err := os.MkdirAll(filepath.Dir(pc.SnapshotPath), 0o700); err != nil {
			return nil, p.openError(pc, err)
		}
	}
	if p.serf, err = serf.Create(sc); err != nil {
		return nil, p.openError(pc, err)
	}
	own := p.serf.LocalMember()
	p.admission.own.Store(&own)
	go p.pump()
	go p.mend()
	return p, nil
}

func (p *pool) openError(pc PoolConfig, err error) error {
	err = fmt.Errorf("gossip: open the %s pool on %s:%d: %w", p.name(), pc.BindAddr, pc.BindPort, err)
	if strings.Contains(err.Error(), "address already in use") {
		return fmt.Errorf("%w (is another agent running? stop it, or choose another port with ports.serf_%s)", err, p.name())
	}
	return err
}

func (p *pool) serfConfig(cfg *Config, pc PoolConfig, wanPort int) (*serf.Config, error) {
	mc, err := p.memberlistConfig(cfg, pc)
	if err != nil {
		return nil, err
	}
	timing := p.timing(pc)
	sc := serf.DefaultConfig()
	sc.MemberlistConfig = mc
	sc.NodeName = cfg.Identity.NodeName
	if p.wan {
		sc.NodeName = wanMemberName(cfg.Identity.NodeName, cfg.Identity.Datacenter)
	}
	sc.Tags = cfg.Identity.tags(wanPort)
	sc.EventCh = p.in
	sc.SnapshotPath = pc.SnapshotPath
	sc.KeyringFile = pc.KeyringPath
	sc.RejoinAfterLeave = cfg.RejoinAfterLeave
	sc.ReconnectTimeout = timing.ReconnectTimeout
	if !p.wan {
		sc.ReconnectInterval = reconnectInterval
	}
	sc.TombstoneTimeout = timing.TombstoneTimeout
	// The vote shuts the loser's pool down; an operator can't tell why an agent
	// then knows no members. Both names and addresses are logged instead.
	sc.EnableNameConflictResolution = false
	sc.MinQueueDepth = 4096
	p.admission.wan, p.admission.datacenter, p.admission.node = p.wan, cfg.Identity.Datacenter, sc.NodeName
	p.admission.conflicts = p.conflicts
	sc.Merge = &p.admission

	adapter := &logAdapter{
		logger:    p.logger,
		onForeign: func(kind string) { p.m.foreign.WithLabelValues(p.name(), kind).Inc() },
	}
	adapter.onAccusation = p.tellAccusation
	p.admission.namesake = adapter.namesake
	sc.Logger = adapter.stdLogger()
	mc.Logger = sc.Logger
	sc.LogOutput, mc.LogOutput = nil, nil
	return sc, nil
}

func (p *pool) timing(pc PoolConfig) Timing {
	if p.wan {
		return pc.Timing.or(DefaultWANTiming())
	}
	return pc.Timing.or(DefaultLANTiming())
}

func (p *pool) memberlistConfig(cfg *Config, pc PoolConfig) (*memberlist.Config, error) {
	ring, err := openKeyring(pc.KeyringPath, cfg.EncryptKey, p.logger)
	if err != nil {
		return nil, err
	}
	mc, label := memberlist.DefaultLANConfig(), labelLAN
	if p.wan {
		mc, label = memberlist.DefaultWANConfig(), labelWAN
	}
	timing := p.timing(pc)
	mc.Label = label
	mc.Keyring = ring
	mc.GossipVerifyIncoming = !cfg.AcceptPlain
	mc.GossipVerifyOutgoing = !cfg.SendPlain
	mc.Transport = &transport{NodeAwareTransport: pc.Transport, mc: mc}
	mc.BindAddr, mc.BindPort = pc.BindAddr, pc.BindPort
	mc.AdvertiseAddr, mc.AdvertisePort = pc.AdvertiseAddr, first(pc.AdvertisePort, pc.BindPort)
	mc.ProbeInterval, mc.ProbeTimeout = timing.ProbeInterval, timing.ProbeTimeout
	mc.SuspicionMult, mc.RetransmitMult = timing.SuspicionMult, timing.RetransmitMult
	mc.GossipInterval, mc.GossipNodes = timing.GossipInterval, timing.GossipNodes
	// memberlist slows down its probes, up to 8 times, when they fail for want of
	// others' confirmation. In a pool of two or three that is so at every real
	// death, and the next one would be noticed after 10 s.
	mc.AwarenessMaxMultiplier = 3
	// A failed member's name may be taken over at once: machines and pods come
	// back under new addresses. Zero would mean never.
	mc.DeadNodeReclaimTime = 1
	return mc, nil
}

// wanMemberName is a server's name in the WAN pool.
func wanMemberName(node, dc string) string { return node + "." + dc }

// pump moves events from serf to the reader, the latest per member, so that a
// slow reader never holds up serf. It ends when the pool closes.
func (p *pool) pump() {
	defer close(p.pumped)
	queue := newEventQueue(maxQueued)
	for {
		head, ok := queue.head()
		head.WAN = p.wan
		out := p.out
		if !ok {
			out = nil
		}
		select {
		case e := <-p.in:
			p.enqueue(queue, e)
		case out <- head:
			queue.pop()
		case <-p.stop:
			return
		}
	}
}

func (p *pool) enqueue(queue *eventQueue, e serf.Event) {
	if ue, ok := e.(serf.UserEvent); ok {
		p.hear(ue)
		return
	}
	me, ok := e.(serf.MemberEvent)
	if !ok {
		return // serf's own queries
	}
	kind := eventTypes[me.Type]
	for _, m := range me.Members {
		switch kind {
		case EventJoined, EventUpdated:
			p.admission.identities.lives(&m)
		default:
			p.admission.identities.ends(&m)
		}
		p.logger.Info("member "+kind.String(), "node", m.Name, "addr", m.Addr, "role", m.Tags[tagRole])
		p.m.events.WithLabelValues(p.name(), kind.String()).Inc()
		if queue.push(Event{Type: kind, WAN: p.wan, Member: fromSerf(m)}) {
			p.m.coalesced.WithLabelValues(p.name()).Inc()
		}
	}
}

// close stops serf, then the pump and the mender, and waits for both.
func (p *pool) close() error {
	err := p.serf.Shutdown()
	close(p.stop)
	<-p.pumped
	<-p.mended
	if err != nil {
		return fmt.Errorf("gossip: close the %s pool: %w", p.name(), err)
	}
	return nil
}

// signal wakes the reader of a channel of capacity 1; a signal that is already
// pending is enough.
func signal(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
