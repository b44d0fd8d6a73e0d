package cli

import (
	"fmt"

	"github.com/muster-discovery/muster/internal/config"
	"github.com/muster-discovery/muster/internal/wire"
)

var validateCommand = &command{
	name:  "validate",
	args:  "FILE_OR_FOLDER...",
	short: "Check configuration files",
	long: `
Reads configuration files as an agent would and reports every mistake in them,
with file and line. All files together must be what an agent needs: data_dir,
for example.

Exit code: 0 if the configuration is valid, 1 otherwise.`,
	setup: func(f *flags) func([]string) int {
		quiet := f.Bool("quiet", false, "Print nothing if the configuration is valid.")
		format := f.String("config-format", "", "`Format` of files with other names: hcl or json.")
		return func(args []string) int {
			if len(args) == 0 {
				return f.fail("muster validate: name at least one file or folder.")
			}
			_, warnings, err := config.Load(config.Options{
				Paths: args, Format: *format,
				DecodeService: wire.DecodeServiceDefinition, DecodeCheck: wire.DecodeCheckDefinition, CheckWatch: checkWatch,
			})
			if !*quiet {
				for _, w := range warnings {
					fmt.Fprintf(f.stderr, "Warning: %s\n", w)
				}
			}
			if err != nil {
				return f.fail("Config validation failed: %v", err)
			}
			if !*quiet {
				fmt.Fprintln(f.stdout, "Configuration is valid!")
			}
			return 0
		}
	},
}
