package e2e

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

var scale = flag.Bool("scale", false, "run the scale tests: minutes, and figures for people")

// TestScale registers many instances, looks them up, churns and restarts, and
// prints what that took. Its assertions are about content; figures are for people.
func TestScale(t *testing.T) {
	if !*scale {
		t.Skip("figures for people: run with -scale")
	}
	for _, tc := range []struct{ instances, services int }{{1000, 1}, {10000, 500}} {
		t.Run(fmt.Sprintf("%d instances over %d services", tc.instances, tc.services), func(t *testing.T) {
			a := durable(t)
			a.start()
			a.ready()
			idle := a.rss(t)

			start := time.Now()
			a.registerMany(t, tc.instances, tc.services, 0)
			t.Logf("registered in %v; resident %d MiB before, %d MiB after", time.Since(start).Round(time.Millisecond), idle>>20, a.rss(t)>>20)
			a.countsAll(t, tc.instances, tc.services)

			start = time.Now()
			a.registerMany(t, tc.instances, tc.services, 1) // every instance changes its port
			t.Logf("changed every instance in %v", time.Since(start).Round(time.Millisecond))
			a.countsAll(t, tc.instances, tc.services)
			r, err := a.ask("svc0.service.consul.", dns.TypeA)
			if err != nil || len(r.Answer) == 0 {
				t.Errorf("DNS answer %v, %v", r, err)
			}

			a.kill()
			start = time.Now()
			a.start()
			a.ready()
			a.countsAll(t, tc.instances, tc.services)
			t.Logf("after kill -9: all answers right again in %v; resident %d MiB", time.Since(start).Round(time.Millisecond), a.rss(t)>>20)
		})
	}
}

// registerMany registers instances over services with 32 callers.
func (a *agent) registerMany(t *testing.T, instances, services, generation int) {
	t.Helper()
	work := make(chan int)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for i := range work {
				err := a.put("/v1/catalog/register", map[string]any{
					"Node": fmt.Sprintf("node%d", i), "Address": fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255),
					"Service": map[string]any{
						"ID": fmt.Sprintf("svc-%d", i), "Service": fmt.Sprintf("svc%d", i%services), "Port": 1000 + generation,
						"Tags": []string{"v1", "prod"}, "Meta": map[string]string{"version": "1.2.3", "zone": fmt.Sprintf("z%d", i%3)},
					},
					"Checks": []map[string]any{
						{"CheckID": "alive", "Name": "alive", "ServiceID": fmt.Sprintf("svc-%d", i), "Status": "passing"},
						{"CheckID": "host", "Name": "host", "Status": "passing"},
					},
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range instances {
		work <- i
	}
	close(work)
	wg.Wait()
}

// countsAll compares the number of passing instances of every service.
func (a *agent) countsAll(t *testing.T, instances, services int) {
	t.Helper()
	total := 0
	for s := range services {
		list, err := a.passing(fmt.Sprintf("svc%d", s))
		if err != nil {
			t.Fatal(err)
		}
		total += len(list)
	}
	if total != instances {
		t.Errorf("%d passing instances, want %d", total, instances)
	}
}

// rss is the process's resident memory in bytes.
func (a *agent) rss(t *testing.T) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", a.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
