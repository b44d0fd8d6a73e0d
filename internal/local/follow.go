package local

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/retry"
)

const (
	// followPatience is how long an alias of another node keeps its state while
	// the catalog can't be read. An election takes seconds; an agent that is cut
	// off for longer can't say how others are.
	followPatience = 30 * time.Second
	// followRound is the least time between two looks that find nothing new.
	followRound = time.Second
	// followTries bounds the attempts to see services and checks as they were
	// together, on a node that changes all the time.
	followTries = 4
)

// follower watches the nodes that aliases on this agent follow, each node once.
// Its run method owns a goroutine for each node.
type follower struct {
	l       *Local
	watcher NodeWatcher   // nil: aliases look at other nodes now and then instead
	wake    chan struct{} // holds one token: the set of nodes has changed

	nodes map[string]*followed // by name; guarded by l.mu
}

// followed is a node with the aliases that follow it.
type followed struct {
	name    string
	aliases map[string]bool
	cancel  context.CancelFunc // nil: nobody watches it yet
	seen    *nodeView          // nil: nothing is known yet
}

// nodeView is what the catalog has of a node.
type nodeView struct {
	exists   bool
	services []*model.Service
	checks   []*model.Check

	servicesIndex uint64
	checksIndex   uint64

	err error // the catalog could not be read; all else is unset
}

func newFollower(l *Local) *follower {
	f := &follower{l: l, wake: make(chan struct{}, 1), nodes: map[string]*followed{}}
	f.watcher, _ = l.cfg.Catalog.(NodeWatcher)
	return f
}

// addLocked makes an alias follow its node.
func (f *follower) addLocked(e *checkEntry) {
	name := e.def.AliasNode
	n := f.nodes[name]
	if n == nil {
		n = &followed{name: name, aliases: map[string]bool{}}
		f.nodes[name] = n
		f.signal()
	}
	n.aliases[e.def.ID] = true
	if n.seen != nil {
		status, output := n.seen.alias(e.def)
		e.state = f.l.describe(e.checkDef, status, output)
		f.l.noteFailingLocked(e)
	}
}

func (f *follower) dropLocked(e *checkEntry) {
	n := f.nodes[e.def.AliasNode]
	if n == nil {
		return
	}
	delete(n.aliases, e.def.ID)
	if len(n.aliases) > 0 {
		return
	}
	delete(f.nodes, n.name)
	if n.cancel != nil {
		n.cancel()
	}
}

func (f *follower) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// run watches nodes until ctx is done.
func (f *follower) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		f.l.mu.Lock()
		for _, n := range f.nodes {
			if n.cancel == nil {
				var nodeCtx context.Context
				nodeCtx, n.cancel = context.WithCancel(ctx)
				wg.Go(func() { f.watch(nodeCtx, n) })
			}
		}
		f.l.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		}
	}
}

// watch keeps the aliases of one node as the catalog says.
func (f *follower) watch(ctx context.Context, n *followed) {
	backoff := retry.Backoff{Min: followRound, Max: 10 * time.Second, Jitter: 0.2, Rand: f.l.cfg.Checks.Rand}
	last, wellAt := &nodeView{}, time.Now()
	for ctx.Err() == nil {
		began := time.Now()
		view, err := f.read(ctx, n.name)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			if time.Since(wellAt) >= followPatience {
				f.publish(n, &nodeView{err: err})
			}
			backoff.Wait(ctx)
			continue
		}
		f.publish(n, view)
		f.await(ctx, n.name, view)
		wellAt = time.Now()
		if view.sameIndexes(last) && time.Since(began) < followRound {
			backoff.Wait(ctx) // the blocking reads didn't block
		} else {
			backoff.Reset()
		}
		last = view
	}
}

// read returns services and checks as they are together: the checks did not
// change while the services were read.
func (f *follower) read(ctx context.Context, name string) (*nodeView, error) {
	_, index, err := f.watcher.WatchNodeChecks(ctx, name, 0)
	for try := 1; err == nil; try++ {
		view := &nodeView{}
		var node *model.NodeServices
		if node, view.servicesIndex, err = f.watcher.WatchNodeServices(ctx, name, 0); err != nil {
			break
		}
		if node != nil {
			view.exists, view.services = true, node.Services
		}
		before := index
		var checks []*model.Check
		if checks, index, err = f.watcher.WatchNodeChecks(ctx, name, 0); err != nil {
			break
		}
		if index == before || try == followTries {
			view.checks, view.checksIndex = checks, index
			return view, nil
		}
	}
	return nil, err
}

// await returns once something is newer than view, or the catalog doesn't say.
func (f *follower) await(ctx context.Context, name string, view *nodeView) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer cancel()
		_, _, _ = f.watcher.WatchNodeServices(ctx, name, view.servicesIndex)
	})
	// What they return, errors too, the next read finds again.
	_, _, _ = f.watcher.WatchNodeChecks(ctx, name, view.checksIndex)
	cancel()
	wg.Wait()
}

func (f *follower) publish(n *followed, view *nodeView) {
	l := f.l
	l.mu.Lock()
	defer l.mu.Unlock()
	n.seen = view
	for _, id := range sortedIDs(n.aliases) {
		if e, ok := l.checks.Get(id); ok {
			status, output := view.alias(e.def)
			l.setStateLocked(e, status, output)
		}
	}
}

func (v *nodeView) sameIndexes(o *nodeView) bool {
	return v.servicesIndex == o.servicesIndex && v.checksIndex == o.checksIndex
}

// alias is what an alias of the node, or of a service on it, shows. It sees the
// node's own checks too: a service on a dead machine is not well. A service
// without checks is well; one that doesn't exist, or whose node doesn't, is not.
func (v *nodeView) alias(d *model.CheckDefinition) (status, output string) {
	switch {
	case v.err != nil:
		return model.StatusCritical, fmt.Sprintf("Read node %q: %v", d.AliasNode, v.err)
	case !v.exists:
		return model.StatusCritical, fmt.Sprintf("Node %q is not registered.", d.AliasNode)
	case d.AliasService != "" && !hasService(v.services, d.AliasService):
		return model.StatusCritical, fmt.Sprintf("Service %q is not registered on node %q.", d.AliasService, d.AliasNode)
	}
	var matching []*model.Check
	for _, c := range v.checks {
		if c.ServiceID == "" || c.ServiceID == d.AliasService {
			matching = append(matching, c)
		}
	}
	return aliasStatus(matching)
}
