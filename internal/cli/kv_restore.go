package cli

import (
	"errors"
	"fmt"

	"github.com/hashicorp/consul/api"

	"github.com/muster-discovery/muster/internal/wire"
)

var kvRestoreCommand = &command{
	name:  "kv restore",
	args:  "KEY",
	short: "Make a key what it was",
	long: `
Writes the value and the flags that a key had at a revision, as a new
revision. Nothing is written if the key changes meanwhile, unless -force is
given. Exit code 1 if it was not written.

    muster kv history app/config
    muster kv restore -index=1234 app/config`,
	setup: func(f *flags) func([]string) int {
		r := &kvRestore{}
		f.Uint64Var(&r.index, "index", 0, "`Index` of the revision.")
		f.BoolVar(&r.force, "force", false, "Write also if the key changes meanwhile.")
		r.conn = f.connect(false)
		return r.run
	},
}

type kvRestore struct {
	conn  *connection
	index uint64
	force bool
}

func (r *kvRestore) run(args []string) int {
	f := r.conn.f
	key, err := oneKey(args, false)
	if err == nil && r.index == 0 {
		err = errors.New("the -index is missing")
	}
	if err != nil {
		return f.fail("muster kv restore: %v.", err)
	}
	list, code := r.conn.revisions(key, nil)
	if list == nil {
		return code
	}
	was, err := revisionAt(list, r.index)
	switch {
	case err != nil:
		return f.fail("muster kv restore: %v.", err)
	case was.Deleted:
		return f.fail("muster kv restore: at %d the key was deleted: use \"muster kv delete\".", r.index)
	}
	return r.write(key, was, &list[0])
}

// write needs the present revision for its condition.
func (r *kvRestore) write(key string, was, now *wire.Revision) int {
	f := r.conn.f
	client, err := r.conn.client()
	if err != nil {
		return f.fail("%v", err)
	}
	pair := &api.KVPair{Key: key, Flags: was.Flags, Value: was.Value}
	if !now.Deleted {
		pair.ModifyIndex = now.Index
	}
	ok := true
	if r.force {
		_, err = client.KV().Put(pair, nil)
	} else {
		ok, _, err = client.KV().CAS(pair, nil)
	}
	switch {
	case err != nil:
		return r.conn.fail("writing the key", err)
	case !ok:
		return f.fail("Error! Did not restore %s: the key has changed meanwhile", shown(key))
	}
	fmt.Fprintf(f.stdout, "Success! Restored %s to revision %d\n", shown(key), was.Index)
	return 0
}
