package testbed

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Bed is a network of hosts. One goroutine at a time makes hosts and faults; those methods
// of nodes that only ask may be called by many.
type Bed struct {
	t     testing.TB
	hub   string
	hosts []*Host
	nodes []*Node
	dir   string
}

// New makes a network without hosts, or skips the test with the reason. A process has one
// at a time.
func New(t testing.TB) *Bed {
	t.Helper()
	if err := possible(); err != nil {
		fmt.Fprintf(os.Stderr, "%s is skipped: %v\n", t.Name(), err)
		t.Skip(err)
	}
	b := &Bed{t: t, hub: name(os.Getpid(), "hub"), dir: folder(os.Getpid())}
	t.Cleanup(b.remove)
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b.must(run("ip", "netns", "add", b.hub))
	b.must(batch("ip", b.hub, "link add br0 type bridge", "link set br0 up"))
	return b
}

func (b *Bed) remove() {
	for _, n := range b.nodes {
		n.end()
	}
	for _, h := range b.hosts {
		h.client.CloseIdleConnections()
		_ = h.ns.Close()
	}
	removeAll(os.Getpid())
}

func (b *Bed) must(err error) {
	if err != nil {
		b.t.Helper()
		b.t.Fatal(err)
	}
}

// batch runs commands of ip or tc in a namespace; it stops at the first that fails.
func batch(tool, ns string, lines ...string) error {
	cmd := exec.Command(tool, "-n", ns, "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s in %s: %w: %s (%s)", tool, ns, err, strings.TrimSpace(string(out)), strings.Join(lines, "; "))
	}
	return nil
}

// Host is a namespace with one address on the bed's network.
type Host struct {
	Name   string
	Addr   string
	bed    *Bed
	number int
	netns  string
	ns     *os.File
	dir    string
	client *http.Client

	cut, slow bool // faults that Heal has to undo
}

// Host adds a host. Its folder is on the machine's disk; Disk gives it one of its own.
func (b *Bed) Host(hostname string) *Host {
	b.t.Helper()
	n := len(b.hosts) + 1
	if n > most {
		b.t.Fatalf("a bed has room for %d hosts", most)
	}
	h := &Host{Name: hostname, bed: b, number: n, netns: name(os.Getpid(), hostname), dir: filepath.Join(b.dir, hostname),
		Addr: address(n)}
	b.must(os.Mkdir(h.dir, 0o755))
	b.must(run("ip", "netns", "add", h.netns))
	b.must(batch("ip", b.hub, fmt.Sprintf("link add %s type veth peer name eth0 netns %s", h.port(), h.netns),
		fmt.Sprintf("link set %s master br0 up", h.port())))
	lines := []string{"link set eth0 address " + hardware(n), "addr add " + h.Addr + "/16 dev eth0", "link set eth0 up", "link set lo up"}
	for other := 1; other <= most; other++ {
		lines = append(lines, fmt.Sprintf("neigh add %s lladdr %s dev eth0 nud permanent", address(other), hardware(other)))
	}
	b.must(batch("ip", h.netns, lines...))
	var err error
	h.ns, err = os.Open(filepath.Join("/run/netns", h.netns))
	b.must(err)
	// A blocking query may take ten minutes; callers give their own deadlines.
	h.client = &http.Client{Timeout: 11 * time.Minute, Transport: &http.Transport{DialContext: h.dial, MaxIdleConnsPerHost: 100}}
	b.hosts = append(b.hosts, h)
	return h
}

// port is the host's end at the bridge, in the hub.
func (h *Host) port() string { return fmt.Sprintf("p%d", h.number) }

// most is how many hosts a bed can have. All know all hardware addresses from the start:
// the kernel has one table of learned ones for all namespaces, and forty hosts fill it.
const most = 128

func address(number int) string { return net.IPv4(10, 231, 0, byte(number)).String() }

func hardware(number int) string {
	return net.HardwareAddr{2, 0, 0, 1, 0, byte(number)}.String()
}

// Disk gives the host a file system of its own, of so many bytes, for its data.
func (h *Host) Disk(size int) {
	h.bed.t.Helper()
	disk := filepath.Join(h.dir, "disk")
	h.bed.must(os.Mkdir(disk, 0o755))
	h.bed.must(syscall.Mount("tmpfs", disk, "tmpfs", 0, fmt.Sprintf("size=%d", size)))
}

// FillDisk takes all space but about so many bytes of the host's own disk.
func (h *Host) FillDisk(leave int) error {
	disk := filepath.Join(h.dir, "disk")
	var fs syscall.Statfs_t
	if err := syscall.Statfs(disk, &fs); err != nil {
		return err
	}
	size := int64(fs.Bavail)*fs.Bsize - int64(leave)
	if size <= 0 {
		return nil
	}
	f, err := os.Create(filepath.Join(disk, "filler"))
	if err != nil {
		return err
	}
	err = syscall.Fallocate(int(f.Fd()), 0, 0, size)
	return errors.Join(err, f.Close())
}

// EmptyDisk removes what FillDisk left.
func (h *Host) EmptyDisk() error {
	err := os.Remove(filepath.Join(h.dir, "disk", "filler"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
