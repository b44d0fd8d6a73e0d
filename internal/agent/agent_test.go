package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/config"
	"github.com/muster-discovery/muster/internal/telemetry"
)

// options are a development agent's on free ports, changed by flags.
func options(t *testing.T, name string, set ...config.Setting) Options {
	t.Helper()
	flags := []config.Setting{{Flag: "-node", Key: "node_name", Value: name}}
	for _, key := range []string{"http", "dns", "server", "serf_lan", "serf_wan", "grpc"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		flags = append(flags, config.Setting{Flag: "-" + key, Key: "ports." + key, Value: l.Addr().(*net.TCPAddr).Port})
	}
	cfg, _, err := config.Load(config.Options{Dev: true, Flags: append(flags, set...)})
	if err != nil {
		t.Fatal(err)
	}
	tel, err := telemetry.New(telemetry.Config{Output: t.Output(), Level: "warn"})
	if err != nil {
		t.Fatal(err)
	}
	return Options{Config: cfg, Telemetry: tel}
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(10 * time.Second)
	for !check() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: not within 10 s", what)
		}
	}
}

// noLeftovers compares the number of goroutines before and after.
func noLeftovers(t *testing.T, before int) {
	t.Helper()
	eventually(t, "all goroutines have ended", func() bool {
		http.DefaultClient.CloseIdleConnections()
		return runtime.NumGoroutine() <= before
	})
}

// TestTwoAgentsInOneProcess: nothing is global, and what was started ends.
func TestTwoAgentsInOneProcess(t *testing.T) {
	before := runtime.NumGoroutine()
	var agents []*Agent
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	for i := range 2 {
		a, err := New(options(t, fmt.Sprintf("n%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		agents = append(agents, a)
		go func() { done <- a.serve(ctx) }()
	}
	for _, a := range agents {
		eventually(t, "a leader", func() bool { return a.Leader() != "" })
		resp, err := http.Get("http://" + a.cfg.Listen.HTTP[0].Address + "/v1/catalog/nodes")
		if err != nil {
			t.Fatal(err)
		}
		var nodes []struct{ Node string }
		if err := json.NewDecoder(resp.Body).Decode(&nodes); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if len(nodes) != 1 || nodes[0].Node != a.cfg.Node.Name {
			t.Errorf("agent %s has nodes %v", a.cfg.Node.Name, nodes)
		}
	}
	cancel()
	for range agents {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	noLeftovers(t, before+1) // net/http may keep one of its own for a moment longer
}

// TestStartFailsHalfWay: the last part can't start; everything before it is
// stopped again, and the same ports work afterwards.
func TestStartFailsHalfWay(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := taken.Addr().(*net.TCPAddr).Port
	before := runtime.NumGoroutine()
	o := options(t, "n1", config.Setting{Flag: "-dns-port", Key: "ports.dns", Value: port},
		config.Setting{Flag: "-data-dir", Key: "data_dir", Value: filepath.Join(t.TempDir(), "data")})
	_, err = New(o)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint(port)) {
		t.Fatalf("got %v, want an error that names port %d", err, port)
	}
	noLeftovers(t, before)
	taken.Close()

	o.Telemetry, err = telemetry.New(telemetry.Config{Output: t.Output(), Level: "warn"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(o)
	if err != nil {
		t.Fatalf("second start with the same ports and data dir: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := a.serve(ctx); err != nil {
		t.Error(err)
	}
}

// TestLeaveThroughTheAPI ends the agent after an orderly goodbye.
func TestLeaveThroughTheAPI(t *testing.T) {
	a, err := New(options(t, "n1"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.serve(context.Background()) }()
	req, err := http.NewRequest(http.MethodPut, "http://"+a.cfg.Listen.HTTP[0].Address+"/v1/agent/leave", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("leave answered %s", resp.Status)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the agent did not end after leaving")
	}
}

// TestLeaveWaitsForItsCaller: the agent has left, and goes on serving until whoever
// asked for it has the answer.
func TestLeaveWaitsForItsCaller(t *testing.T) {
	a, err := New(options(t, "n1"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.serve(context.Background()) }()
	asked, answered := context.WithCancel(context.Background())
	defer answered()
	if err := a.Leave(asked); err != nil {
		t.Error(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range 20 { // time enough to stop, if it did
		resp, err := client.Get("http://" + a.cfg.Listen.HTTP[0].Address + "/v1/agent/self")
		if err != nil {
			t.Fatalf("the agent ended before the request to leave did: %v", err)
		}
		resp.Body.Close()
	}
	answered()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
