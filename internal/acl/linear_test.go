//go:build unix

package acl

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestParseLinear: 32 times the text takes about 32 times the time; it would be 1024
// if the time grew with the square. It is the processor's time, which other programs
// on the machine change little.
func TestParseLinear(t *testing.T) {
	for name, unit := range map[string]string{
		"HCL":      `key "some/long/path" { policy = "read" }` + "\n",
		"comments": "# a comment\n",
		"strings":  `x = "${${${aaaaaaaaaaaaaaaaaaaaaaaa}}}"` + "\n",
		"mistakes": `key "a" { policy = "sudo" }` + "\n",
		"braces":   "a {} ",
		"JSON":     `{"key": {"some/long/path": {"policy": "read"}}},`,
	} {
		measure := func(n int) time.Duration {
			source := strings.Repeat(unit, n)
			if name == "JSON" {
				source = `{"key": [` + strings.TrimSuffix(source, ",") + "]}"
			}
			best := time.Hour
			for range 3 {
				start := processorTime(t)
				_, _ = Parse("p", source)
				best = min(best, processorTime(t)-start)
			}
			return best
		}
		if small, large := measure(250), measure(8000); large > 250*small+10*time.Millisecond {
			t.Errorf("%s: %v, and %v for 32 times the text", name, small, large)
		}
	}
}

func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
