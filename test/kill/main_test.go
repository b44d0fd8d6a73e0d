package kill

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"
)

var (
	kills = flag.Int("kills", 20, "how often each child is killed")
	seed  = flag.Uint64("seed", 0, "seed of the operations; 0: a random one")
	store = flag.String("store", "wal", "the log store under test; see candidates_test.go")
)

// childEnv names the child's role; it is what tells a child from a parent.
const childEnv = "MUSTER_KILL_CHILD"

// children are what a child process can do, by role. A child works until it is
// killed; its error is printed for the parent.
var children = map[string]func(dir string, rng *rand.Rand) error{
	"logstore":  logStoreChild,
	"consensus": consensusChild,
	"journal":   journalChild,
}

func TestMain(m *testing.M) {
	flag.Parse()
	role := os.Getenv(childEnv)
	if role == "" {
		if *seed == 0 {
			*seed = rand.Uint64()
		}
		os.Exit(m.Run())
	}
	err := children[role](flag.Arg(0), rand.New(rand.NewPCG(*seed, 0)))
	fmt.Fprintln(os.Stderr, "child:", err)
	os.Exit(1)
}

// newSeed is the seed of a test's operations, printed if the test fails.
func newRand(t *testing.T) *rand.Rand {
	t.Logf("seed %d, %d kills", *seed, *kills)
	return rand.New(rand.NewPCG(*seed, 1))
}

// runChild starts a child, gives each line that it prints to line, and kills it
// within life after its first line. It returns when the child is gone and all its
// lines were read.
func runChild(t *testing.T, role, dir string, rng *rand.Rand, life time.Duration, line func(string)) {
	t.Helper()
	cmd := exec.Command(os.Args[0], fmt.Sprintf("-seed=%d", rng.Uint64()), "-store="+*store, dir)
	cmd.Env = append(os.Environ(), childEnv+"="+role)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	instant := time.Duration(rng.Int64N(int64(life)))
	// A child that never prints is not waited for without end.
	killer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	lines := bufio.NewReader(out)
	for first := true; ; first = false {
		s, err := lines.ReadString('\n')
		if err != nil {
			// A line that was cut off was not acknowledged.
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			break
		}
		if first {
			killer.Reset(instant)
		}
		line(s[:len(s)-1])
	}
	if killer.Stop() {
		t.Error("the child ended before it was killed")
		_ = cmd.Process.Kill()
	}
	_ = cmd.Wait() // always an error: it was killed
}
