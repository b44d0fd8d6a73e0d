// Package version says which Consul API Muster speaks, which Muster this is and
// what it was built from. Clients parse the first; no text here may contain the
// letters "ent", by which some of them recognize Consul's enterprise edition.
package version

import (
	"fmt"
	"runtime/debug"
	"sync"
)

const (
	// API is the version of Consul whose API Muster speaks.
	API = "1.21.4"
	// Muster is Muster's own version.
	Muster = "0.1.0"
)

// Build is what the binary was built from.
type Build struct {
	Revision string // short commit id; empty if not built from a checkout
	Modified bool   // built from a checkout with changes
	Date     string // time of the commit, RFC 3339
	Go       string // version of the toolchain
}

// Info reads the build information that the toolchain left in the binary.
var Info = sync.OnceValue(func() Build {
	b := Build{Date: "1970-01-01T00:00:00Z"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Go = info.GoVersion
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value[:min(8, len(s.Value))]
		case "vcs.modified":
			b.Modified = s.Value == "true"
		case "vcs.time":
			b.Date = s.Value
		}
	}
	return b
})

// Line is the first line of `muster version`. It begins as Consul's does, since
// scripts cut the number out of it.
func Line() string { return fmt.Sprintf("Consul v%s API, spoken by Muster v%s", API, Muster) }
