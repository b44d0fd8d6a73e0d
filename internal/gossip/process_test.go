package gossip

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// childEnv makes the test binary a plain agent; its value is the node name.
const childEnv = "MUSTER_GOSSIP_TEST_CHILD"

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		runChild(name)
		return
	}
	os.Exit(m.Run())
}

func loopback(name string) Config {
	return Config{
		Identity: Identity{NodeName: name, NodeID: "id-" + name, Datacenter: "dc1", Server: true, Build: "1.22.0", ServerPort: 8300},
		LAN:      PoolConfig{BindAddr: "127.0.0.1"},
		Logger:   slog.New(slog.DiscardHandler),
	}
}

// runChild opens a pool, prints its port, and waits to be killed.
func runChild(name string) {
	p, err := Open(loopback(name))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.LocalMember().Port)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // ends with the parent
}

// TestKilledProcess: real sockets, a real kill -9. The goal is about 5 s; the
// bound leaves room for a busy machine.
func TestKilledProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	p, err := Open(loopback("parent"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	victim, addr := child(t, "victim")
	_, bystander := child(t, "bystander")
	if n, err := p.Join([]string{addr, bystander}, false); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	await(t, p, "victim", EventJoined)
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	await(t, p, "victim", EventFailed)
	took := time.Since(killed)
	t.Logf("failed %v after the kill", took)
	if took > 8*time.Second {
		t.Errorf("it took %v to notice", took)
	}
}

func await(t *testing.T, p *Pools, name string, kind EventType) {
	t.Helper()
	deadline := time.After(15 * time.Second)
	for {
		select {
		case e := <-p.Events():
			if e.Member.Name == name && e.Type == kind {
				return
			}
		case <-deadline:
			t.Fatalf("no event: %s %v", name, kind)
		}
	}
}

func child(t *testing.T, name string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(line)
	}
	return cmd, net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

func TestPortTaken(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	cfg := loopback("n1")
	cfg.LAN.BindPort = ln.Addr().(*net.TCPAddr).Port
	cfg.WAN = &PoolConfig{BindAddr: "127.0.0.1"} // is closed again
	p, err := Open(cfg)
	if err == nil {
		t.Fatal("opened", p.Close())
	}
	for _, want := range []string{ln.Addr().String(), "ports.serf_lan"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

// TestForeignOnLoopback: on real sockets the refusal may arrive as an end or as a
// reset; both must lead to the remedy.
func TestForeignOnLoopback(t *testing.T) {
	p, err := Open(loopback("n1"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	foreign := foreignAgent(t, nil)
	theirs := foreign.LocalMember()
	if _, err := p.Join([]string{fmt.Sprintf("%s:%d", theirs.Addr, theirs.Port)}, false); err == nil || !strings.Contains(err.Error(), "muster import consul") {
		t.Errorf("Muster joins foreign: %v", err)
	}
	if _, err := foreign.Join([]string{fmt.Sprintf("127.0.0.1:%d", p.LocalMember().Port)}, true); err == nil {
		t.Error("foreign joins Muster")
	}
	if len(p.Members(false)) != 1 || foreign.NumNodes() != 1 {
		t.Errorf("members: %v and %v", p.Members(false), foreign.Members())
	}
}

// TestJoinIsMutual: when Join returns, the other side knows who has joined.
func TestJoinIsMutual(t *testing.T) {
	for range 20 {
		a, err := Open(loopback("first"))
		if err != nil {
			t.Fatal(err)
		}
		b, err := Open(loopback("second"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Join([]string{fmt.Sprintf("127.0.0.1:%d", a.LocalMember().Port)}, false); err != nil {
			t.Fatal(err)
		}
		if m := a.Members(false); len(m) != 2 {
			t.Errorf("the other side knows %v", m)
		}
		if err := errors.Join(a.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	}
}
