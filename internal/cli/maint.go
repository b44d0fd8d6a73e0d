package cli

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/hashicorp/consul/api"
)

var maintCommand = &command{
	name:  "maint",
	short: "Take a node or a service out of service for a while",
	long: `
Switches maintenance mode on or off, for the agent's node or for one of its
services. What is in maintenance is critical, so that nobody is sent to it.
Without options it lists what is in maintenance at this agent.

    muster maint -enable -service=web-1 -reason="new disk"
    muster maint -disable -service=web-1`,
	setup: func(f *flags) func([]string) int {
		m := &maint{}
		f.BoolVar(&m.enable, "enable", false, "Switch maintenance mode on.")
		f.BoolVar(&m.disable, "disable", false, "Switch maintenance mode off.")
		f.StringVar(&m.reason, "reason", "", "`Text` that says why. Only with -enable.")
		f.StringVar(&m.service, "service", "", "`Id` of a service. Default: the node.")
		m.conn = f.connect(false)
		return m.run
	},
}

type maint struct {
	conn            *connection
	enable, disable bool
	reason, service string
}

func (m *maint) check() error {
	switch {
	case m.enable && m.disable:
		return errors.New("only one of -enable and -disable may be given")
	case !m.enable && m.reason != "":
		return errors.New("-reason may only be given with -enable")
	case !m.enable && !m.disable && m.service != "":
		return errors.New("-service needs -enable or -disable")
	}
	return nil
}

func (m *maint) run([]string) int {
	f := m.conn.f
	if err := m.check(); err != nil {
		return f.fail("muster maint: %v.", err)
	}
	client, err := m.conn.client()
	if err != nil {
		return f.fail("%v", err)
	}
	if !m.enable && !m.disable {
		return m.list(client)
	}
	agent := client.Agent()
	done := map[bool]string{true: "enabled", false: "disabled"}[m.enable]
	switch {
	case m.service == "" && m.enable:
		err = agent.EnableNodeMaintenance(m.reason)
	case m.service == "":
		err = agent.DisableNodeMaintenance()
	case m.enable:
		err = agent.EnableServiceMaintenance(m.service, m.reason)
	default:
		err = agent.DisableServiceMaintenance(m.service)
	}
	if err != nil {
		return m.conn.fail("changing maintenance mode", err)
	}
	if m.service == "" {
		fmt.Fprintf(f.stdout, "Node maintenance is now %s\n", done)
	} else {
		fmt.Fprintf(f.stdout, "Service maintenance is now %s for %q\n", done, m.service)
	}
	return 0
}

// Ids of the checks that stand for maintenance mode.
const (
	nodeMaintenance    = "_node_maintenance"
	serviceMaintenance = "_service_maintenance:"
)

func (m *maint) list(client *api.Client) int {
	f := m.conn.f
	name, err := client.Agent().NodeName()
	if err != nil {
		return m.conn.fail("asking for the node's name", err)
	}
	checks, err := client.Agent().Checks()
	if err != nil {
		return m.conn.fail("asking for the checks", err)
	}
	ids := make([]string, 0, len(checks))
	for id := range checks {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	for _, id := range ids {
		c := checks[id]
		switch {
		case c.CheckID == nodeMaintenance:
			fmt.Fprintf(f.stdout, "Node:\n  Name:   %s\n  Reason: %s\n\n", name, c.Notes)
		case strings.HasPrefix(c.CheckID, serviceMaintenance):
			fmt.Fprintf(f.stdout, "Service:\n  ID:     %s\n  Reason: %s\n\n", shown(c.ServiceID), c.Notes)
		}
	}
	return 0
}
