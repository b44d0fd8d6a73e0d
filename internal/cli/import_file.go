package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/muster-discovery/muster/internal/migrate"
)

var importFileCommand = &command{
	name:  "import file",
	args:  "FILE",
	short: "Bring in what muster export wrote",
	long: `
Writes what is in an export; - is standard input. What differs stays as it is
here, unless -overwrite is given. It can be repeated, and goes on after an
end before its time. Exit codes are those of "muster import consul".

    muster import file backup.jsonl`,
	setup: func(f *flags) func([]string) int {
		m := f.importing()
		return func(args []string) int {
			path, err := oneFile(args)
			if err == nil {
				err = m.check()
			}
			if err != nil {
				return f.fail("muster import file: %v.", err)
			}
			in, name, err := openImport(path)
			if err != nil {
				return f.fail("%v", err)
			}
			defer in.Close()
			if path == "-" {
				m.stateFile = "" // it could not be read from its middle
			}
			return m.run(&migrate.FileSource{From: in}, name)
		}
	},
}

// openImport opens a file, and names it so that another one is told from it.
func openImport(path string) (in io.ReadCloser, name string, err error) {
	if path == "-" {
		return io.NopCloser(os.Stdin), "standard input", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, "", err
	}
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	return f, fmt.Sprintf("%s of %d bytes", path, info.Size()), nil
}
