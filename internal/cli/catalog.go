package cli

import (
	"fmt"
	"sort"
	"strings"

	"github.com/hashicorp/consul/api"
)

// joined is "k=v, k=v", sorted.
func joined(m map[string]string) string {
	out := make([]string, 0, len(m))
	for k, v := range m {
		out = append(out, k+"="+v)
	}
	sort.Strings(out)
	return strings.Join(out, ", ")
}

var catalogDatacentersCommand = &command{
	name:  "catalog datacenters",
	short: "List the known datacenters",
	long:  "Lists the datacenters that the agent knows, the nearest first.",
	setup: func(f *flags) func([]string) int {
		conn := f.connect(true)
		return func([]string) int {
			client, err := conn.client()
			if err != nil {
				return f.fail("%v", err)
			}
			names, err := client.Catalog().Datacenters()
			if err != nil {
				return conn.fail("listing datacenters", err)
			}
			for _, n := range names {
				fmt.Fprintln(f.stdout, n)
			}
			return 0
		}
	},
}

var catalogNodesCommand = &command{
	name:  "catalog nodes",
	short: "List the nodes of the catalog",
	long: `
Lists the nodes of the catalog: all, or those with a service or with metadata.

    muster catalog nodes -service=web -detailed`,
	setup: func(f *flags) func([]string) int {
		n := &catalogNodes{}
		f.BoolVar(&n.detailed, "detailed", false, "Show tagged addresses and metadata, and ids in full.")
		f.StringVar(&n.near, "near", "", "Sort by the distance to this `node`; _agent is the agent's own.")
		f.StringVar(&n.service, "service", "", "Only nodes with this `service`.")
		f.StringVar(&n.filter, "filter", "", "Only nodes that match this filter `expression`.")
		f.Var(&n.meta, "node-meta", "Only nodes with this metadata, as `key=value`. May be repeated.")
		n.conn = f.connect(true)
		return n.run
	},
}

type catalogNodes struct {
	conn                  *connection
	detailed              bool
	near, service, filter string
	meta                  pairs
}

func (n *catalogNodes) run([]string) int {
	f := n.conn.f
	client, err := n.conn.client()
	if err != nil {
		return f.fail("%v", err)
	}
	q := n.conn.query()
	q.Near, q.Filter, q.NodeMeta = n.near, n.filter, n.meta
	nodes, err := n.list(client, q)
	if err != nil {
		return n.conn.fail("listing nodes", err)
	}
	if len(nodes) == 0 {
		return f.fail("No nodes match the given query - try expanding your search")
	}
	rows := [][]string{{"Node", "ID", "Address", "DC"}}
	if n.detailed {
		rows[0] = append(rows[0], "TaggedAddresses", "Meta")
	}
	for _, node := range nodes {
		id := node.ID
		if !n.detailed {
			id, _, _ = strings.Cut(id, "-")
		}
		row := []string{node.Node, id, node.Address, node.Datacenter}
		if n.detailed {
			row = append(row, joined(node.TaggedAddresses), joined(node.Meta))
		}
		rows = append(rows, row)
	}
	columns(f.stdout, rows)
	return 0
}

func (n *catalogNodes) list(client *api.Client, q *api.QueryOptions) ([]*api.Node, error) {
	if n.service == "" {
		nodes, _, err := client.Catalog().Nodes(q)
		return nodes, err
	}
	instances, _, err := client.Catalog().Service(n.service, "", q)
	if err != nil {
		return nil, err
	}
	var nodes []*api.Node
	seen := map[string]bool{}
	for _, s := range instances {
		if !seen[s.Node] { // a node may have several instances
			seen[s.Node] = true
			nodes = append(nodes, &api.Node{ID: s.ID, Node: s.Node, Address: s.Address, Datacenter: s.Datacenter, TaggedAddresses: s.TaggedAddresses, Meta: s.NodeMeta})
		}
	}
	return nodes, nil
}

var catalogServicesCommand = &command{
	name:  "catalog services",
	short: "List the services of the catalog",
	long:  "Lists the names of the services in the catalog: all, or those on one node.",
	setup: func(f *flags) func([]string) int {
		s := &catalogServices{}
		f.StringVar(&s.node, "node", "", "Only services on this `node`, given by name or id.")
		f.BoolVar(&s.tags, "tags", false, "Show the tags of each service.")
		f.Var(&s.meta, "node-meta", "Only services on nodes with this metadata, as `key=value`. May be repeated.")
		s.conn = f.connect(true)
		return s.run
	},
}

type catalogServices struct {
	conn *connection
	node string
	tags bool
	meta pairs
}

func (s *catalogServices) run([]string) int {
	f := s.conn.f
	client, err := s.conn.client()
	if err != nil {
		return f.fail("%v", err)
	}
	q := s.conn.query()
	q.NodeMeta = s.meta
	services, err := s.list(client, q)
	if err != nil {
		return s.conn.fail("listing services", err)
	}
	names := make([]string, 0, len(services))
	for name := range services {
		names = append(names, name)
	}
	if len(names) == 0 {
		return f.fail("No services match the given query - try expanding your search.")
	}
	sort.Strings(names)
	var rows [][]string
	for _, name := range names {
		row := []string{shown(name)}
		if s.tags {
			sort.Strings(services[name])
			row = append(row, strings.Join(allShown(services[name]), ","))
		}
		rows = append(rows, row)
	}
	columns(f.stdout, rows)
	return 0
}

func (s *catalogServices) list(client *api.Client, q *api.QueryOptions) (map[string][]string, error) {
	if s.node == "" {
		services, _, err := client.Catalog().Services(q)
		return services, err
	}
	node, _, err := client.Catalog().Node(s.node, q)
	if err != nil || node == nil {
		return nil, err
	}
	services := map[string][]string{}
	for _, v := range node.Services {
		services[v.Service] = append(services[v.Service], v.Tags...)
	}
	return services, nil
}
