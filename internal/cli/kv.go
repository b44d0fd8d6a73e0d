package cli

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"github.com/hashicorp/consul/api"
)

var kvGetCommand = &command{
	name:  "kv get",
	args:  "KEY",
	short: "Read keys",
	long: `
Prints the value of a key; with -recurse the keys below a prefix with their
values; with -keys their names alone. Exit code 1 if there is no such key.

    muster kv get app/limit
    muster kv get -recurse app/`,
	setup: func(f *flags) func([]string) int {
		g := &kvGet{}
		f.BoolVar(&g.base64, "base64", false, "Print values in base64.")
		f.BoolVar(&g.detailed, "detailed", false, "Print what else is known of a key.")
		f.BoolVar(&g.keys, "keys", false, "Print the names of the keys that begin with KEY.")
		f.BoolVar(&g.recurse, "recurse", false, "Print all keys that begin with KEY.")
		f.StringVar(&g.separator, "separator", "/", "`Text` at which -keys cuts names off.")
		g.conn = f.connect(true)
		return g.run
	},
}

type kvGet struct {
	conn                            *connection
	base64, detailed, keys, recurse bool
	separator                       string
}

func (g *kvGet) run(args []string) int {
	f := g.conn.f
	key, err := oneKey(args, g.keys || g.recurse)
	if err != nil {
		return f.fail("muster kv get: %v.", err)
	}
	client, err := g.conn.client()
	if err != nil {
		return f.fail("%v", err)
	}
	switch {
	case g.keys:
		names, _, err := client.KV().Keys(key, g.separator, g.conn.query())
		if err != nil {
			return g.conn.fail("listing keys", err)
		}
		for _, n := range names {
			fmt.Fprintln(f.stdout, n)
		}
		return 0
	case g.recurse:
		pairs, _, err := client.KV().List(key, g.conn.query())
		if err != nil {
			return g.conn.fail("listing keys", err)
		}
		for i, p := range pairs {
			if g.detailed {
				if i > 0 {
					fmt.Fprintln(f.stdout)
				}
				g.details(p)
			} else {
				fmt.Fprintf(f.stdout, "%s:%s\n", p.Key, g.value(p))
			}
		}
		return 0
	}
	p, _, err := client.KV().Get(key, g.conn.query())
	switch {
	case err != nil:
		return g.conn.fail("reading the key", err)
	case p == nil:
		return f.fail("Error! No key exists at: %s", key)
	case g.detailed:
		g.details(p)
	default:
		fmt.Fprintln(f.stdout, g.value(p))
	}
	return 0
}

func (g *kvGet) value(p *api.KVPair) string {
	if g.base64 {
		return base64.StdEncoding.EncodeToString(p.Value)
	}
	return string(p.Value)
}

func (g *kvGet) details(p *api.KVPair) {
	session := p.Session
	if session == "" {
		session = "-"
	}
	rows := [][]string{
		{"CreateIndex", fmt.Sprint(p.CreateIndex)}, {"Flags", fmt.Sprint(p.Flags)}, {"Key", p.Key},
		{"LockIndex", fmt.Sprint(p.LockIndex)}, {"ModifyIndex", fmt.Sprint(p.ModifyIndex)},
		{"Session", session}, {"Value", g.value(p)},
	}
	for _, r := range rows {
		fmt.Fprintf(g.conn.f.stdout, "%-16s %s\n", r[0], r[1])
	}
}

var kvPutCommand = &command{
	name:  "kv put",
	args:  "KEY [VALUE]",
	short: "Write a key",
	long: `
Writes a key. The value is the argument, the contents of a file with @FILE, or
what comes on standard input with -. Exit code 1 if a condition did not hold.

    muster kv put app/limit 5
    muster kv put app/config @config.json`,
	setup: func(f *flags) func([]string) int {
		p := &kvPut{}
		f.BoolVar(&p.base64, "base64", false, "The value is in base64.")
		f.BoolVar(&p.cas, "cas", false, "Write only if the key still has the index of -modify-index.")
		f.Uint64Var(&p.index, "modify-index", 0, "`Index` for -cas. 0: the key must not exist.")
		f.Uint64Var(&p.flags, "flags", 0, "`Number` to keep with the key.")
		f.StringVar(&p.session, "session", "", "`Id` of the session for -acquire and -release.")
		f.BoolVar(&p.acquire, "acquire", false, "Take the lock of the key.")
		f.BoolVar(&p.release, "release", false, "Give the lock of the key back.")
		p.fence = f.fence()
		p.conn = f.connect(false)
		return p.run
	},
}

type kvPut struct {
	conn                          *connection
	fence                         *fence
	base64, cas, acquire, release bool
	index, flags                  uint64
	session                       string
}

func (p *kvPut) pair(args []string) (*api.KVPair, error) {
	switch {
	case p.cas && (p.acquire || p.release) || p.acquire && p.release:
		return nil, errors.New("only one of -cas, -acquire and -release may be given")
	case (p.acquire || p.release) && p.session == "":
		return nil, errors.New("-acquire and -release need -session")
	case len(args) > 2:
		return nil, errors.New("it takes a KEY and a VALUE; quote values with spaces")
	}
	key, err := oneKey(args[:min(1, len(args))], false)
	if err != nil {
		return nil, err
	}
	pair := &api.KVPair{Key: key, Flags: p.flags, Session: p.session, ModifyIndex: p.index}
	if len(args) == 2 {
		if pair.Value, err = argument(args[1]); err != nil {
			return nil, err
		}
	}
	if p.base64 {
		if pair.Value, err = base64.StdEncoding.DecodeString(strings.TrimSpace(string(pair.Value))); err != nil {
			return nil, fmt.Errorf("the value is not base64: %v", err)
		}
	}
	return pair, nil
}

func (p *kvPut) run(args []string) int {
	f := p.conn.f
	pair, err := p.pair(args)
	if err == nil {
		err = p.fence.guard(p.conn)
	}
	if err != nil {
		return f.fail("muster kv put: %v.", err)
	}
	client, err := p.conn.client()
	if err != nil {
		return f.fail("%v", err)
	}
	kv, ok := client.KV(), true
	done, refused := "Success! Data written to: %s\n", ""
	switch {
	case p.cas:
		refused = "Error! Did not write to %s: the key has changed"
		ok, _, err = kv.CAS(pair, nil)
	case p.acquire:
		done, refused = "Success! Lock acquired on: %s\n", "Error! Did not acquire the lock of %s"
		ok, _, err = kv.Acquire(pair, nil)
	case p.release:
		done, refused = "Success! Lock released on: %s\n", "Error! Did not release the lock of %s"
		ok, _, err = kv.Release(pair, nil)
	default:
		_, err = kv.Put(pair, nil)
	}
	switch {
	case err != nil:
		return p.conn.fail("writing the key", err)
	case !ok:
		return f.fail(refused, pair.Key)
	}
	fmt.Fprintf(f.stdout, done, pair.Key)
	return 0
}

var kvDeleteCommand = &command{
	name:  "kv delete",
	args:  "KEY",
	short: "Delete keys",
	long: `
Deletes a key, or with -recurse all keys that begin with KEY.

    muster kv delete app/limit
    muster kv delete -recurse app/`,
	setup: func(f *flags) func([]string) int {
		var recurse, cas bool
		var index uint64
		f.BoolVar(&recurse, "recurse", false, "Delete all keys that begin with KEY.")
		f.BoolVar(&cas, "cas", false, "Delete only if the key still has the index of -modify-index.")
		f.Uint64Var(&index, "modify-index", 0, "`Index` for -cas.")
		fence := f.fence()
		conn := f.connect(false)
		return func(args []string) int {
			key, err := oneKey(args, recurse)
			if err == nil && cas && (recurse || index == 0) {
				err = errors.New("-cas needs -modify-index and can't be used with -recurse")
			}
			if err == nil {
				err = fence.guard(conn)
			}
			if err != nil {
				return f.fail("muster kv delete: %v.", err)
			}
			client, err := conn.client()
			if err != nil {
				return f.fail("%v", err)
			}
			ok, what := true, "key"
			switch {
			case recurse:
				what = "keys with prefix"
				_, err = client.KV().DeleteTree(key, nil)
			case cas:
				ok, _, err = client.KV().DeleteCAS(&api.KVPair{Key: key, ModifyIndex: index}, nil)
			default:
				_, err = client.KV().Delete(key, nil)
			}
			switch {
			case err != nil:
				return conn.fail("deleting", err)
			case !ok:
				return f.fail("Error! Did not delete key %s: the key has changed", key)
			}
			fmt.Fprintf(f.stdout, "Success! Deleted %s: %s\n", what, key)
			return 0
		}
	},
}

// oneKey is the command's key. Only where it is a prefix may it be missing.
func oneKey(args []string, prefix bool) (string, error) {
	switch {
	case len(args) > 1:
		return "", fmt.Errorf("it takes one KEY, not %d arguments", len(args))
	case len(args) == 1 && (args[0] != "" || prefix):
		return strings.TrimPrefix(args[0], "/"), nil
	case prefix:
		return "", nil
	}
	return "", errors.New("the KEY is missing")
}

// argument is the value that an argument stands for: itself, a file's contents
// with @, standard input with -.
func argument(arg string) ([]byte, error) {
	switch {
	case arg == "-":
		return io.ReadAll(os.Stdin)
	case strings.HasPrefix(arg, "@"):
		return os.ReadFile(arg[1:])
	}
	return []byte(arg), nil
}

func sortPairs(pairs api.KVPairs) {
	sort.Slice(pairs, func(i, j int) bool { return pairs[i].Key < pairs[j].Key })
}
