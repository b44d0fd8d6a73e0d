package gossip

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/muster-discovery/muster/internal/model"
)

// Leave tells the pools that this agent goes, so that nobody takes it for dead,
// and waits until that has spread or ctx ends. The pools can't be joined again
// after it.
func (p *Pools) Leave(ctx context.Context) error {
	done := make(chan error, 1)
	p.mu.Lock()
	if p.closing {
		p.mu.Unlock()
		return model.Errorf(model.KindUnavailable, "leave: the agent is stopping")
	}
	p.leaving.Add(1)
	p.mu.Unlock()
	go func() {
		defer p.leaving.Done()
		done <- p.leave()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("leave the pools: %w", ctx.Err())
	}
}

// leave leaves both pools at once: each takes at least the second that serf
// gives the news to spread.
func (p *Pools) leave() error {
	var wanErr error
	var wg sync.WaitGroup
	if p.wan != nil {
		wg.Go(func() { wanErr = p.wan.serf.Leave() })
	}
	lanErr := p.lan.serf.Leave()
	wg.Wait()
	if err := errors.Join(lanErr, wanErr); err != nil {
		return fmt.Errorf("leave the pools: %w", err)
	}
	return nil
}

// ForceLeave declares a failed member to have left; with prune it is also
// forgotten at once. A member that is alive objects and stays. name may be a
// node's name or its WAN name.
func (p *Pools) ForceLeave(name string, prune bool) error {
	found := false
	var errs []error
	for _, pl := range []*pool{p.lan, p.wan} {
		if pl == nil {
			continue
		}
		member := name
		if pl.wan && !pl.has(name) {
			member = wanMemberName(name, p.cfg.Identity.Datacenter)
		}
		if pl.has(member) {
			found = true
			errs = append(errs, pl.forceLeave(member, prune))
		}
	}
	if !found {
		return model.Errorf(model.KindNotFound, "agent: No node found with name '%s'", name) // clients match this text
	}
	return errors.Join(errs...)
}

func (p *pool) has(name string) bool {
	for _, m := range p.serf.Members() {
		if m.Name == name {
			return true
		}
	}
	return false
}

func (p *pool) forceLeave(name string, prune bool) error {
	remove := p.serf.RemoveFailedNode
	if prune {
		remove = p.serf.RemoveFailedNodePrune
	}
	if err := remove(name); err != nil {
		return fmt.Errorf("force %q to leave the %s pool: %w", name, p.name(), err)
	}
	return nil
}
