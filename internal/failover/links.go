package failover

import (
	"context"
	"slices"
	"sync"
	"time"
)

// linksInterval is how soon a server that joined or left the configuration is noticed.
const linksInterval = 500 * time.Millisecond

// links are the connections to the other servers of the configuration.
type links struct {
	mu   sync.Mutex
	byID map[string]*running
}

type running struct {
	*link
	stop context.CancelFunc
}

// run keeps a link to each server of the configuration, until ctx ends. A new leader may
// come with a new configuration.
func (ls *links) run(ctx context.Context, r Raft, make func(id string) *link) {
	var wg sync.WaitGroup
	defer wg.Wait()
	tick := time.NewTicker(linksInterval)
	defer tick.Stop()
	for {
		changed := r.LeaderChanged()
		ls.keep(ctx, &wg, r.Peers(), make)
		select {
		case <-tick.C:
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// keep starts the links that are missing and ends those that are not wanted any more.
func (ls *links) keep(ctx context.Context, wg *sync.WaitGroup, want []string, make func(id string) *link) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for id, l := range ls.byID {
		if !slices.Contains(want, id) {
			l.stop()
			delete(ls.byID, id)
		}
	}
	for _, id := range want {
		if ls.byID[id] != nil {
			continue
		}
		ctx, stop := context.WithCancel(ctx)
		l := make(id)
		ls.byID[id] = &running{l, stop}
		wg.Go(func() { l.run(ctx) })
	}
}

// get is the link to a server; nil if that is not in the configuration.
func (ls *links) get(id string) *link {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if r := ls.byID[id]; r != nil {
		return r.link
	}
	return nil
}

// asker is the connection to a server; nil if there is none now.
func (ls *links) asker(id string) *asker {
	if l := ls.get(id); l != nil {
		return l.asker()
	}
	return nil
}

// askAll asks all servers that are connected, but not the one in question, and calls
// back with each answer, one at a time; nil for one that did not come.
func (ls *links) askAll(ctx context.Context, question message, answered func(*message)) {
	ls.mu.Lock()
	var askers []*asker
	for id, l := range ls.byID {
		if a := l.asker(); a != nil && id != question.ID {
			askers = append(askers, a)
		}
	}
	ls.mu.Unlock()
	answers := make(chan *message)
	for _, a := range askers {
		go func() {
			m, err := a.ask(ctx, question)
			if err != nil {
				m = nil
			}
			answers <- m
		}()
	}
	for range askers {
		answered(<-answers)
	}
}

// tellAll has all servers that are connected take note, for as long as ctx lasts.
func (ls *links) tellAll(ctx context.Context, m message) { ls.askAll(ctx, m, func(*message) {}) }
