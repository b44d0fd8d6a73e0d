package testbed

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// binary is Muster, built once for all tests of a package.
var binary string

// Main is TestMain of a package that uses beds: it builds Muster, runs the tests, and
// takes care that a signal leaves nothing behind.
func Main(m *testing.M) {
	dir, err := os.MkdirTemp("", "muster-bin-")
	if err != nil {
		panic(err)
	}
	binary = os.Getenv("MUSTER_BINARY") // one that is there already, as for looking into another version
	if binary == "" {
		binary = filepath.Join(dir, "muster")
		var root string
		if root, err = Root(); err == nil {
			err = Build(root, binary)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals // lives as long as the process
		fmt.Fprintf(os.Stderr, "%v: the test beds are removed\n", s)
		removeAll(os.Getpid())
		os.RemoveAll(dir)
		os.Exit(1)
	}()
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// Root is the folder of Muster's module.
func Root() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/muster-discovery/muster").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Build makes the binary of a source tree.
func Build(tree, to string) error {
	cmd := exec.Command("go", "build", "-o", to, "./cmd/muster")
	cmd.Dir = tree
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build in %s: %w\n%s", tree, err, out)
	}
	return nil
}

// possible says once for the process why beds can't be made, if so.
var possible = sync.OnceValue(func() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("network namespaces need root")
	}
	for _, tool := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%w (Debian's iproute2 has it)", err)
		}
	}
	removeLeftovers()
	probe := name(os.Getpid(), "probe")
	defer run("ip", "netns", "del", probe)
	if err := run("ip", "netns", "add", probe); err != nil {
		return fmt.Errorf("network namespaces are not permitted here: %w", err)
	}
	return nil
})

// run is a command that is silent unless it fails.
func run(command string, args ...string) error {
	out, err := exec.Command(command, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", command, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
