//go:build unix

package cli

import (
	"os"
	"syscall"
)

// handedOn are the signals that are the child's business alone.
var handedOn = []os.Signal{syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}
