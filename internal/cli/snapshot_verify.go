package cli

import (
	"fmt"

	"github.com/muster-discovery/muster/internal/snapshot"
)

var snapshotVerifyCommand = &command{
	name:  "snapshot verify",
	args:  "FILE...",
	short: "Check that saved states can be restored",
	long: `
Checks files to their last byte: checksums, that every record is understood,
and that they fit together, as a restore does. No agent is needed. Exit code 1
if one of them can't be restored.

    muster snapshot verify backup.snap`,
	setup: func(f *flags) func([]string) int {
		return func(args []string) int {
			if len(args) == 0 {
				return f.fail("muster snapshot verify: the FILE is missing.")
			}
			code := 0
			for _, path := range args {
				meta, err := readSnapshot(path, snapshot.Options{Build: true})
				if err != nil {
					code = f.fail("%s: %v", path, err)
					continue
				}
				var records uint64
				for _, k := range meta.Kinds {
					records += k.Count
				}
				fmt.Fprintf(f.stdout, "%s: verified, index %d, %d records, %s\n", path, meta.Index, records, byteSize(uint64(meta.StateBytes)))
			}
			return code
		}
	},
}
