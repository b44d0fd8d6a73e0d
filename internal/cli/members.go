package cli

import (
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/hashicorp/consul/api"
)

var membersCommand = &command{
	name:  "members",
	short: "List the agents of the cluster",
	long: `
Lists the agents that the asked agent knows by gossip, with their state.

Exit code: 0; 1 if the agent can't be asked; 2 if no member matches.`,
	setup: func(f *flags) func([]string) int {
		var m members
		f.BoolVar(&m.detailed, "detailed", false, "Show all tags of each member.")
		f.BoolVar(&m.wan, "wan", false, "Show the servers of all datacenters.")
		f.StringVar(&m.status, "status", ".*", "Show only members whose state matches this regular `expression`.")
		f.StringVar(&m.filter, "filter", "", "Show only members that match this filter `expression`.")
		f.StringVar(&m.format, "format", "table", "`Form` of the output: table or json.")
		m.conn = f.connect(false)
		return m.run
	},
}

type members struct {
	conn                   *connection
	detailed, wan          bool
	status, filter, format string
}

// states are those of serf, by number.
var states = [...]string{"none", "alive", "leaving", "left", "failed"}

func stateName(n int) string {
	if n < 0 || n >= len(states) {
		return "unknown"
	}
	return states[n]
}

func (m *members) run([]string) int {
	f := m.conn.f
	status, err := regexp.Compile("^(?:" + m.status + ")$")
	if err != nil {
		return f.fail("muster members: -status: %v", err)
	}
	client, err := m.conn.client()
	if err != nil {
		return f.fail("%v", err)
	}
	all, err := client.Agent().MembersOpts(api.MembersOpts{WAN: m.wan, Filter: m.filter})
	if err != nil {
		return m.conn.fail("asking for the members", err)
	}
	var list []*api.AgentMember
	for _, a := range all {
		if status.MatchString(stateName(a.Status)) {
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return 2
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	switch {
	case m.format == "json":
		out, err := json.MarshalIndent(list, "", "    ")
		if err != nil {
			return f.fail("muster members: %v", err)
		}
		fmt.Fprintln(f.stdout, string(out))
	case m.format != "table":
		return f.fail("muster members: unknown format %q: want table or json.", m.format)
	case m.detailed:
		columns(f.stdout, detailedRows(list))
	default:
		columns(f.stdout, memberRows(list))
	}
	return 0
}

func address(a *api.AgentMember) string {
	return net.JoinHostPort(a.Addr, strconv.Itoa(int(a.Port)))
}

func memberRows(list []*api.AgentMember) [][]string {
	rows := [][]string{{"Node", "Address", "Status", "Type", "Build", "Protocol", "DC", "Partition", "Segment"}}
	for _, a := range list {
		kind, segment := "client", "<default>"
		switch a.Tags["role"] {
		case "consul":
			kind, segment = "server", "<all>"
		case "node":
		default:
			kind = "unknown"
		}
		build, _, _ := strings.Cut(a.Tags["build"], ":")
		rows = append(rows, []string{a.Name, address(a), stateName(a.Status), kind, build, a.Tags["vsn"], a.Tags["dc"], "default", segment})
	}
	return rows
}

func detailedRows(list []*api.AgentMember) [][]string {
	rows := [][]string{{"Node", "Address", "Status", "Tags"}}
	for _, a := range list {
		tags := make([]string, 0, len(a.Tags))
		for k, v := range a.Tags {
			tags = append(tags, k+"="+v)
		}
		sort.Strings(tags)
		rows = append(rows, []string{a.Name, address(a), stateName(a.Status), strings.Join(tags, ",")})
	}
	return rows
}
