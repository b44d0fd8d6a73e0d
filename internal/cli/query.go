package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/hashicorp/consul/api"
)

var queryListCommand = &command{
	name:  "query list",
	short: "List prepared queries",
	long:  "Lists the prepared queries that the token may read.",
	setup: func(f *flags) func([]string) int {
		format := f.format()
		conn := f.connect(true)
		return func([]string) int {
			client, err := queryClient(conn, *format)
			if err != nil {
				return f.fail("muster query list: %v.", err)
			}
			all, _, err := client.PreparedQuery().List(conn.query())
			if err != nil {
				return conn.fail("listing queries", err)
			}
			if *format == "json" {
				return f.json(all)
			}
			rows := [][]string{{"ID", "Name", "Service", "Template"}}
			for _, q := range all {
				rows = append(rows, []string{q.ID, shown(dash(q.Name)), shown(q.Service.Service), dash(q.Template.Type)})
			}
			columns(f.stdout, rows)
			return 0
		}
	},
}

func queryClient(conn *connection, format string) (*api.Client, error) {
	if err := checkFormat(format); err != nil {
		return nil, err
	}
	return conn.client()
}

// queryOne declares a command that takes a query by its id or name and prints what
// ask gives as JSON, or as pretty does.
func queryOne(reads bool, doing string, ask func(*api.Client, string, *api.QueryOptions) (any, error), pretty func(*flags, any)) func(*flags) func([]string) int {
	return func(f *flags) func([]string) int {
		format := f.format()
		conn := f.connect(reads)
		return func(args []string) int {
			client, id, err := oneID(conn, args, *format)
			if err != nil {
				return f.fail("muster %s: %v.", f.cmd.name, err)
			}
			v, err := ask(client, id, conn.query())
			switch {
			case err != nil:
				return conn.fail(doing, err)
			case *format == "json" || pretty == nil:
				return f.json(v)
			}
			pretty(f, v)
			return 0
		}
	}
}

var queryReadCommand = &command{
	name:  "query read",
	args:  "ID",
	short: "Show a prepared query",
	long:  "Prints the definition of a query as JSON, in the form that create and update\ntake. Exit code 1 if there is no such query.",
	setup: queryOne(true, "reading the query", func(c *api.Client, id string, q *api.QueryOptions) (any, error) {
		found, _, err := c.PreparedQuery().Get(id, q)
		if err == nil && len(found) == 0 {
			err = errors.New("there is no such query")
		}
		if err != nil {
			return nil, err
		}
		return found[0], nil
	}, nil),
}

var queryExecuteCommand = &command{
	name:  "query execute",
	args:  "ID_OR_NAME",
	short: "Run a prepared query",
	long:  "Runs a query and shows the instances that it finds.",
	setup: queryOne(true, "running the query", func(c *api.Client, id string, q *api.QueryOptions) (any, error) {
		answer, _, err := c.PreparedQuery().Execute(id, q)
		return answer, err
	}, func(f *flags, v any) {
		rows := [][]string{{"Node", "ID", "Address"}}
		for _, e := range v.(*api.PreparedQueryExecuteResponse).Nodes {
			address := e.Service.Address
			if address == "" {
				address = e.Node.Address
			}
			rows = append(rows, []string{shown(e.Node.Node), shown(e.Service.ID), net.JoinHostPort(address, strconv.Itoa(e.Service.Port))})
		}
		columns(f.stdout, rows)
	}),
}

var queryExplainCommand = &command{
	name:  "query explain",
	args:  "NAME",
	short: "Show what a name makes of a template",
	long:  "Shows, as JSON, the query that runs for a name, with the parts of a template\nfilled in.",
	setup: queryOne(true, "explaining the query", func(c *api.Client, name string, q *api.QueryOptions) (any, error) {
		var answer struct{ Query *api.PreparedQueryDefinition }
		_, err := c.Raw().Query("/v1/query/"+name+"/explain", &answer, q)
		return answer.Query, err
	}, nil),
}

var queryDeleteCommand = &command{
	name:  "query delete",
	args:  "ID",
	short: "Delete a prepared query",
	long:  "Deletes a query.",
	setup: func(f *flags) func([]string) int {
		conn := f.connect(false)
		return func(args []string) int {
			client, id, err := oneID(conn, args, "pretty")
			if err != nil {
				return f.fail("muster query delete: %v.", err)
			}
			if _, err := client.PreparedQuery().Delete(id, nil); err != nil {
				return conn.fail("deleting the query", err)
			}
			fmt.Fprintf(f.stdout, "Success! Deleted query: %s\n", id)
			return 0
		}
	},
}

var queryCreateCommand = &command{
	name:  "query create",
	args:  "DEFINITION",
	short: "Create a prepared query",
	long: `
Creates a query and prints its id. The definition is JSON as in the HTTP API:
the argument itself, the contents of a file with @FILE, or what comes on
standard input with -.

    muster query create '{"Name": "web", "Service": {"Service": "web"}}'
    muster query create @web.json`,
	setup: func(f *flags) func([]string) int {
		format := f.format()
		conn := f.connect(false)
		return func(args []string) int {
			client, def, err := queryDefinition(conn, args, *format)
			if err != nil {
				return f.fail("muster query create: %v.", err)
			}
			id, _, err := client.PreparedQuery().Create(def, nil)
			if err != nil {
				return conn.fail("creating the query", err)
			}
			if *format == "json" {
				return f.json(map[string]string{"ID": id})
			}
			fmt.Fprintln(f.stdout, id)
			return 0
		}
	},
}

var queryUpdateCommand = &command{
	name:  "query update",
	args:  "DEFINITION",
	short: "Replace a prepared query",
	long: `
Replaces the query that has the definition's ID. The definition is given as to
"muster query create".

    muster query read ID > web.json
    muster query update @web.json`,
	setup: func(f *flags) func([]string) int {
		conn := f.connect(false)
		return func(args []string) int {
			client, def, err := queryDefinition(conn, args, "pretty")
			if err == nil && def.ID == "" {
				err = errors.New("the definition has no ID")
			}
			if err != nil {
				return f.fail("muster query update: %v.", err)
			}
			if _, err := client.PreparedQuery().Update(def, nil); err != nil {
				return conn.fail("replacing the query", err)
			}
			fmt.Fprintf(f.stdout, "Success! Updated query: %s\n", def.ID)
			return 0
		}
	},
}

// queryDefinition reads the definition that the argument stands for. A key that is
// spelled wrong would otherwise be left out without a word.
func queryDefinition(conn *connection, args []string, format string) (*api.Client, *api.PreparedQueryDefinition, error) {
	if len(args) != 1 {
		return nil, nil, errors.New("it takes one DEFINITION; quote JSON")
	}
	data, err := argument(args[0])
	if err != nil {
		return nil, nil, err
	}
	def := &api.PreparedQueryDefinition{}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(def); err != nil {
		return nil, nil, fmt.Errorf("the definition: %w", err)
	}
	client, err := queryClient(conn, format)
	return client, def, err
}
