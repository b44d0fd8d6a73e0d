package streamapi

import (
	"context"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/muster-discovery/muster/internal/limit"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/state"
	v1 "github.com/muster-discovery/muster/proto/muster/discovery/v1"
)

// counted counts who is in the gate.
type counted struct {
	*limit.Gate
	now, most, all atomic.Int64
}

func (g *counted) Enter(ctx context.Context) (func(), error) {
	leave, err := g.Gate.Enter(ctx)
	if err != nil {
		return nil, err
	}
	g.all.Add(1)
	n := g.now.Add(1)
	for most := g.most.Load(); n > most && !g.most.CompareAndSwap(most, n); {
		most = g.most.Load()
	}
	return func() { g.now.Add(-1); leave() }, nil
}

var storm = flag.Int("storm", 500, "streams of TestStorm; above that the race detector gives up")

// TestStorm: as after a restart of a server, very many streams come at once. All get
// their snapshot, few are at work at a time, memory stays bounded, and whoever looks
// something up in the meantime is not held up for long.
func TestStorm(t *testing.T) {
	streams, instances := *storm, 100
	bounds := limit.DefaultGateConfig(runtime.GOMAXPROCS(0))
	bounds.Hold = time.Minute // so that who is at work can be counted
	gate := &counted{Gate: limit.NewGate(bounds)}
	r := newRegistryWith(t, func(c *Config) { c.Gate = gate }, grpc.MaxConcurrentStreams(250))
	var commands []func(*state.Batch)
	for i := range instances {
		commands = append(commands, register(fmt.Sprintf("n%d", i), "web", "i", 80, model.StatusPassing))
	}
	r.run(commands...)

	quiet := r.lookups(t, 300, func() bool { return false })
	before := heap()
	conns := make([]*grpc.ClientConn, (streams+249)/250)
	for i := range conns {
		conns[i], _ = r.dial()
		defer conns[i].Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	start := time.Now()
	took := make([]time.Duration, streams)
	var got atomic.Int64
	var all sync.WaitGroup
	for i := range streams {
		all.Go(func() {
			if err := snapshotOf(ctx, conns[i%len(conns)], instances); err != nil {
				t.Errorf("stream %d: %v", i, err)
			}
			took[i] = time.Since(start)
			got.Add(1)
		})
	}
	var peak uint64
	during := r.lookups(t, 1<<30, func() bool {
		peak = max(peak, heap())
		return got.Load() == int64(streams)
	})
	all.Wait()
	slices.Sort(took)
	at := func(d []time.Duration, share float64) time.Duration { return d[int(share*float64(len(d)-1))] }
	each := (peak - min(before, peak)) / uint64(streams)
	t.Logf("%d streams: half after %v, the last after %v; %d snapshots at once at most; %d KiB a stream with its client",
		streams, at(took, 0.5).Round(time.Millisecond), at(took, 1).Round(time.Millisecond), gate.most.Load(), each>>10)
	t.Logf("lookups: p50 %v p99 %v before, p50 %v p99 %v worst %v meanwhile (%d); ratio of the p99 %.1f", at(quiet, 0.5), at(quiet, 0.99),
		at(during, 0.5), at(during, 0.99), at(during, 1), len(during), float64(at(during, 0.99))/float64(at(quiet, 0.99)))
	if gate.most.Load() > int64(bounds.Running) || gate.all.Load() < int64(streams) {
		t.Errorf("%d at once of %d that passed the gate", gate.most.Load(), gate.all.Load())
	}
	if each > 256<<10 {
		t.Errorf("%d KiB a stream", each>>10)
	}
	if worst := at(during, 0.99); worst > time.Second {
		t.Errorf("a lookup in a hundred took %v", worst)
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// lookups asks for the service until it is enough, and returns the sorted times.
func (r *registry) lookups(t *testing.T, n int, enough func() bool) (took []time.Duration) {
	t.Helper()
	for range n {
		start := time.Now()
		a, err := r.lookup.Do(t.Context(), &lookup.Request{Topic: model.NewTopic(model.TopicService, "web"), Encoder: instances})
		if err != nil || a.Count == 0 {
			t.Fatalf("%v", err)
		}
		took = append(took, time.Since(start))
		if enough() {
			break
		}
		time.Sleep(time.Millisecond) // the pace of the measurement
	}
	slices.Sort(took)
	return took
}

// snapshotOf opens a stream and reads until the snapshot is whole. The stream stays.
func snapshotOf(ctx context.Context, conn *grpc.ClientConn, want int) error {
	s, err := v1.NewDiscoveryClient(conn).Watch(ctx)
	if err != nil {
		return err
	}
	if err := s.Send(&v1.WatchRequest{Request: &v1.WatchRequest_Subscribe{Subscribe: &v1.Subscribe{
		Watch: 1, Kind: v1.Kind_KIND_SERVICE, Service: "web", Stale: true,
	}}}); err != nil && err != io.EOF {
		return err
	}
	for got := 0; ; {
		m, err := s.Recv()
		if err != nil {
			return err
		}
		if e := m.GetError(); e != nil {
			return fmt.Errorf("%s", e.GetText())
		}
		got += len(m.GetSnapshot().GetInstances())
		if m.GetSnapshot().GetLast() {
			if got != want {
				return fmt.Errorf("%d instances", got)
			}
			return nil
		}
	}
}
