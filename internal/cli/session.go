package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"
)

var sessionCreateCommand = &command{
	name:  "session create",
	short: "Create a session",
	long: `
Creates a session, with which locks are held, and prints its id. It ends with
its node, when one of its checks turns critical, when its TTL passes without
a renewal, or when it is destroyed.

    muster session create -name=nightly -ttl=30s`,
	setup: func(f *flags) func([]string) int {
		s := &sessionCreate{}
		f.StringVar(&s.entry.Name, "name", "", "`Name` for people.")
		f.StringVar(&s.entry.TTL, "ttl", "", "End it after this `time` without a renewal. Default: never.")
		f.StringVar(&s.entry.Behavior, "behavior", "release", "What becomes of the keys that it holds at its end: release or delete. Default: release.")
		f.DurationVar(&s.entry.LockDelay, "lock-delay", 15*time.Second, "`Time` for which nobody gets the locks that it lost. Default: 15s.")
		f.StringVar(&s.entry.Node, "node", "", "`Name` of its node. Default: the agent's own.")
		f.Var((*list)(&s.checks), "node-check", "`Id` of a check of the node that it depends on. May be repeated. Default: serfHealth.")
		f.Var((*list)(&s.services), "service-check", "`Id` of a check of a service that it depends on. May be repeated.")
		f.BoolVar(&s.noChecks, "no-checks", false, "It depends on no check, not even on the node being alive.")
		s.format = f.format()
		s.conn = f.connect(false)
		return s.run
	},
}

type sessionCreate struct {
	conn             *connection
	entry            api.SessionEntry
	checks, services list
	noChecks         bool
	format           *string
}

func (s *sessionCreate) run([]string) int {
	f := s.conn.f
	err := checkFormat(*s.format)
	if s.noChecks && len(s.checks)+len(s.services) > 0 {
		err = errors.New("-no-checks can't be used with checks")
	}
	if err != nil {
		return f.fail("muster session create: %v.", err)
	}
	s.entry.LockDelay = max(s.entry.LockDelay, time.Millisecond) // 0 would be the default
	s.entry.NodeChecks = s.checks
	for _, id := range s.services {
		s.entry.ServiceChecks = append(s.entry.ServiceChecks, api.ServiceCheck{ID: id})
	}
	client, err := s.conn.client()
	if err != nil {
		return f.fail("%v", err)
	}
	create := client.Session().Create
	if s.noChecks {
		create = client.Session().CreateNoChecks
	}
	id, _, err := create(&s.entry, nil)
	if err != nil {
		return s.conn.fail("creating the session", err)
	}
	if *s.format == "json" {
		return f.json(map[string]string{"ID": id})
	}
	fmt.Fprintln(f.stdout, id)
	return 0
}

var sessionListCommand = &command{
	name:  "session list",
	short: "List sessions",
	long:  "Lists the sessions of the datacenter or, with -node, of a node.",
	setup: func(f *flags) func([]string) int {
		node := f.String("node", "", "`Name` of a node.")
		format := f.format()
		conn := f.connect(true)
		return func([]string) int { return sessionList(conn, *node, *format) }
	},
}

func sessionList(conn *connection, node, format string) int {
	f := conn.f
	if err := checkFormat(format); err != nil {
		return f.fail("muster session list: %v.", err)
	}
	client, err := conn.client()
	if err != nil {
		return f.fail("%v", err)
	}
	var entries []*api.SessionEntry
	if node != "" {
		entries, _, err = client.Session().Node(node, conn.query())
	} else {
		entries, _, err = client.Session().List(conn.query())
	}
	if err != nil {
		return conn.fail("listing sessions", err)
	}
	if format == "json" {
		return f.json(entries)
	}
	rows := [][]string{{"ID", "Node", "TTL", "Behavior", "Name"}}
	for _, e := range entries {
		rows = append(rows, []string{e.ID, shown(e.Node), dash(e.TTL), e.Behavior, shown(dash(e.Name))})
	}
	columns(f.stdout, rows)
	return 0
}

// dash stands for what is not set.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

var sessionInfoCommand = &command{
	name:  "session info",
	args:  "ID",
	short: "Show a session",
	long:  "Shows a session. Exit code 1 if there is no such session.",
	setup: func(f *flags) func([]string) int {
		return sessionOne(f, true, "reading the session", func(c *api.Client, id string, q *api.QueryOptions) (*api.SessionEntry, error) {
			entry, _, err := c.Session().Info(id, q)
			return entry, err
		})
	},
}

var sessionRenewCommand = &command{
	name:  "session renew",
	args:  "ID",
	short: "Renew a session with a TTL",
	long:  "Begins the TTL of a session anew and shows it. Exit code 1 if there is no such\nsession.",
	setup: func(f *flags) func([]string) int {
		return sessionOne(f, false, "renewing the session", func(c *api.Client, id string, _ *api.QueryOptions) (*api.SessionEntry, error) {
			entry, _, err := c.Session().Renew(id, nil)
			return entry, err
		})
	},
}

// sessionOne is a command that ends with showing one session.
func sessionOne(f *flags, reads bool, doing string, ask func(*api.Client, string, *api.QueryOptions) (*api.SessionEntry, error)) func([]string) int {
	format := f.format()
	conn := f.connect(reads)
	return func(args []string) int {
		client, id, err := oneID(conn, args, *format)
		if err != nil {
			return f.fail("muster %s: %v.", f.cmd.name, err)
		}
		entry, err := ask(client, id, conn.query())
		switch {
		case err != nil:
			return conn.fail(doing, err)
		case entry == nil:
			return f.fail("Error! No session exists with id: %s", id)
		case *format == "json":
			return f.json(entry)
		}
		sessionDetails(f, entry)
		return 0
	}
}

func sessionDetails(f *flags, e *api.SessionEntry) {
	var services []string
	for _, c := range e.ServiceChecks {
		services = append(services, c.ID)
	}
	for _, r := range [][2]string{
		{"ID", e.ID}, {"Name", dash(e.Name)}, {"Node", e.Node}, {"TTL", dash(e.TTL)}, {"Behavior", e.Behavior},
		{"LockDelay", e.LockDelay.String()}, {"NodeChecks", dash(strings.Join(e.NodeChecks, ","))},
		{"ServiceChecks", dash(strings.Join(services, ","))},
		{"CreateIndex", fmt.Sprint(e.CreateIndex)},
	} {
		fmt.Fprintf(f.stdout, "%-16s %s\n", r[0], shown(r[1]))
	}
}

// oneID is the id that a command takes, with a client.
func oneID(conn *connection, args []string, format string) (*api.Client, string, error) {
	if err := checkFormat(format); err != nil {
		return nil, "", err
	}
	if len(args) != 1 || args[0] == "" {
		return nil, "", errors.New("it takes one ID")
	}
	client, err := conn.client()
	return client, args[0], err
}

var sessionDestroyCommand = &command{
	name:  "session destroy",
	args:  "ID",
	short: "End a session",
	long:  "Ends a session; its locks are given back. It is no error if there is none.",
	setup: func(f *flags) func([]string) int {
		conn := f.connect(false)
		return func(args []string) int {
			client, id, err := oneID(conn, args, "pretty")
			if err != nil {
				return f.fail("muster session destroy: %v.", err)
			}
			if _, err := client.Session().Destroy(id, nil); err != nil {
				return conn.fail("ending the session", err)
			}
			fmt.Fprintf(f.stdout, "Success! Destroyed session: %s\n", id)
			return 0
		}
	},
}
