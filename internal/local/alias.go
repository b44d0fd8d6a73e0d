package local

import (
	"context"
	"fmt"
	"time"

	"github.com/muster-discovery/muster/internal/check"
	"github.com/muster-discovery/muster/internal/model"
)

// aliasInterval is how often an alias looks at another node. Aliases of this node
// are told at once instead.
const aliasInterval = 5 * time.Second

// localAlias reports whether an alias follows something on this agent.
func (l *Local) localAlias(d *model.CheckDefinition) bool {
	return d.AliasNode == "" || d.AliasNode == l.nodeName()
}

// followLocked enters a local alias into the index and gives it its state.
func (l *Local) followLocked(e *checkEntry) {
	target := e.def.AliasService
	if l.aliases[target] == nil {
		l.aliases[target] = map[string]bool{}
	}
	l.aliases[target][e.def.ID] = true
	status, output := l.aliasLocked(e)
	e.state = l.describe(e.checkDef, status, output)
	l.noteFailingLocked(e)
}

// unfollowLocked takes an alias out of the index; other checks aren't in it.
func (l *Local) unfollowLocked(e *checkEntry) {
	if e.def.Type() != "alias" {
		return
	}
	if !l.localAlias(e.def) {
		l.follow.dropLocked(e)
		return
	}
	target := e.def.AliasService
	if delete(l.aliases[target], e.def.ID); len(l.aliases[target]) == 0 {
		delete(l.aliases, target)
	}
}

// updateAliasesLocked makes the aliases of a service (of the node, if the id is
// empty) follow a change, and those of their services in turn.
func (l *Local) updateAliasesLocked(service string) {
	for _, id := range sortedIDs(l.aliases[service]) {
		if e, ok := l.checks.Get(id); ok {
			status, output := l.aliasLocked(e)
			l.setStateLocked(e, status, output)
		}
	}
}

// aliasLocked is what an alias shows.
func (l *Local) aliasLocked(alias *checkEntry) (status, output string) {
	target := alias.def.AliasService
	if target != "" {
		if _, ok := l.services.Get(target); !ok {
			return model.StatusCritical, fmt.Sprintf("Service %q is not registered with this agent.", target)
		}
	}
	return aliasStatus(l.realChecksLocked(target, map[string]bool{}))
}

// realChecksLocked returns the checks of a service, with what local aliases among
// them follow in their place. Aliases that lead in a circle add nothing, so they
// can't keep each other ill.
func (l *Local) realChecksLocked(service string, seen map[string]bool) []*model.Check {
	if seen[service] {
		return nil
	}
	seen[service] = true
	var out []*model.Check
	l.eachServiceCheckLocked(service, func(e *checkEntry) {
		target := e.def.AliasService
		_, exists := l.services.Get(target)
		if e.def.Type() == "alias" && l.localAlias(e.def) && (exists || target == "") {
			out = append(out, l.realChecksLocked(target, seen)...)
			return
		}
		out = append(out, e.state)
	})
	return out
}

// aliasStatus is the worst of some checks, with the words that clients know.
func aliasStatus(checks []*model.Check) (status, output string) {
	if len(checks) == 0 {
		return model.StatusPassing, "No checks found."
	}
	worst := &model.Check{Status: model.StatusPassing}
	for _, c := range checks {
		if rank(c.Status) > rank(worst.Status) {
			worst = c
		}
	}
	if worst.Status == model.StatusPassing {
		return model.StatusPassing, "All checks passing."
	}
	return worst.Status, fmt.Sprintf("Aliased check %q failing: %s", worst.Name, worst.Output)
}

func rank(status string) int {
	switch status {
	case model.StatusPassing:
		return 0
	case model.StatusWarning:
		return 1
	}
	return 2
}

// remoteAlias is the probe of an alias whose target is on another node, for
// catalogs that can't be watched.
type remoteAlias struct {
	catalog Catalog
	def     *model.CheckDefinition
}

func (a *remoteAlias) Run(ctx context.Context) check.Result {
	status, output := a.look(ctx).alias(a.def)
	return check.Result{Status: status, Output: output}
}

func (a *remoteAlias) look(ctx context.Context) *nodeView {
	v := &nodeView{}
	v.services, v.checks, v.err = a.catalog.NodeState(ctx, a.def.AliasNode)
	v.exists = len(v.services)+len(v.checks) > 0
	if reader, ok := a.catalog.(NodeReader); ok && v.err == nil && !v.exists {
		var node *model.Node
		node, v.err = reader.Node(ctx, a.def.AliasNode)
		v.exists = node != nil
	}
	return v
}

func hasService(services []*model.Service, id string) bool {
	for _, s := range services {
		if s.ID == id {
			return true
		}
	}
	return false
}
