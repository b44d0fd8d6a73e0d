package cli

import (
	"encoding/json"
	"fmt"

	"github.com/muster-discovery/muster/internal/version"
)

var versionCommand = &command{
	name:  "version",
	short: "Print the versions of Muster and of the API it speaks",
	long: `
Prints the version of Consul whose API Muster speaks, which is what programs
look for, and Muster's own.`,
	setup: func(f *flags) func([]string) int {
		format := f.String("format", "pretty", "`Form` of the output: pretty or json.")
		return func([]string) int {
			switch *format {
			case "json":
				return printVersionJSON(f)
			case "pretty":
				b := version.Info()
				fmt.Fprintln(f.stdout, version.Line())
				if b.Revision != "" {
					fmt.Fprintf(f.stdout, "Revision %s\n", b.Revision)
				}
				fmt.Fprintf(f.stdout, "Build Date %s\n", b.Date)
				return 0
			}
			return f.fail("muster version: unknown format %q: want pretty or json.", *format)
		}
	},
}

func printVersionJSON(f *flags) int {
	b := version.Info()
	out, err := json.MarshalIndent(struct {
		Version       string
		Revision      string
		Prerelease    string
		BuildDate     string
		RPC           map[string]int
		MusterVersion string
	}{version.API, b.Revision, "", b.Date, map[string]int{"Default": 2, "Min": 2, "Max": 3}, version.Muster}, "", "    ")
	if err != nil {
		return f.fail("muster version: %v", err)
	}
	fmt.Fprintln(f.stdout, string(out))
	return 0
}
