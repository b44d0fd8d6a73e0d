package testbed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Node is an agent on a host of its own, with the usual ports. The process may come and
// go; one goroutine at a time may change it.
type Node struct {
	*Host
	Binary string
	args   []string
	output *output
	cmd    *exec.Cmd
	done   chan struct{}
	paused bool
}

// output keeps the end of what a process has written.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const outputKept = 1 << 20

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.buf.Len() > outputKept {
		o.buf.Next(outputKept / 2)
	}
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// Node prepares an agent. Keys of config are added to its configuration; join are hosts
// that it looks for.
func (b *Bed) Node(h *Host, config map[string]any, join []*Host) *Node {
	b.t.Helper()
	disk := filepath.Join(h.dir, "disk")
	if _, err := os.Stat(disk); err != nil {
		disk = h.dir
	}
	file := map[string]any{"node_name": h.Name, "bind_addr": h.Addr, "client_addr": "127.0.0.1", "data_dir": filepath.Join(disk, "data")}
	var addrs []string
	for _, j := range join {
		addrs = append(addrs, j.Addr)
	}
	file["retry_join"] = addrs
	for k, v := range config {
		file[k] = v
	}
	text, err := json.MarshalIndent(file, "", "  ")
	b.must(err)
	path := filepath.Join(h.dir, "agent.json")
	b.must(os.WriteFile(path, text, 0o600))
	n := &Node{Host: h, Binary: binary, args: []string{"agent", "-config-file", path}, output: &output{}}
	b.nodes = append(b.nodes, n)
	return n
}

// Start starts the process.
func (n *Node) Start() {
	n.bed.t.Helper()
	n.cmd = exec.Command(n.Binary, n.args...)
	n.cmd.Dir = n.dir
	n.cmd.Stdout, n.cmd.Stderr = n.output, n.output
	// The kernel ends the process if the test's ends.
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	n.bed.must(n.inside(n.cmd.Start))
	cmd, done := n.cmd, make(chan struct{})
	n.done = done
	go func() { _ = cmd.Wait(); close(done) }()
}

// Running is whether the process has not ended.
func (n *Node) Running() bool {
	if n.done == nil {
		return false
	}
	select {
	case <-n.done:
		return false
	default:
		return true
	}
}

// Kill is SIGKILL, and waits for the end.
func (n *Node) Kill() {
	if n.cmd == nil {
		return
	}
	n.paused = false
	_ = n.cmd.Process.Kill()
	<-n.done
	n.client.CloseIdleConnections()
}

// Stop sends a signal and waits for the end.
func (n *Node) Stop(sig os.Signal) {
	n.bed.t.Helper()
	_ = n.cmd.Process.Signal(sig)
	select {
	case <-n.done:
		n.client.CloseIdleConnections()
	case <-time.After(Patience):
		n.bed.t.Fatalf("%s did not end within %v of %v", n.Name, Patience, sig)
	}
}

// Pause stops the process where it is, and Continue lets it go on.
func (n *Node) Pause() {
	n.paused = true
	_ = n.cmd.Process.Signal(syscall.SIGSTOP)
}

// Continue undoes Pause.
func (n *Node) Continue() {
	if n.paused {
		n.paused = false
		_ = n.cmd.Process.Signal(syscall.SIGCONT)
	}
}

// end is the end of the test.
func (n *Node) end() {
	n.Kill()
	if !n.bed.t.Failed() || n.cmd == nil {
		return
	}
	path := filepath.Join(Artifacts(), n.Name+".log")
	if err := os.WriteFile(path, []byte(n.output.String()), 0o644); err == nil {
		n.bed.t.Logf("output of %s is in %s", n.Name, path)
	}
}

// Pid is the process id.
func (n *Node) Pid() int { return n.cmd.Process.Pid }

// Output is the end of what the process has written.
func (n *Node) Output() string { return n.output.String() }

// Artifacts is the folder for what a failed test leaves for people; no bed removes it.
func Artifacts() string {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("muster-failed-%d", os.Getpid()))
	_ = os.MkdirAll(dir, 0o755)
	return dir
}
