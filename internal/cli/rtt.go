package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/consul/api"
	"github.com/hashicorp/serf/coordinate"
)

var rttCommand = &command{
	name:  "rtt",
	args:  "NODE1 [NODE2]",
	short: "Estimate the round trip time between two nodes",
	long: `
Estimates the round trip time between two nodes, by their names as "muster
members" shows them, from the coordinates that gossip computes. Without NODE2
it is that between NODE1 and the agent's own node. With -wan the nodes are
servers with their datacenters, such as server1.dc1.

    muster rtt web1 db1
    muster rtt -wan server1.dc1 server1.dc2`,
	setup: func(f *flags) func([]string) int {
		r := &rtt{}
		f.BoolVar(&r.wan, "wan", false, "Use the coordinates of servers in the WAN.")
		r.conn = f.connect(false)
		return r.run
	},
}

type rtt struct {
	conn *connection
	wan  bool
}

func (r *rtt) run(args []string) int {
	f := r.conn.f
	if len(args) < 1 || len(args) > 2 {
		return f.fail("muster rtt: it takes one or two names of nodes.")
	}
	client, err := r.conn.client()
	if err != nil {
		return f.fail("%v", err)
	}
	if len(args) == 1 {
		own, err := r.ownName(client)
		if err != nil {
			return r.conn.fail("asking for the agent's name", err)
		}
		args = append(args, own)
	}
	a, b, source, err := r.coordinates(client, args[0], args[1])
	var unknown *noCoordinate
	switch {
	case errors.As(err, &unknown):
		return f.fail("muster rtt: %v.", err)
	case err != nil:
		return r.conn.fail("asking for coordinates", err)
	case !a.IsCompatibleWith(b):
		return f.fail("muster rtt: the coordinates of %q and %q can't be compared.", args[0], args[1])
	}
	ms := a.DistanceTo(b).Seconds() * 1000
	fmt.Fprintf(f.stdout, "Estimated %s <-> %s rtt: %.3f ms (using %s coordinates)\n", args[0], args[1], ms, source)
	return 0
}

// ownName is the name of the agent's node, as the pool has it.
func (r *rtt) ownName(client *api.Client) (string, error) {
	self, err := client.Agent().Self()
	if err != nil {
		return "", err
	}
	name, _ := self["Config"]["NodeName"].(string)
	if dc, _ := self["Config"]["Datacenter"].(string); r.wan {
		name += "." + dc
	}
	return name, nil
}

func (r *rtt) coordinates(client *api.Client, n1, n2 string) (a, b *coordinate.Coordinate, source string, err error) {
	if r.wan {
		a, b, err = r.wide(client, n1, n2)
		return a, b, "WAN", err
	}
	if a, err = local(client, n1); err == nil {
		b, err = local(client, n2)
	}
	return a, b, "LAN", err
}

// noCoordinate says that nothing is known of a node.
type noCoordinate struct{ node string }

func (e *noCoordinate) Error() string {
	return fmt.Sprintf("there is no coordinate for node %q: is the name right, and has the node been up for some seconds", e.node)
}

// local is a node's coordinate in the pool of the datacenter.
func local(client *api.Client, node string) (*coordinate.Coordinate, error) {
	entries, _, err := client.Coordinate().Node(node, nil)
	var status api.StatusError
	switch {
	case errors.As(err, &status) && status.Code == 404, err == nil && (len(entries) == 0 || entries[0].Coord == nil):
		return nil, &noCoordinate{node}
	case err != nil:
		return nil, err
	}
	return entries[0].Coord, nil
}

// wide are the coordinates of two servers, named with their datacenters. Servers of
// different areas can't be compared.
func (r *rtt) wide(client *api.Client, n1, n2 string) (a, b *coordinate.Coordinate, err error) {
	areas, err := client.Coordinate().Datacenters()
	if err != nil {
		return nil, nil, err
	}
	find := func(node string) (*coordinate.Coordinate, string) {
		for _, area := range areas {
			for _, e := range area.Coordinates {
				if strings.EqualFold(node, e.Node+"."+area.Datacenter) || strings.EqualFold(node, e.Node) {
					return e.Coord, area.AreaID
				}
			}
		}
		return nil, ""
	}
	a, areaA := find(n1)
	b, areaB := find(n2)
	switch {
	case a == nil:
		return nil, nil, &noCoordinate{n1}
	case b == nil:
		return nil, nil, &noCoordinate{n2}
	case areaA != areaB:
		return nil, nil, fmt.Errorf("%q and %q are in different areas", n1, n2)
	}
	return a, b, nil
}
