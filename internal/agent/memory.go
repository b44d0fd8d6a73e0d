package agent

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// garbage is how much of its live memory in percent a client agent lets become
	// garbage: it holds little and changes little of it, and every node of a fleet
	// pays for what it keeps.
	garbage = 40
	// memoryPeriod is how often a client agent looks for memory to give back.
	memoryPeriod = 30 * time.Second
	// memorySlack is how much more than what lives it may keep.
	memorySlack = 4 << 20
)

// thrift keeps a client agent small: after a burst of questions what was encoded for
// them is forgotten (see viewIdle), and its memory given back to the system, which the
// runtime by itself does only after many minutes. GOGC overrules it.
func thrift(ctx context.Context) error {
	if os.Getenv("GOGC") != "" {
		<-ctx.Done()
		return nil
	}
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	tick := time.NewTicker(memoryPeriod)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if held, live := heap(); held > live+live*garbage/100+memorySlack {
				debug.FreeOSMemory()
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// heap is how much memory the heap holds, and how much of that lived at the last
// collection.
func heap() (held, live uint64) {
	s := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/gc/heap/live:bytes"},
	}
	metrics.Read(s)
	return s[0].Value.Uint64() + s[1].Value.Uint64() + s[2].Value.Uint64(), s[3].Value.Uint64()
}
