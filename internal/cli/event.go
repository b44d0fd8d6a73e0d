package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/hashicorp/consul/api"
)

var eventCommand = &command{
	name:  "event",
	args:  "[PAYLOAD]",
	short: "Fire an event, or list those that were heard",
	long: `
Fires an event that all agents hear, or those whose node, services and their
tags match. The payload is the argument, the contents of a file with @FILE, or
what comes on standard input with -; it should be short. With -list, shows the
events that the agent has heard lately, the newest last.

    muster event -name=deploy -service=web 1.4.2
    muster event -list`,
	setup: func(f *flags) func([]string) int {
		e := &eventFiring{}
		f.StringVar(&e.event.Name, "name", "", "`Name` of the event.")
		f.StringVar(&e.event.NodeFilter, "node", "", "Regular `expression` that a node's name must match.")
		f.StringVar(&e.event.ServiceFilter, "service", "", "Regular `expression` that a service of the node must match.")
		f.StringVar(&e.event.TagFilter, "tag", "", "Regular `expression` that a tag of that service must match.")
		f.BoolVar(&e.list, "list", false, "List events instead of firing one.")
		e.format = f.format()
		e.conn = f.connect(false)
		f.StringVar(&e.conn.datacenter, "datacenter", "", "`Name` of the datacenter. Default: the agent's own.")
		f.shared["datacenter"] = true
		return e.run
	},
}

type eventFiring struct {
	conn   *connection
	event  api.UserEvent
	list   bool
	format *string
}

func (e *eventFiring) run(args []string) int {
	f := e.conn.f
	if err := e.check(args); err != nil {
		return f.fail("muster event: %v.", err)
	}
	client, err := e.conn.client()
	if err != nil {
		return f.fail("%v", err)
	}
	if e.list {
		return e.show(client)
	}
	if len(args) == 1 {
		if e.event.Payload, err = argument(args[0]); err != nil {
			return f.fail("muster event: %v", err)
		}
	}
	id, _, err := client.Event().Fire(&e.event, nil)
	if err != nil {
		return e.conn.fail("firing the event", err)
	}
	fmt.Fprintf(f.stdout, "Event ID: %s\n", id)
	return 0
}

func (e *eventFiring) check(args []string) error {
	filters := []string{e.event.NodeFilter, e.event.ServiceFilter, e.event.TagFilter}
	for _, filter := range filters {
		if _, err := regexp.Compile(filter); err != nil {
			return fmt.Errorf("%q is not a regular expression: %v", filter, err)
		}
		if e.list && filter != "" {
			return errors.New("-list takes no filter but -name")
		}
	}
	switch {
	case len(args) > 1:
		return errors.New("it takes one PAYLOAD; quote one with spaces")
	case e.list && len(args) > 0:
		return errors.New("-list takes no PAYLOAD")
	case !e.list && e.event.Name == "":
		return errors.New("-name is missing")
	case e.event.TagFilter != "" && e.event.ServiceFilter == "":
		return errors.New("-tag needs -service")
	}
	return checkFormat(*e.format)
}

func (e *eventFiring) show(client *api.Client) int {
	events, _, err := client.Event().List(e.event.Name, nil)
	if err != nil {
		return e.conn.fail("listing events", err)
	}
	if *e.format == "json" {
		return e.conn.f.json(events)
	}
	rows := [][]string{{"ID", "Name", "LTime", "Payload"}}
	for _, ev := range events {
		rows = append(rows, []string{ev.ID, shown(ev.Name), strconv.FormatUint(ev.LTime, 10), shown(string(ev.Payload))})
	}
	columns(e.conn.f.stdout, rows)
	return 0
}

// format declares the flag of commands whose output may be JSON.
func (f *flags) format() *string {
	return f.String("format", "pretty", "`Form` of the output: pretty or json.")
}

func checkFormat(format string) error {
	if format != "pretty" && format != "json" {
		return fmt.Errorf("-format=%s: want pretty or json", format)
	}
	return nil
}

// json prints a value and returns the exit code.
func (f *flags) json(v any) int {
	data, err := json.MarshalIndent(v, "", "    ")
	if err != nil {
		return f.fail("encode the output: %v", err)
	}
	fmt.Fprintf(f.stdout, "%s\n", data)
	return 0
}
