package cli

import (
	"fmt"
	"sort"
)

var leaveCommand = &command{
	name:  "leave",
	short: "Let an agent leave the cluster and stop",
	long: `
Tells the agent to leave the cluster for good and to end. Its services are
deregistered; a server also gives up its vote.`,
	setup: func(f *flags) func([]string) int {
		conn := f.connect(false)
		return func([]string) int {
			client, err := conn.client()
			if err != nil {
				return f.fail("%v", err)
			}
			if err := client.Agent().Leave(); err != nil {
				return conn.fail("leaving", err)
			}
			fmt.Fprintln(f.stdout, "Graceful leave complete")
			return 0
		}
	},
}

var reloadCommand = &command{
	name:  "reload",
	short: "Let an agent read its configuration again",
	long: `
Tells the agent to read its configuration files again, as SIGHUP does. If they
have mistakes the agent keeps what it has, and this command prints them.`,
	setup: func(f *flags) func([]string) int {
		conn := f.connect(false)
		return func([]string) int {
			client, err := conn.client()
			if err != nil {
				return f.fail("%v", err)
			}
			if err := client.Agent().Reload(); err != nil {
				return conn.fail("reloading", err)
			}
			fmt.Fprintln(f.stdout, "Configuration reload triggered")
			return 0
		}
	},
}

var infoCommand = &command{
	name:  "info",
	short: "Print what an agent says about its inner state",
	long:  "Prints figures about the parts of the agent, for people who look for a cause.",
	setup: func(f *flags) func([]string) int {
		conn := f.connect(false)
		return func([]string) int {
			client, err := conn.client()
			if err != nil {
				return f.fail("%v", err)
			}
			self, err := client.Agent().Self()
			if err != nil {
				return conn.fail("asking the agent", err)
			}
			stats := self["Stats"]
			parts := make([]string, 0, len(stats))
			for p := range stats {
				parts = append(parts, p)
			}
			sort.Strings(parts)
			for _, p := range parts {
				fmt.Fprintf(f.stdout, "%s:\n", p)
				printFacts(f, stats[p])
			}
			return 0
		}
	},
}

func printFacts(f *flags, part any) {
	facts, ok := part.(map[string]any)
	if !ok {
		return
	}
	keys := make([]string, 0, len(facts))
	for k := range facts {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		fmt.Fprintf(f.stdout, "\t%s = %v\n", k, facts[k])
	}
}
