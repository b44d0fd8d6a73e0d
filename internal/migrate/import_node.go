package migrate

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// importNode compares a node and what is on it, and registers what differs. A
// registration that is refused is a finding, not the end.
func (i *Importer) importNode(ctx context.Context, n *Node) error {
	have, err := readNode(ctx, i.to, n.Name())
	if err != nil {
		return fmt.Errorf("read node %q of the target: %w", n.Name(), err)
	}
	r := &i.tally.r
	if have != nil && have.ownedByAgent() {
		i.tally.conflict(&r.Nodes, Finding{Kind: "node", Name: n.Name(), Reason: "an agent of the target has this name"})
		return nil
	}
	work := nodeWork{i: i, n: n, have: have}
	if have == nil {
		work.have = &Node{}
	}
	if err := work.node(ctx, have == nil); err != nil || work.refused {
		return err
	}
	return work.services(ctx)
}

// nodeWork is one node that is being imported.
type nodeWork struct {
	i       *Importer
	n, have *Node
	refused bool // the node itself: nothing can be on it then
}

func (w *nodeWork) node(ctx context.Context, isNew bool) error {
	finding := Finding{Kind: "node", Name: w.n.Name()}
	same := !isNew && sameObject(w.have.Node, w.n.Node)
	write, err := w.i.decide(&w.i.tally.r.Nodes, isNew, same, finding, func() error {
		return w.register(ctx, Object{})
	})
	if err != nil {
		return err
	}
	w.refused = isNew && !write
	if w.refused {
		return nil
	}
	return w.checks(ctx, "")
}

func (w *nodeWork) services(ctx context.Context) error {
	for _, svc := range w.n.Services {
		id := text(svc, "ID")
		old := findText(w.have.Services, "ID", id)
		finding := Finding{Kind: "service", Name: id, Node: w.n.Name()}
		there, err := w.i.decide(&w.i.tally.r.Services, old == nil, old != nil && sameObject(old, svc), finding, func() error {
			return w.register(ctx, Object{"Service": svc, "SkipNodeUpdate": true})
		})
		if err != nil {
			return err
		}
		if !there && old == nil {
			continue
		}
		if err := w.checks(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// checks brings in the checks of a service, or with an empty id of the node.
func (w *nodeWork) checks(ctx context.Context, service string) error {
	for _, c := range w.n.Checks {
		if text(c, "ServiceID") != service {
			continue
		}
		old := findText(w.have.Checks, "CheckID", text(c, "CheckID"))
		finding := Finding{Kind: "check", Name: text(c, "CheckID"), Node: w.n.Name()}
		_, err := w.i.decide(&w.i.tally.r.Checks, old == nil, old != nil && sameObject(old, c), finding, func() error {
			return w.register(ctx, Object{"Checks": []Object{c}, "SkipNodeUpdate": true})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// register writes what is in extra, under the node's name.
func (w *nodeWork) register(ctx context.Context, extra Object) error {
	body := Object{"Node": w.n.Name(), "Address": w.n.Node["Address"]}
	if extra["SkipNodeUpdate"] == nil {
		for from, to := range map[string]string{"ID": "ID", "TaggedAddresses": "TaggedAddresses", "Meta": "NodeMeta", "Locality": "Locality"} {
			if v := pruned(w.n.Node[from]); v != nil {
				body[to] = v
			}
		}
	}
	maps.Copy(body, extra)
	return w.i.to.send(ctx, http.MethodPut, "/v1/catalog/register", "", body, nil)
}

// decide counts a thing as what becomes of it, and writes it where that is wanted. It
// reports whether the target has it as it is to be now.
func (i *Importer) decide(c *Counts, isNew, same bool, f Finding, write func() error) (there bool, err error) {
	switch {
	case same:
		i.tally.change(func(*Report) { c.Unchanged++ })
		return true, nil
	case !isNew && !i.opt.Overwrite:
		f.Reason = "it is registered differently"
		i.tally.conflict(c, f)
		return false, nil
	}
	if !i.opt.DryRun {
		if err := write(); statusOf(err) != 0 {
			f.Reason = err.Error()
			i.tally.fail(c, f)
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	i.tally.change(func(*Report) {
		if isNew {
			c.Created++
		} else {
			c.Updated++
		}
	})
	return true, nil
}

func findText(list []Object, field, want string) Object {
	k := slices.IndexFunc(list, func(o Object) bool { return text(o, field) == want })
	if k < 0 {
		return nil
	}
	return list[k]
}
