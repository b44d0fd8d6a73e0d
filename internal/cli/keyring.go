package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hashicorp/consul/api"
)

var keyringCommand = &command{
	name:  "keyring",
	short: "Show and change the keys that encrypt gossip",
	long: `
Shows and changes the keys that encrypt gossip, on all agents at once. To
change the key without downtime:

    muster keygen                 make a new key
    muster keyring -install=<key> let all agents know it
    muster keyring -use=<key>     encrypt with it
    muster keyring -remove=<old>  forget the old one

Exit code: 0 if all agents answered and did so; 1 otherwise.`,
	setup: func(f *flags) func([]string) int {
		k := &keyring{}
		f.StringVar(&k.install, "install", "", "Install this `key` on all agents, besides the ones they have.")
		f.StringVar(&k.use, "use", "", "Encrypt with this `key` from now on. It must be installed.")
		f.StringVar(&k.remove, "remove", "", "Forget this `key`. It must not be the one in use.")
		f.BoolVar(&k.list, "list", false, "List the keys and how many agents have them.")
		f.BoolVar(&k.primary, "list-primary", false, "List the keys in use and how many agents use them.")
		f.IntVar(&k.relay, "relay-factor", 0, "Have agents answer also through this `number` of others, 0 to 5, where the network drops packets.")
		f.BoolVar(&k.local, "local-only", false, "Ask only the local datacenter. With -list and -list-primary.")
		k.conn = f.connect(false)
		return k.run
	},
}

type keyring struct {
	conn                 *connection
	install, use, remove string
	list, primary, local bool
	relay                int
}

func (k *keyring) check() error {
	orders := 0
	for _, given := range []bool{k.install != "", k.use != "", k.remove != "", k.list, k.primary} {
		if given {
			orders++
		}
	}
	switch {
	case orders != 1:
		return errors.New("give exactly one of -install, -use, -remove, -list and -list-primary")
	case k.relay < 0 || k.relay > 5:
		return errors.New("-relay-factor must be from 0 to 5")
	case k.local && !k.list && !k.primary:
		return errors.New("-local-only may only be given with -list and -list-primary")
	}
	return nil
}

func (k *keyring) run([]string) int {
	f := k.conn.f
	if err := k.check(); err != nil {
		return f.fail("muster keyring: %v.", err)
	}
	client, err := k.conn.client()
	if err != nil {
		return f.fail("%v", err)
	}
	op, opts := client.Operator(), &api.WriteOptions{RelayFactor: uint8(k.relay)}
	doing := "changing the keys"
	switch {
	case k.list || k.primary:
		return k.print(client)
	case k.install != "":
		fmt.Fprintln(f.stdout, "==> Installing new gossip encryption key...")
		err, doing = op.KeyringInstall(k.install, opts), "installing the key"
	case k.use != "":
		fmt.Fprintln(f.stdout, "==> Changing primary gossip encryption key...")
		err, doing = op.KeyringUse(k.use, opts), "changing the key in use"
	default:
		fmt.Fprintln(f.stdout, "==> Removing gossip encryption key...")
		err, doing = op.KeyringRemove(k.remove, opts), "removing the key"
	}
	if err != nil {
		return k.conn.fail(doing, err)
	}
	return 0
}

func (k *keyring) print(client *api.Client) int {
	f := k.conn.f
	rings, err := client.Operator().KeyringList(&api.QueryOptions{RelayFactor: uint8(k.relay), LocalOnly: k.local})
	if err != nil {
		return k.conn.fail("listing the keys", err)
	}
	fmt.Fprintln(f.stdout, "==> Gathering installed encryption keys...")
	for _, r := range rings {
		keys := r.Keys
		if k.primary {
			keys = r.PrimaryKeys
		}
		printRing(f.stdout, r, keys)
	}
	return 0
}

func printRing(w io.Writer, r *api.KeyringResponse, keys map[string]int) {
	name := r.Datacenter + " (LAN)"
	if r.WAN {
		name = "WAN"
	}
	fmt.Fprintf(w, "\n%s:\n", name)
	sorted := make([]string, 0, len(keys))
	for key := range keys {
		sorted = append(sorted, key)
	}
	slices.Sort(sorted)
	for _, key := range sorted {
		fmt.Fprintf(w, "  %s [%d/%d]\n", key, keys[key], r.NumNodes)
	}
}
