package testbed

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// The names of namespaces and the folder of a bed tell whose it is: the process id of the
// test. So a later run knows what a killed one left, and leaves alone what is in use.
const prefix = "muster-bed-"

func name(pid int, host string) string { return fmt.Sprintf("%s%d-%s", prefix, pid, host) }

func folder(pid int) string { return filepath.Join(os.TempDir(), fmt.Sprintf("%s%d", prefix, pid)) }

// owner is the process id in a name.
func owner(name string) (pid int, ok bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return 0, false
	}
	digits, _, _ := strings.Cut(rest, "-")
	pid, err := strconv.Atoi(digits)
	return pid, err == nil
}

// removeLeftovers removes the beds of processes that are gone.
func removeLeftovers() {
	gone := map[int]bool{}
	note := func(name string) {
		if pid, ok := owner(name); ok && syscall.Kill(pid, 0) == syscall.ESRCH {
			gone[pid] = true
		}
	}
	for _, name := range namespaces() {
		note(name)
	}
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, path := range folders {
		note(filepath.Base(path))
	}
	for pid := range gone {
		fmt.Fprintf(os.Stderr, "removing the test bed that process %d left\n", pid)
		removeAll(pid)
	}
}

func namespaces() (names []string) {
	out, err := exec.Command("ip", "netns", "list").Output()
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 0 {
			names = append(names, fields[0])
		}
	}
	return names
}

// removeAll ends the processes in a bed's namespaces, and removes these and its files.
func removeAll(pid int) {
	for _, name := range namespaces() {
		if p, ok := owner(name); ok && p == pid {
			removeNamespace(name)
		}
	}
	dir := folder(pid)
	mounts, _ := os.ReadFile("/proc/mounts")
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 1 && strings.HasPrefix(fields[1], dir+"/") {
			_ = syscall.Unmount(fields[1], syscall.MNT_DETACH)
		}
	}
	_ = os.RemoveAll(dir)
}

func removeNamespace(name string) {
	out, _ := exec.Command("ip", "netns", "pids", name).Output()
	for _, field := range strings.Fields(string(out)) {
		if pid, err := strconv.Atoi(field); err == nil && pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_ = run("ip", "netns", "del", name)
}
