package testbed

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// echo answers datagrams on a host until the test ends.
func echo(t *testing.T, h *Host) {
	t.Helper()
	var conn net.PacketConn
	err := h.inside(func() (err error) {
		conn, err = net.ListenPacket("udp", h.Addr+":7")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 64)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(buf[:n], from)
		}
	}()
	t.Cleanup(func() { conn.Close(); <-done })
}

// hears is whether a datagram and its answer get through.
func hears(t *testing.T, from, to *Host) bool {
	t.Helper()
	conn, err := from.dial(t.Context(), "udp", to.Addr+":7")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Fatalf("the sender is told of the fault: %v", err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	_, err = conn.Read(make([]byte, 1))
	return err == nil
}

// TestFaults: each fault stops what it says and nothing else, and heals.
func TestFaults(t *testing.T) {
	b := New(t)
	x, y, z := b.Host("x"), b.Host("y"), b.Host("z")
	for _, h := range b.hosts {
		echo(t, h)
	}
	want := func(what string, xy, xz, yz bool) {
		t.Helper()
		if got := [3]bool{hears(t, x, y), hears(t, x, z), hears(t, y, z)}; got != [3]bool{xy, xz, yz} {
			t.Errorf("%s: x-y, x-z, y-z are %v, want %v", what, got, [3]bool{xy, xz, yz})
		}
	}
	heal := func() {
		t.Helper()
		b.must(b.Heal())
		want("healed", true, true, true)
	}
	want("at first", true, true, true)
	b.must(Cut([]*Host{x}, []*Host{y, z}))
	want("x is cut off", false, false, true)
	heal()
	b.must(y.CutOneWay(x)) // the answer is lost
	want("y does not reach x", false, true, true)
	heal()
	b.must(z.Silence())
	want("z is silent", true, false, false)
	heal()
	b.must(x.Narrow(64, 50*time.Millisecond))
	want("x is slow", true, true, true)
	heal()
	if err := Netem(); err != nil {
		t.Logf("without delay and loss: %v", err)
		return
	}
	b.must(x.Delay(200*time.Millisecond, 0))
	want("x is late", false, false, true)
	heal()
}

// TestDisk: a full disk is full, and empty again afterwards.
func TestDisk(t *testing.T) {
	b := New(t)
	h := b.Host("x")
	h.Disk(4 << 20)
	b.must(h.FillDisk(0))
	path := filepath.Join(h.dir, "disk", "file")
	if err := os.WriteFile(path, make([]byte, 8192), 0o600); err == nil {
		t.Error("there is space on a full disk")
	}
	b.must(h.EmptyDisk())
	if err := os.WriteFile(path, make([]byte, 8192), 0o600); err != nil {
		t.Error(err)
	}
}

// TestLeftovers: what a process left that is gone is removed, and nothing else.
func TestLeftovers(t *testing.T) {
	b := New(t)
	b.Host("x")
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	left := name(gone.Process.Pid, "y")
	b.must(run("ip", "netns", "add", left))
	b.must(os.MkdirAll(folder(gone.Process.Pid), 0o755))
	removeLeftovers()
	all := strings.Join(namespaces(), " ")
	if strings.Contains(all, left) || !strings.Contains(all, b.hub) {
		t.Errorf("namespaces are %s", all)
	}
	if _, err := os.Stat(folder(gone.Process.Pid)); !os.IsNotExist(err) {
		t.Error("its folder is still there")
	}
}
