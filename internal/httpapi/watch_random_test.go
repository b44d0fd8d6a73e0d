package httpapi

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/state"
	"github.com/muster-discovery/muster/internal/view"
	"github.com/muster-discovery/muster/internal/wire"
)

// catalogAt is what each service was after each command.
type catalogAt struct {
	store *state.Store
	mu    sync.Mutex
	lists map[string][]sseList // by service; by the state's index
}

func (c *catalogAt) record(t *testing.T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.store.Snapshot()
	for name := range c.lists {
		l := sseList{}
		for _, i := range s.Instances(name) {
			l[removal{i.Node.Name, i.Service.ID}] = string(view.NewItem(i).Fragment(wire.HealthServiceJSON).([]byte))
		}
		for uint64(len(c.lists[name])) < s.Index() {
			c.lists[name] = append(c.lists[name], nil)
		}
		c.lists[name] = append(c.lists[name], l)
	}
}

func (c *catalogAt) check(t *testing.T, name string, index uint64, got sseList) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if index >= uint64(len(c.lists[name])) || !maps.Equal(got, c.lists[name][index]) {
		t.Errorf("%s at %d: %d instances that are not those of the catalog", name, index, len(got))
	}
}

// Consumers of several services, cut off at any byte and resumed by the last id as
// browsers do, hold at each id what the catalog was then.
func TestWatchersSeeTheCatalog(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := newRegistry(t)
	names := []string{"web", "db", "mail"}
	truth := &catalogAt{store: state.New(), lists: map[string][]sseList{}}
	for _, n := range names {
		truth.lists[n] = nil
	}
	truth.record(t)
	stop := make(chan struct{})
	var done sync.WaitGroup
	resumed := make([]int, 12)
	for k := range resumed {
		rnd := rand.New(rand.NewPCG(seed, uint64(k)))
		mine := names[:1+k%3]
		done.Go(func() {
			lists, id := map[string]sseList{}, ""
			for {
				select {
				case <-stop:
					return
				default:
				}
				if id != "" && id != "0" {
					resumed[k]++
				}
				s := r.open("GET", "/muster/v1/watch/services?service="+strings.Join(mine, "&service="), "", "Last-Event-ID", id)
				timer := time.AfterFunc(time.Duration(rnd.IntN(60))*time.Millisecond, s.close)
				for {
					e, err := s.read()
					if err != nil {
						break // what came of the event counts for nothing
					}
					p := e.decode(t)
					l := lists[p.Service]
					l.take(t, e)
					if e.kind == "snapshot" || e.kind == "delta" {
						lists[p.Service] = l
					}
					if e.id != "" {
						if id = e.id; id != "0" {
							for _, n := range mine {
								var index uint64
								_, _ = fmt.Sscan(id, &index)
								truth.check(t, n, index, lists[n])
							}
						}
					}
					if rnd.IntN(10) == 0 {
						time.Sleep(time.Duration(rnd.IntN(4)) * time.Millisecond)
					}
				}
				timer.Stop()
				s.close()
			}
		})
	}
	rnd := rand.New(rand.NewPCG(seed, 1<<40))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	for range 300 {
		var batch []func(*state.Batch)
		for range 1 + rnd.IntN(4) {
			c := register(pick("n1", "n2", "N2"), pick("web", "db", "mail"), pick("a", "b", "c"), 80+rnd.IntN(2), pick("passing", "critical"))
			switch rnd.IntN(6) {
			case 0:
				c = deregister(pick("n1", "n2"), pick("", "a", "b"))
			case 1:
				c = func(b *state.Batch) { b.Fail() }
			}
			b := truth.store.Batch()
			c(b)
			b.Commit()
			truth.record(t)
			batch = append(batch, c)
		}
		r.run(batch...)
		time.Sleep(time.Duration(rnd.IntN(3)) * time.Millisecond)
	}
	close(stop)
	done.Wait()
	total := 0
	for _, n := range resumed {
		total += n
	}
	if total == 0 {
		t.Error("nobody resumed")
	}
	t.Logf("%d resumptions", total)
}
