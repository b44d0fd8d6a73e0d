//go:build !unix

package check

import "os/exec"

// ownGroup does nothing where there are no process groups.
func ownGroup(*exec.Cmd) {}

// killGroup kills the program alone.
func killGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }
