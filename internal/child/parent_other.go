//go:build unix && !linux

package child

import "syscall"

// dieWithParent does nothing where the system has no such thing.
func dieWithParent(*syscall.SysProcAttr) {}
