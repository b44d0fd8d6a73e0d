package faults

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/muster-discovery/muster/test/testbed"
)

var (
	seed  = flag.Uint64("seed", 3, "seed of the faults and of what clients do")
	long  = flag.Duration("long", 0, "how long TestStorm goes on; 0: one round of 10 s")
	fleet = flag.Int("fleet", 0, "how many client agents TestFleet starts; 0: it is skipped")
	old   = flag.String("old", "5125e34", "earlier version that TestUpgrade begins with: a commit, or a binary")
	rows  = flag.Bool("rows", false, "measure what each fault does (docs/testing.md)")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if holderRole() {
		os.Exit(runHolder())
	}
	testbed.Main(m)
}

// What design.md promises, as numbers.
const (
	writeGap = 2 * time.Second // while a leader is lost, for every single call
	atOnce   = time.Second     // a refusal by servers that have known for a while
)

// row is a test that injects one fault and measures what was promised for it.
func row(t *testing.T) *testbed.Bed {
	t.Helper()
	if !*rows {
		t.Skip("-rows runs it")
	}
	return testbed.New(t)
}

// figure prints what was measured, so that all of it can be found with grep.
func figure(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Logf("FIGURE "+format, args...)
}

// within fails the test if something took longer than was promised.
func within(t *testing.T, what string, took, promised time.Duration) {
	t.Helper()
	figure(t, "%s: %v (promised: %v)", what, took.Round(100*time.Microsecond), promised)
	if took > promised {
		t.Errorf("%s took %v, promised are %v", what, took, promised)
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// pause lets a fault last: its length is part of the test.
func pause(d time.Duration) { <-time.After(d) }

func external(node, id string) map[string]any {
	return map[string]any{"Node": node, "Address": "10.0.0.1", "SkipNodeUpdate": false,
		"Service": map[string]any{"ID": id, "Service": "web", "Port": 80},
		"Check":   map[string]any{"CheckID": "c-" + id, "Name": "c", "ServiceID": id, "Status": "passing"}}
}

func want(got, want any) error {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("%v, want %v", got, want)
	}
	return nil
}
