package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestScaleAgent reloads and restarts an agent with 1,000 services and 3,000
// checks from files, and prints times, CPU and the writes that it caused.
func TestScaleAgent(t *testing.T) {
	if !*scale {
		t.Skip("figures for people: run with -scale")
	}
	const services = 1000
	a := durable(t)
	path := filepath.Join(t.TempDir(), "services.json")
	definitions := func(tag string) {
		var list []map[string]any
		for i := range services {
			var checks []map[string]any
			for c := range 3 {
				checks = append(checks, map[string]any{"id": fmt.Sprintf("c%d-%d", i, c), "name": "c", "ttl": "1h", "status": "passing"})
			}
			list = append(list, map[string]any{"id": fmt.Sprintf("s%d", i), "name": fmt.Sprintf("svc%d", i%100), "port": 1000 + i, "tags": []string{tag}, "checks": checks})
		}
		data, err := json.Marshal(map[string]any{"services": list})
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, string(data))
	}
	synced := func(tag string) {
		t.Helper()
		eventually(t, "the catalog has all of them", func() error {
			total := 0
			for i := range 100 {
				var list []healthEntry
				if err := a.get(fmt.Sprintf("/v1/health/service/svc%d?passing&tag=%s", i, tag), &list); err != nil {
					return err
				}
				total += len(list)
			}
			if total != services {
				return fmt.Errorf("it has %d", total)
			}
			return nil
		})
	}
	measured := func(what string, do func()) {
		t.Helper()
		cpu, index, start := a.cpu(t), a.stateIndex(t), time.Now()
		do()
		took := time.Since(start)
		t.Logf("%s: %v, CPU %v, %d writes", what, took.Round(time.Millisecond), a.cpu(t)-cpu, a.stateIndex(t)-index)
	}
	reload := func() {
		t.Helper()
		if err := a.put("/v1/agent/reload", nil); err != nil {
			t.Fatal(err)
		}
	}

	a.args = append(a.args, "-config-file", path)
	definitions("v1")
	start := time.Now()
	a.start()
	a.ready()
	synced("v1")
	t.Logf("first start: all in the catalog after %v", time.Since(start).Round(time.Millisecond))

	measured("reload without a change", func() { reload(); synced("v1") })
	definitions("v2")
	measured("reload with a new tag everywhere", func() { reload(); synced("v2") })

	a.kill()
	start = time.Now()
	a.start()
	a.ready()
	before := a.stateIndex(t)
	synced("v2")
	t.Logf("restart after kill -9: all right after %v, CPU %v, %d writes, resident %d MiB",
		time.Since(start).Round(time.Millisecond), a.cpu(t), a.stateIndex(t)-before, a.rss(t)>>20)
}

// cpu is the process's CPU time so far, in steps of 10 ms.
func (a *agent) cpu(t *testing.T) time.Duration {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", a.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+2:]))
	var ticks int
	for _, f := range fields[11:13] { // utime and stime, proc(5)
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// stateIndex is the number of commands that the state has seen.
func (a *agent) stateIndex(t *testing.T) int {
	t.Helper()
	var self struct{ Stats map[string]map[string]string }
	if err := a.get("/v1/agent/self", &self); err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(self.Stats["consul"]["state_index"])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
