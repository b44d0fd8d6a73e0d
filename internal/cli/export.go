package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-discovery/muster/internal/migrate"
)

var exportCommand = &command{
	name:  "export",
	args:  "[FILE]",
	short: "Write what is registered as lines of JSON",
	long: `
Writes nodes that no agent owns with their services and checks, prepared
queries, and all keys to a file, or to standard output, for "muster import
file" and other programs. It holds the values of keys and the tokens of
queries: a file is made for its owner's eyes only.

    muster export backup.jsonl`,
	setup: func(f *flags) func([]string) int {
		conn := f.connect(true)
		return func(args []string) int {
			if len(args) > 1 {
				return f.fail("muster export: it takes one FILE, not %d arguments.", len(args))
			}
			from, err := conn.endpoint()
			if err != nil {
				return conn.fail("reaching the agent", err)
			}
			counts, err := export(from, conn.conf.Datacenter, args, f.stdout)
			if err != nil {
				return f.fail("Error exporting: %v", err)
			}
			fmt.Fprintf(f.stderr, "Exported %d nodes, %d services, %d checks, %d queries, %d keys\n",
				counts["node"], counts["service"], counts["check"], counts["query"], counts["key"])
			return 0
		}
	},
}

// export writes to the file of the arguments, in one step, or to the output.
func export(from *migrate.Endpoint, datacenter string, args []string, stdout io.Writer) (counts map[string]int, err error) {
	if len(args) == 0 || args[0] == "-" {
		return exportTo(from, datacenter, stdout)
	}
	tmp, err := os.CreateTemp(filepath.Dir(args[0]), filepath.Base(args[0])+".*")
	if err != nil {
		return nil, err
	}
	counts, err = exportTo(from, datacenter, tmp)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), args[0])
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(tmp.Name()))
	}
	return counts, nil
}

func exportTo(from *migrate.Endpoint, datacenter string, to io.Writer) (map[string]int, error) {
	ctx, stop := interruptible()
	defer stop()
	w, err := migrate.NewFileWriter(to, datacenter, time.Now())
	if err != nil {
		return nil, err
	}
	if err := (&migrate.HTTPSource{From: from}).Walk(ctx, migrate.Position{}, w); err != nil {
		return nil, err
	}
	return w.Counts, w.Close()
}
