package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/muster-discovery/muster/internal/snapshot"
	"github.com/muster-discovery/muster/internal/wire"
)

var snapshotRestoreCommand = &command{
	name:  "snapshot restore",
	args:  "FILE",
	short: "Replace the state of the servers by a saved one",
	long: `
Replaces the whole state of the servers by that of a file, on all of them.
The file is checked before anything changes. What was written after it was
saved is gone; -dry-run tells before what there is on both sides. With
-kv-prefix only the keys below a prefix are written, by ordinary writes, and
everything else stays; locks are not restored then.

    muster snapshot restore -dry-run backup.snap
    muster snapshot restore -kv-prefix=app/ backup.snap
    muster snapshot restore backup.snap`,
	setup: func(f *flags) func([]string) int {
		r := &snapshotRestore{}
		f.BoolVar(&r.dryRun, "dry-run", false, "Change nothing, tell what would be replaced.")
		f.Func("kv-prefix", "Restore the keys that begin with this `prefix`, and nothing else.", func(s string) error {
			r.prefix, r.keys = s, true
			return nil
		})
		f.BoolVar(&r.delete, "delete", false, "With -kv-prefix: delete keys that the file does not have.")
		r.conn = f.connect(false)
		return r.run
	},
}

type snapshotRestore struct {
	conn                 *connection
	dryRun, keys, delete bool
	prefix               string
}

func (r *snapshotRestore) run(args []string) int {
	f := r.conn.f
	path, err := oneFile(args)
	if err == nil && r.delete && !r.keys {
		err = errors.New("-delete needs -kv-prefix")
	}
	if err != nil {
		return f.fail("muster snapshot restore: %v.", err)
	}
	// A file that is no snapshot need not travel.
	if _, err := readSnapshot(path, snapshot.Options{}); err != nil {
		return f.fail("Error reading %s: %v", path, err)
	}
	switch {
	case r.keys:
		var done wire.SnapshotMerge
		return r.send(path, &ownEndpoint{path: "/muster/v1/snapshot/kv", params: map[string]string{
			"prefix": r.prefix, "delete": strconv.FormatBool(r.delete), "dry-run": strconv.FormatBool(r.dryRun),
		}}, &done, func() { r.merged(&done) })
	case r.dryRun:
		var found wire.SnapshotComparison
		return r.send(path, &ownEndpoint{path: "/muster/v1/snapshot/compare"}, &found, func() { r.compared(&found) })
	}
	return r.send(path, nil, nil, func() { fmt.Fprintln(f.stdout, "Restored snapshot") })
}

// send gives the file to the agent, and tells the answer of an own endpoint.
func (r *snapshotRestore) send(path string, own *ownEndpoint, answer any, tell func()) int {
	f := r.conn.f
	if own != nil {
		r.conn.wrap = own.wrap
	}
	client, err := r.conn.client()
	if err != nil {
		return f.fail("%v", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return f.fail("%v", err)
	}
	defer file.Close()
	if err := client.Snapshot().Restore(nil, file); err != nil {
		return r.conn.fail("restoring the snapshot", err)
	}
	if own != nil {
		if err := json.Unmarshal(own.answer, answer); err != nil {
			return f.fail("The agent's answer is not understood: %v", err)
		}
	}
	tell()
	return 0
}

func (r *snapshotRestore) compared(c *wire.SnapshotComparison) {
	w := r.conn.f.stdout
	fmt.Fprintf(w, "Snapshot %s of index %d, saved %s on %s, datacenter %s, is whole and can be restored.\nIt would replace the state of index %d:\n\n",
		c.ID, c.Index, c.Time.Format("2006-01-02 15:04:05Z07:00"), shown(c.Node), shown(c.Datacenter), c.CurrentIndex)
	rows := [][]string{{"Kind", "Now", "Snapshot"}}
	for _, k := range c.Kinds {
		rows = append(rows, []string{k.Kind, fmt.Sprint(k.Current), fmt.Sprint(k.Archive)})
	}
	columns(w, rows)
}

func (r *snapshotRestore) merged(m *wire.SnapshotMerge) {
	w := r.conn.f.stdout
	if m.DryRun {
		fmt.Fprintf(w, "Would restore keys below %q: ", m.Prefix)
	} else {
		fmt.Fprintf(w, "Restored keys below %q: ", m.Prefix)
	}
	fmt.Fprintf(w, "%d created, %d updated, %d unchanged, %d deleted, %d kept that the snapshot does not have\n",
		m.Created, m.Updated, m.Unchanged, m.Deleted, m.Kept)
}
