//go:build unix

package child

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

const terminate = syscall.SIGTERM

func attributes(cmd *exec.Cmd, o Options) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !o.SameGroup}
	if o.DieWithParent {
		dieWithParent(cmd.SysProcAttr)
	}
}

// signal reaches the whole group also when its leader has ended: nothing else can
// have the group's number while a member lives.
func (c *Child) signal(sig os.Signal) error {
	if !c.group {
		return c.cmd.Process.Signal(sig)
	}
	s, ok := sig.(syscall.Signal)
	if !ok {
		return errors.New("not a signal of this system")
	}
	if err := syscall.Kill(-c.cmd.Process.Pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// lives says whether the group has members left.
func (c *Child) lives() bool { return syscall.Kill(-c.cmd.Process.Pid, 0) == nil }
