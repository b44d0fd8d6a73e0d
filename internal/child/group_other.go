//go:build !unix

package child

import (
	"os"
	"os/exec"
)

// Where there is no SIGTERM a program is ended as it can be.
var terminate = os.Kill

func attributes(*exec.Cmd, Options) {}

func (c *Child) signal(sig os.Signal) error { return c.cmd.Process.Signal(sig) }

func (c *Child) lives() bool { return false }
