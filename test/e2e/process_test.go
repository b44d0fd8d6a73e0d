package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary is built once for all tests of the package.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "muster-e2e-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "muster")
	build := exec.Command("go", "build", "-o", binary, "./cmd/muster")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// deadline bounds every wait for a condition; generous, since CI is busy.
const deadline = 20 * time.Second

// eventually waits until check returns nil.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	end := time.After(deadline)
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: not within %v: %v", what, deadline, err)
		}
	}
}

// agent is one running process with its ports.
type agent struct {
	t      *testing.T
	name   string
	dir    string
	args   []string
	ports  map[string]int
	cmd    *exec.Cmd
	output *syncBuffer
	done   chan struct{}
}

type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// newAgent prepares an agent with ports and a config file of its own. Keys of
// config are added to the file.
func newAgent(t *testing.T, name string, config map[string]any, args ...string) *agent {
	t.Helper()
	a := &agent{t: t, name: name, dir: t.TempDir(), ports: freePorts(t, "http", "dns", "server", "serf_lan", "serf_wan", "grpc")}
	ports := map[string]any{"https": -1, "grpc_tls": -1}
	for k, p := range a.ports {
		ports[k] = p
	}
	file := map[string]any{"node_name": name, "bind_addr": "127.0.0.1", "ports": ports}
	for k, v := range config {
		file[k] = v
	}
	data, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(a.dir, "agent.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	a.args = append([]string{"agent", "-config-file", path}, args...)
	t.Cleanup(func() {
		a.kill()
		if t.Failed() {
			t.Logf("output of %s:\n%s", name, tail(a.output.String(), 6000))
		}
	})
	a.output = &syncBuffer{}
	return a
}

// durable prepares a single server that keeps its state in a data dir.
func durable(t *testing.T) *agent {
	return newAgent(t, "n1", map[string]any{"data_dir": filepath.Join(t.TempDir(), "data")}, "-server", "-bootstrap-expect=1")
}

func dev(t *testing.T) *agent { return newAgent(t, "n1", nil, "-dev") }

func (a *agent) start() {
	a.t.Helper()
	a.cmd = exec.Command(binary, a.args...)
	a.cmd.Dir = a.dir
	a.cmd.Stdout, a.cmd.Stderr = a.output, a.output
	// The kernel ends the child if the test process dies.
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := a.cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	cmd, done := a.cmd, make(chan struct{})
	a.done = done
	go func() { cmd.Wait(); close(done) }()
}

// ready waits until a leader is known to this agent.
func (a *agent) ready() *agent {
	a.t.Helper()
	eventually(a.t, a.name+" has a leader", func() error {
		select {
		case <-a.done:
			a.t.Fatalf("%s ended: %v", a.name, a.cmd.ProcessState)
		default:
		}
		var leader string
		if err := a.get("/v1/status/leader", &leader); err != nil {
			return err
		}
		if leader == "" {
			return fmt.Errorf("no leader yet")
		}
		return nil
	})
	return a
}

// kill is SIGKILL, and waits for the end.
func (a *agent) kill() {
	if a.cmd == nil {
		return
	}
	a.cmd.Process.Kill()
	<-a.done
}

// stop sends a signal and waits for the end.
func (a *agent) stop(sig os.Signal) {
	a.t.Helper()
	a.cmd.Process.Signal(sig)
	select {
	case <-a.done:
	case <-time.After(deadline):
		a.t.Fatalf("%s did not end within %v of %v", a.name, deadline, sig)
	}
}

func (a *agent) url(path string) string {
	return "http://127.0.0.1:" + strconv.Itoa(a.ports["http"]) + path
}

// client keeps connections: tests that load an agent would otherwise measure their making.
var client = &http.Client{Timeout: deadline, Transport: &http.Transport{MaxIdleConnsPerHost: 100}}

// get decodes a 200 answer into v.
func (a *agent) get(path string, v any) error {
	resp, err := client.Get(a.url(path))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return fmt.Errorf("GET %s: %s: %s", path, resp.Status, text)
	}
	return json.NewDecoder(resp.Body).Decode(v)
}

// put sends body as JSON and expects 200.
func (a *agent) put(path string, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPut, a.url(path), bytes.NewReader(data))
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("PUT %s: %s: %s", path, resp.Status, text)
	}
	return err
}

// freePorts reserves nothing: the ports were free a moment ago, on TCP and UDP.
func freePorts(t *testing.T, names ...string) map[string]int {
	t.Helper()
	ports := make(map[string]int, len(names))
	for _, name := range names {
		for try := 0; ; try++ {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			port := l.Addr().(*net.TCPAddr).Port
			p, err := net.ListenPacket("udp", l.Addr().String())
			if err != nil && try < 10 {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			p.Close()
			ports[name] = port
			break
		}
	}
	return ports
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[i+1:]
	}
	return s
}
