package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/muster-discovery/muster/test/testbed"
)

// registrar registers and deregisters, and keeps in mind what was acknowledged: of
// external nodes through any server, and of a client agent's own services. An id whose
// outcome is not known is not used again, as the write may still come.
type registrar struct {
	doors  []*testbed.Node
	client *testbed.Node
	random *rand.Rand
	prefix string

	external, local acked
}

// acked is what must be there, by id: present, absent (false), or not known (not in it).
type acked struct {
	there   map[string]bool
	ids     []string // in use
	unknown int
	made    int
}

// run works until ctx ends.
func (r *registrar) run(ctx context.Context) {
	r.external.there, r.local.there = map[string]bool{}, map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(r.random.IntN(30)) * time.Millisecond):
		}
		if r.random.IntN(3) == 0 {
			r.change(&r.local, "local", func(id string, add bool) error {
				if !add {
					return put(r.client, "/v1/agent/service/deregister/"+id, nil)
				}
				return put(r.client, "/v1/agent/service/register", map[string]any{"ID": id, "Name": "local", "Port": 80})
			})
			continue
		}
		door := r.doors[r.random.IntN(len(r.doors))]
		r.change(&r.external, "ext", func(id string, add bool) error {
			if !add {
				return put(door, "/v1/catalog/deregister", map[string]any{"Node": id})
			}
			return put(door, "/v1/catalog/register", external(id, "web"))
		})
	}
}

func put(n *testbed.Node, path string, body any) error {
	_, err := n.Within(3*time.Second, http.MethodPut, path, body, nil)
	return err
}

// change registers a new id, or changes one in use.
func (r *registrar) change(a *acked, kind string, do func(id string, add bool) error) {
	if len(a.ids) < 20 {
		a.made++
		a.ids = append(a.ids, fmt.Sprintf("%s-%s-%d", r.prefix, kind, a.made))
	}
	i := r.random.IntN(len(a.ids))
	id := a.ids[i]
	add := !a.there[id]
	if err := do(id, add); err != nil {
		delete(a.there, id)
		a.ids = append(a.ids[:i], a.ids[i+1:]...)
		a.unknown++
		return
	}
	a.there[id] = add
}

// check compares what must be there with what is.
func (a *acked) check(found map[string]bool) error {
	for id, there := range a.there {
		if there && !found[id] {
			return fmt.Errorf("%s was registered, acknowledged, and is not there", id)
		}
		if !there && found[id] {
			return fmt.Errorf("%s was deregistered, acknowledged, and is there: a zombie", id)
		}
	}
	return nil
}

func (a *acked) String() string {
	return fmt.Sprintf("%d ids, %d of them with an outcome that is not known", a.made, a.unknown)
}
