package streamapi

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/muster-discovery/muster/internal/discovery"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/state"
)

// truth is what a service was at each of its indexes, from a store that runs the
// same commands one by one.
type truth struct {
	store *state.Store
	mu    sync.Mutex
	at    map[string]map[uint64]map[string]string
}

var randomServices = []string{"web", "db", "mail"}

func text(i *model.Instance) string {
	s := fmt.Sprint(i.Node.Address, i.Node.Modify, i.Service.Port, i.Service.Modify)
	for _, c := range i.Checks {
		s += fmt.Sprint(" ", c.ID, c.Status, c.Modify)
	}
	return s
}

func picture(list []*model.Instance, passing bool) map[string]string {
	p := map[string]string{}
	for _, i := range list {
		if !passing || i.Status() == model.StatusPassing {
			p[i.Node.Name+"/"+i.Service.ID] = text(i)
		}
	}
	return p
}

func (w *truth) run(command func(*state.Batch)) {
	b := w.store.Batch()
	command(b)
	b.Commit()
	w.record()
}

func (w *truth) record() {
	snapshot := w.store.Snapshot()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range randomServices {
		for _, passing := range []bool{false, true} {
			key := fmt.Sprint(s, passing)
			if w.at[key] == nil {
				w.at[key] = map[uint64]map[string]string{}
			}
			index := snapshot.TopicIndex(model.NewTopic(model.TopicService, s))
			w.at[key][index] = picture(snapshot.Instances(s), passing)
		}
	}
}

func (w *truth) check(t *testing.T, service string, passing bool, u discovery.Update) {
	w.mu.Lock()
	want, known := w.at[fmt.Sprint(service, passing)][u.Index]
	w.mu.Unlock()
	if got := picture(u.Instances, false); !known || !maps.Equal(got, want) {
		t.Errorf("%s at %d (known: %t): have %v, want %v", service, u.Index, known, got, want)
	}
}

func randomCommand(r *rand.Rand) func(*state.Batch) {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	node, id := pick("n1", "N1", "n2", "n3"), pick("a", "b", "c")
	switch r.IntN(8) {
	case 0:
		return func(b *state.Batch) { b.Fail() }
	case 1:
		return deregister(node, "")
	case 2:
		return deregister(node, id)
	}
	return register(node, pick("web", "web", "db", "mail"), id, 80+r.IntN(2), pick("passing", "critical"))
}

// Multiplexers whose connections are cut all the time, over two servers of which one
// is late, hold at every index what the catalog was then.
func TestMuxSeesTheCatalog(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	servers := []*registry{newRegistry(t, nil), newRegistry(t, nil)}
	w := &truth{store: state.New(), at: map[string]map[uint64]map[string]string{}}
	w.record()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var done sync.WaitGroup
	var watches []*discovery.Watch
	for k := range 8 {
		r := rand.New(rand.NewPCG(seed, uint64(k)))
		m, err := discovery.NewMux(discovery.Config{MinBackoff: time.Millisecond, MaxBackoff: 5 * time.Millisecond,
			Dial: func(ctx context.Context) (grpc.ClientConnInterface, error) {
				conn, _ := servers[r.IntN(2)].dial()
				life := time.Duration(r.IntN(40)) * time.Millisecond
				if ctx.Err() == nil {
					time.AfterFunc(5*time.Millisecond+life, func() { _ = conn.Close() })
				}
				return conn, nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range randomServices {
			passing := k%2 == 1
			x, err := m.Watch(discovery.Query{Service: s, Passing: passing}, func(u discovery.Update) {
				w.check(t, s, passing, u)
				if r.IntN(20) == 0 {
					time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond) // reads slowly
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			watches = append(watches, x)
		}
		done.Go(func() { _ = m.Run(ctx) })
	}
	r := rand.New(rand.NewPCG(seed, 1<<40))
	for range 300 {
		var chunk []func(*state.Batch)
		for range 1 + r.IntN(5) {
			c := randomCommand(r)
			w.run(c)
			chunk = append(chunk, c)
		}
		servers[0].run(chunk...)
		for _, c := range chunk {
			servers[1].run(c)
		}
		time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond)
	}
	// In the end all come to the present.
	deadline := time.Now().Add(20 * time.Second)
	for k, x := range watches {
		s := randomServices[k%3]
		want := picture(w.store.Snapshot().Instances(s), (k/3)%2 == 1)
		for u, _ := x.Latest(); !maps.Equal(picture(u.Instances, false), want); u, _ = x.Latest() {
			if time.Now().After(deadline) {
				t.Fatalf("watch %d stays at %d", k, u.Index)
			}
			time.Sleep(time.Millisecond)
		}
	}
	cancel()
	done.Wait()
}
