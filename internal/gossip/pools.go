package gossip

import (
	"errors"
	"log/slog"
	"sync"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/telemetry"
)

// Pools is an agent's membership of its LAN and, if it is a server, WAN pool.
// All methods may be called at the same time.
type Pools struct {
	cfg    Config
	lan    *pool
	wan    *pool // nil on client agents
	events chan Event

	mu      sync.Mutex
	closing bool
	leaving sync.WaitGroup // serf must not be shut down under a Leave
	closed  sync.Once
	err     error

	registered telemetry.Registration
}

// Open starts the pools with this agent as their only member. The caller must
// read Events or not, as it likes, and call Close.
func Open(cfg Config) (*Pools, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Logger = cfg.Logger.With("component", "gossip")
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p := &Pools{cfg: cfg, events: make(chan Event)}
	m := newMetrics()
	var err error
	wanPort := 0
	if cfg.WAN != nil {
		if p.wan, err = openPool(&cfg, *cfg.WAN, true, 0, p.events, m); err != nil {
			return nil, err
		}
		wanPort = int(p.wan.serf.LocalMember().Port)
	}
	if p.lan, err = openPool(&cfg, cfg.LAN, false, wanPort, p.events, m); err != nil {
		if p.wan != nil {
			err = errors.Join(err, p.wan.close())
		}
		return nil, err
	}
	if p.registered, err = telemetry.Register(cfg.Registry, "gossip", m.collectors(p)...); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// pool is the LAN or WAN pool; nil if there is no such pool.
func (p *Pools) pool(wan bool) *pool {
	if wan {
		return p.wan
	}
	return p.lan
}

func (p *Pools) need(wan bool) (*pool, error) {
	if pl := p.pool(wan); pl != nil {
		return pl, nil
	}
	return nil, model.Errorf(model.KindInvalid, "this agent is not a server: it has no WAN pool")
}

// Events delivers the latest of each member whenever it changed: a member that
// failed and came back before the reader looked is reported as joined only. It
// never makes serf wait. The channel is closed by Close.
func (p *Pools) Events() <-chan Event { return p.events }

// Members are all known members, also failed ones and those that left, sorted by
// name. A pool that this agent does not have is empty.
func (p *Pools) Members(wan bool) []Member {
	pl := p.pool(wan)
	if pl == nil {
		return []Member{}
	}
	return sortedMembers(pl.serf.Members())
}

// LocalMember is this agent as the LAN pool sees it.
func (p *Pools) LocalMember() Member { return fromSerf(p.lan.serf.LocalMember()) }

// LocalWANMember is this agent as the WAN pool sees it.
func (p *Pools) LocalWANMember() (Member, bool) {
	if p.wan == nil {
		return Member{}, false
	}
	return fromSerf(p.wan.serf.LocalMember()), true
}

// Stats are serf's figures about a pool, as strings.
func (p *Pools) Stats(wan bool) map[string]string {
	pl := p.pool(wan)
	if pl == nil {
		return map[string]string{}
	}
	return pl.serf.Stats()
}

// Close stops the pools without leaving them: the others will see this agent
// fail. It waits for a Leave under way and for all goroutines of this package.
func (p *Pools) Close() error {
	p.mu.Lock()
	p.closing = true
	p.mu.Unlock()
	p.closed.Do(func() {
		p.leaving.Wait()
		p.err = p.lan.close()
		if p.wan != nil {
			p.err = errors.Join(p.err, p.wan.close())
		}
		close(p.events)
		p.registered.Unregister()
	})
	return p.err
}
