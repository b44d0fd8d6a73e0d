package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/consul/api"
)

// exported is a key in the form that Consul's commands write and read.
type exported struct {
	Key   string `json:"key"`
	Flags uint64 `json:"flags"`
	Value []byte `json:"value"` // base64
}

var kvExportCommand = &command{
	name:  "kv export",
	args:  "[PREFIX]",
	short: "Write keys as JSON",
	long: `
Writes all keys, or those that begin with PREFIX, as JSON, in the form that
"muster kv import" and Consul read.

    muster kv export app/ > app.json`,
	setup: func(f *flags) func([]string) int {
		conn := f.connect(true)
		return func(args []string) int {
			prefix, err := oneKey(args, true)
			if err != nil {
				return f.fail("muster kv export: %v.", err)
			}
			client, err := conn.client()
			if err != nil {
				return f.fail("%v", err)
			}
			pairs, _, err := client.KV().List(prefix, conn.query())
			if err != nil {
				return conn.fail("listing keys", err)
			}
			sortPairs(pairs)
			list := make([]exported, len(pairs))
			for i, p := range pairs {
				// An empty value is "", not null.
				list[i] = exported{p.Key, p.Flags, append([]byte{}, p.Value...)}
			}
			data, err := json.MarshalIndent(list, "", "\t")
			if err != nil {
				return f.fail("encode the keys: %v", err)
			}
			fmt.Fprintf(f.stdout, "%s\n", data)
			return 0
		}
	},
}

var kvImportCommand = &command{
	name:  "kv import",
	args:  "DATA",
	short: "Read keys from JSON",
	long: `
Writes the keys of an export: the argument itself, a file with @FILE, standard
input with -. Keys that exist are overwritten, others stay.

    muster kv import @app.json`,
	setup: func(f *flags) func([]string) int {
		prefix := ""
		f.StringVar(&prefix, "prefix", "", "`Text` to put in front of each key.")
		conn := f.connect(false)
		return func(args []string) int {
			if len(args) != 1 {
				return f.fail("muster kv import: it takes one argument: the data, @FILE or -.")
			}
			list, err := readExport(args[0])
			if err != nil {
				return f.fail("muster kv import: %v.", err)
			}
			client, err := conn.client()
			if err != nil {
				return f.fail("%v", err)
			}
			for _, e := range list {
				key := prefix + e.Key
				if _, err := client.KV().Put(&api.KVPair{Key: key, Flags: e.Flags, Value: e.Value}, nil); err != nil {
					return conn.fail(fmt.Sprintf("writing key %q", key), err)
				}
				fmt.Fprintf(f.stdout, "Imported: %s\n", key)
			}
			return 0
		}
	},
}

func readExport(arg string) ([]exported, error) {
	data, err := argument(arg)
	if err != nil {
		return nil, err
	}
	var list []exported
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields() // a typo must not lose a value silently
	if err := dec.Decode(&list); err != nil {
		return nil, fmt.Errorf("the data is not an export: %v", err)
	}
	for i, e := range list {
		if e.Key == "" {
			return nil, errors.New("entry " + fmt.Sprint(i) + " has no key")
		}
	}
	return list, nil
}
