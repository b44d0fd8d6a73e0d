package e2e

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
)

var (
	failoverRounds = flag.Int("failover-rounds", 3, "how often TestKilledLeader kills the leader")
	soak           = flag.Duration("soak", 0, "how long TestSoak keeps all cores busy; 0: not at all")
)

// TestKilledLeader kills the leader under load, again and again, and looks through a
// survivor: at writes, reads, DNS, and at the dead server's health.
func TestKilledLeader(t *testing.T) {
	agents := cluster(t)
	if err := agents[0].register("w0"); err != nil {
		t.Fatal(err)
	}
	var gaps, seen []time.Duration
	for round := range *failoverRounds {
		leader, survivors := split(t, agents)
		survivor := survivors[round%2]
		survivor.sees(t, "stale", 1)
		survivor.passingServers(t, 3)

		load := startLoad(survivor, round)
		pause(300 * time.Millisecond)
		killed := time.Now()
		leader.kill()
		survivor.passingServers(t, 2)
		seen = append(seen, time.Since(killed))
		pause(time.Second)
		gap := load.stop(t, killed)
		gaps = append(gaps, gap)

		leader.start()
		leader.ready()
		survivor.passingServers(t, 3)
	}
	t.Logf("write gap of %d rounds: median %v, worst %v", len(gaps), median(gaps), slices.Max(gaps))
	t.Logf("serfHealth critical: median %v, worst %v", median(seen), slices.Max(seen))
	if worst := slices.Max(gaps); worst > 2*time.Second {
		t.Errorf("no write for %v", worst)
	}
	if worst := slices.Max(seen); worst > 6*time.Second {
		t.Errorf("a dead server was noticed after %v", worst)
	}
}

// pause lets a load run for a while: its length is the test.
func pause(d time.Duration) { <-time.After(d) }

func median(list []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

func split(t *testing.T, agents []*agent) (leader *agent, survivors []*agent) {
	t.Helper()
	eventually(t, "all know the leader", func() error {
		var addrs []string
		for _, a := range agents {
			var addr string
			if err := a.get("/v1/status/leader", &addr); err != nil {
				return err
			}
			addrs = append(addrs, addr)
		}
		if addrs = slices.Compact(addrs); len(addrs) != 1 || addrs[0] == "" {
			return fmt.Errorf("leaders: %q", addrs)
		}
		return nil
	})
	leader = leaderOf(t, agents)
	for _, a := range agents {
		if a != leader {
			survivors = append(survivors, a)
		}
	}
	return leader, survivors
}

// passingServers waits until the catalog shows so many servers with passing checks.
func (a *agent) passingServers(t *testing.T, want int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d servers are passing", want), func() error {
		list, err := a.passing("consul")
		if err == nil && len(list) != want {
			err = fmt.Errorf("%d are", len(list))
		}
		return err
	})
}

// load is writes, reads and DNS questions through one agent, each a hundred a second.
type load struct {
	ended chan struct{}
	wg    sync.WaitGroup

	mu     sync.Mutex
	writes []time.Time // of successes
	faults []error
}

func startLoad(a *agent, round int) *load {
	l := &load{ended: make(chan struct{})}
	l.every(func(n int) error {
		err := a.put(fmt.Sprintf("/v1/kv/failover/%d/%d", round, n%100), n)
		if err == nil {
			l.mu.Lock()
			l.writes = append(l.writes, time.Now())
			l.mu.Unlock()
		}
		return err
	})
	for _, mode := range []string{"", "stale"} {
		l.every(func(int) error {
			n, err := a.count(mode)
			if err == nil && n != 1 {
				err = fmt.Errorf("read %q: %d instances", mode, n)
			}
			return err
		})
	}
	l.every(func(int) error {
		m, err := a.ask("web.service.consul.", dns.TypeA)
		if err == nil && len(m.Answer) != 1 {
			err = fmt.Errorf("dns: %s with %d answers", dns.RcodeToString[m.Rcode], len(m.Answer))
		}
		return err
	})
	return l
}

func (l *load) every(call func(n int) error) {
	l.wg.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-tick.C:
			case <-l.ended:
				return
			}
			l.wg.Go(func() {
				if err := call(n); err != nil {
					l.mu.Lock()
					l.faults = append(l.faults, err)
					l.mu.Unlock()
				}
			})
		}
	})
}

// stop ends the load and returns the longest time after since without a write.
func (l *load) stop(t *testing.T, since time.Time) (gap time.Duration) {
	t.Helper()
	close(l.ended)
	l.wg.Wait()
	if len(l.faults) > 0 {
		t.Errorf("%d calls failed, the first: %v", len(l.faults), l.faults[0])
	}
	slices.SortFunc(l.writes, time.Time.Compare)
	for i, at := range l.writes[1:] {
		if at.After(since) {
			gap = max(gap, at.Sub(l.writes[i]))
		}
	}
	return gap
}

// TestSoak keeps all cores busy, several times over: nobody stands for election, and
// nobody is taken for dead.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("-soak says for how long")
	}
	agents := cluster(t)
	if err := agents[0].register("w0"); err != nil {
		t.Fatal(err)
	}
	leader, _ := split(t, agents)
	leader.passingServers(t, 3)
	term, err := leader.term()
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var busy sync.WaitGroup
	for range 2 * runtime.NumCPU() {
		busy.Go(func() {
			for n := 0; !stop.Load(); n++ {
				_ = n * n
			}
		})
	}
	defer busy.Wait()
	defer stop.Store(true)

	load := startLoad(agents[0], 0)
	critical := 0
	for end := time.Now().Add(*soak); time.Now().Before(end); pause(100 * time.Millisecond) {
		if n, err := agents[1].criticals(); err != nil || n > 0 {
			critical++
			t.Errorf("%d checks are critical, %v", n, err)
		}
	}
	gap := load.stop(t, time.Time{})
	now, err := leader.term()
	t.Logf("%v under load: term %s became %s, %d false criticals, largest write gap %v", *soak, term, now, critical, gap)
	if err != nil || now != term {
		t.Errorf("an election: term %s became %s, %v", term, now, err)
	}
}

func (a *agent) term() (string, error) {
	var self struct {
		Stats map[string]map[string]string
	}
	if err := a.get("/v1/agent/self", &self); err != nil {
		return "", err
	}
	if term := self.Stats["raft"]["term"]; term != "" {
		return term, nil
	}
	return "", errors.New("no term in the stats")
}

// criticals is the number of critical checks.
func (a *agent) criticals() (int, error) {
	var list []any
	err := a.get("/v1/health/state/critical?stale", &list)
	return len(list), err
}

// TestLeaveIsSeenAtOnce: a server that leaves takes its services out of the catalog
// before gossip spreads the news, and nobody brings them back meanwhile.
func TestLeaveIsSeenAtOnce(t *testing.T) {
	agents := cluster(t)
	for _, a := range agents {
		a.passingServers(t, 3)
	}
	_, followers := split(t, agents)
	leaving, other := followers[0], followers[1]
	if err := leaving.put("/v1/agent/service/register", map[string]any{"Name": "web", "Port": 80}); err != nil {
		t.Fatal(err)
	}
	other.sees(t, "", 1)
	start := time.Now()
	leaving.wantLeave(t)
	other.sees(t, "", 0)
	took := time.Since(start)
	t.Logf("gone after %v", took)
	for range 30 {
		if n, err := other.count(""); err != nil || n != 0 {
			t.Fatalf("it came back: %d instances, %v", n, err)
		}
		pause(100 * time.Millisecond)
	}
	other.passingServers(t, 2)
}

// wantLeave has an agent leave by the API, without waiting for the answer.
func (a *agent) wantLeave(t *testing.T) {
	t.Helper()
	go func() {
		req, err := http.NewRequest(http.MethodPut, a.url("/v1/agent/leave"), strings.NewReader(""))
		if err != nil {
			return
		}
		if resp, err := client.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}()
}
