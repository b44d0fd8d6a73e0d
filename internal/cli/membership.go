package cli

import (
	"fmt"

	"github.com/hashicorp/consul/api"
)

var joinCommand = &command{
	name:  "join",
	args:  "ADDRESS...",
	short: "Let an agent join a cluster",
	long: `
Tells the agent to join the cluster of the agents at the given addresses. One
that is in the cluster suffices; its gossip port is only needed if it is not
8301.

Exit code: 0 if all addresses could be joined, 1 otherwise.`,
	setup: func(f *flags) func([]string) int {
		wan := f.Bool("wan", false, "Join servers of another datacenter; ports default to 8302.")
		conn := f.connect(false)
		return func(addrs []string) int {
			if len(addrs) == 0 {
				return f.fail("muster join: at least one address to join must be given.")
			}
			client, err := conn.client()
			if err != nil {
				return f.fail("%v", err)
			}
			joined := 0
			for _, a := range addrs {
				if err := client.Agent().Join(a, *wan); err != nil {
					conn.fail(fmt.Sprintf("joining address '%s'", a), err)
					continue
				}
				joined++
			}
			switch {
			case joined == 0:
				return f.fail("Failed to join any nodes.")
			case joined < len(addrs):
				return f.fail("Failed to join some nodes.")
			}
			fmt.Fprintf(f.stdout, "Successfully joined cluster by contacting %d nodes.\n", joined)
			return 0
		}
	},
}

var forceLeaveCommand = &command{
	name:  "force-leave",
	args:  "NODE",
	short: "Declare a failed node as left",
	long: `
Declares a node that has failed as left, so that nobody waits for it any more
and its services leave the catalog. A node that lives still joins again.`,
	setup: func(f *flags) func([]string) int {
		var o api.ForceLeaveOpts
		f.BoolVar(&o.Prune, "prune", false, "Also remove the node from the list of members.")
		f.BoolVar(&o.WAN, "wan", false, "The node is one of the pool of all datacenters.")
		conn := f.connect(false)
		return func(nodes []string) int {
			if len(nodes) != 1 {
				return f.fail("muster force-leave: a single node name must be given; muster members lists them.")
			}
			client, err := conn.client()
			if err != nil {
				return f.fail("%v", err)
			}
			if err := client.Agent().ForceLeaveOptions(nodes[0], o, nil); err != nil {
				return conn.fail("force leaving", err)
			}
			return 0
		}
	},
}
