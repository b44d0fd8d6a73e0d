package testbed

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// inside runs f on a thread that is in the host's network. What f opens or starts stays
// there; goroutines that it starts do not.
func (h *Host) inside(f func() error) error {
	runtime.LockOSThread()
	own, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer own.Close()
	if err := unix.Setns(int(h.ns.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter the network of %s: %w", h.Name, err)
	}
	err = f()
	if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); back != nil {
		panic(back) // the thread must not serve others there
	}
	runtime.UnlockOSThread()
	return err
}

// StartProcess starts any program on the host.
func (h *Host) StartProcess(cmd *exec.Cmd) error { return h.inside(cmd.Start) }

// dial connects from inside of the host. The address is a literal one, so that net dials
// on the calling goroutine, and thus on this thread.
func (h *Host) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	err = h.inside(func() error {
		conn, err = dialer.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}
