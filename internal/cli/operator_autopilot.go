package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"
)

var autopilotGetCommand = &command{
	name:  "operator autopilot get-config",
	short: "Show the configuration of autopilot",
	long:  "Shows by which rules the leader gives servers a vote and removes dead ones.",
	setup: func(f *flags) func([]string) int {
		c := f.connect(true)
		return func([]string) int { return autopilotGet(c) }
	},
}

func autopilotGet(c *connection) int {
	client, err := c.client()
	if err != nil {
		return c.f.fail("%v", err)
	}
	conf, err := client.Operator().AutopilotGetConfiguration(c.query())
	if err != nil {
		return c.fail("asking for the configuration of autopilot", err)
	}
	fmt.Fprintf(c.f.stdout, "CleanupDeadServers = %v\nLastContactThreshold = %v\nMaxTrailingLogs = %v\nMinQuorum = %v\n"+
		"ServerStabilizationTime = %v\nRedundancyZoneTag = %q\nDisableUpgradeMigration = %v\nUpgradeVersionTag = %q\n",
		conf.CleanupDeadServers, conf.LastContactThreshold, conf.MaxTrailingLogs, conf.MinQuorum,
		conf.ServerStabilizationTime, conf.RedundancyZoneTag, conf.DisableUpgradeMigration, conf.UpgradeVersionTag)
	return 0
}

var autopilotSetCommand = &command{
	name:  "operator autopilot set-config",
	short: "Change the configuration of autopilot",
	long: `
Changes what is given and leaves the rest as it is.

    muster operator autopilot set-config -server-stabilization-time=30s`,
	setup: func(f *flags) func([]string) int {
		s := &autopilotChange{f: f}
		f.BoolVar(&s.cleanup, "cleanup-dead-servers", false, "Remove a dead server when a new one takes its place.")
		f.DurationVar(&s.contact, "last-contact-threshold", 0, "A server that has not heard from the leader for this `time` is unhealthy.")
		f.Uint64Var(&s.trailing, "max-trailing-logs", 0, "A server whose log is behind by more than this `number` of entries is unhealthy.")
		f.Uint64Var(&s.quorum, "min-quorum", 0, "Keep dead servers that are needed for this `number` of voters.")
		f.DurationVar(&s.stable, "server-stabilization-time", 0, "A new server votes when it has been healthy for this `time`.")
		s.conn = f.connect(false)
		return s.run
	},
}

type autopilotChange struct {
	f                *flags
	conn             *connection
	cleanup          bool
	contact, stable  time.Duration
	trailing, quorum uint64
}

func (s *autopilotChange) run([]string) int {
	client, err := s.conn.client()
	if err != nil {
		return s.f.fail("%v", err)
	}
	conf, err := client.Operator().AutopilotGetConfiguration(nil)
	if err != nil {
		return s.conn.fail("asking for the configuration of autopilot", err)
	}
	if !s.apply(conf) {
		return s.f.fail("muster operator autopilot set-config: nothing to change: give at least one setting.")
	}
	ok, err := client.Operator().AutopilotCASConfiguration(conf, nil)
	switch {
	case err != nil:
		return s.conn.fail("changing the configuration of autopilot", err)
	case !ok:
		return s.f.fail("The configuration of autopilot was changed by somebody else at the same time. Look at it and try again.")
	}
	fmt.Fprintln(s.f.stdout, "Configuration updated!")
	return 0
}

// apply changes what was given; false: nothing was.
func (s *autopilotChange) apply(conf *api.AutopilotConfiguration) (any bool) {
	s.f.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "cleanup-dead-servers":
			conf.CleanupDeadServers = s.cleanup
		case "last-contact-threshold":
			conf.LastContactThreshold = api.NewReadableDuration(s.contact)
		case "max-trailing-logs":
			conf.MaxTrailingLogs = s.trailing
		case "min-quorum":
			conf.MinQuorum = uint(s.quorum)
		case "server-stabilization-time":
			conf.ServerStabilizationTime = api.NewReadableDuration(s.stable)
		default:
			return
		}
		any = true
	})
	return any
}

var autopilotStateCommand = &command{
	name:  "operator autopilot state",
	short: "Show the servers as autopilot sees them",
	long:  "Shows which servers vote, whether they are healthy, and how many may fail.",
	setup: func(f *flags) func([]string) int {
		var format string
		f.StringVar(&format, "format", "pretty", "`Form` of the output: pretty or json.")
		c := f.connect(true)
		return func([]string) int { return autopilotState(c, format) }
	},
}

func autopilotState(c *connection, format string) int {
	if format != "pretty" && format != "json" {
		return c.f.fail("muster operator autopilot state: -format=%s: want pretty or json.", format)
	}
	client, err := c.client()
	if err != nil {
		return c.f.fail("%v", err)
	}
	state, err := client.Operator().AutopilotState(c.query())
	if err != nil {
		return c.fail("asking for the state of autopilot", err)
	}
	if format == "json" {
		e := json.NewEncoder(c.f.stdout)
		e.SetIndent("", "    ")
		if err := e.Encode(state); err != nil {
			return c.f.fail("%v", err)
		}
		return 0
	}
	printAutopilot(c.f.stdout, state)
	return 0
}

func printAutopilot(w io.Writer, s *api.AutopilotState) {
	fmt.Fprintf(w, "Healthy:           %v\nFailure Tolerance: %d\nLeader:            %s\nVoters:            %s\n",
		s.Healthy, s.FailureTolerance, s.Leader, strings.Join(s.Voters, " "))
	if len(s.ReadReplicas) > 0 {
		fmt.Fprintf(w, "Read Replicas:     %s\n", strings.Join(s.ReadReplicas, " "))
	}
	ids := make([]string, 0, len(s.Servers))
	for id := range s.Servers {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	rows := [][]string{{"Node", "ID", "Address", "Status", "Node Status", "Healthy", "Last Contact", "Last Index", "Stable Since", "Version"}}
	for _, id := range ids {
		v := s.Servers[id]
		rows = append(rows, []string{shown(v.Name), v.ID, v.Address, string(v.Status), v.NodeStatus, strconv.FormatBool(v.Healthy),
			v.LastContact.String(), strconv.FormatUint(v.LastIndex, 10), v.StableSince.UTC().Format(time.RFC3339), v.Version})
	}
	fmt.Fprintln(w)
	columns(w, rows)
}
