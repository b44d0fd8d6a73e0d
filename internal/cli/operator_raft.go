package cli

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/hashicorp/consul/api"
)

var raftListCommand = &command{
	name:  "operator raft list-peers",
	short: "List the servers that take part in consensus",
	long: `
Lists the servers that take part in consensus, as the leader knows them. A
server that gossip does not know is "(unknown)".

While there is no leader, -stale lets the asked server answer.`,
	setup: func(f *flags) func([]string) int {
		c := f.connect(true)
		return func([]string) int { return raftList(c) }
	},
}

func raftList(c *connection) int {
	client, err := c.client()
	if err != nil {
		return c.f.fail("%v", err)
	}
	conf, err := client.Operator().RaftGetConfiguration(c.query())
	if err != nil {
		return c.fail("asking for the servers", err)
	}
	columns(c.f.stdout, raftRows(conf.Servers))
	return 0
}

func raftRows(servers []*api.RaftServer) [][]string {
	var leader *api.RaftServer
	for _, s := range servers {
		if s.Leader {
			leader = s
		}
	}
	rows := [][]string{{"Node", "ID", "Address", "State", "Voter", "RaftProtocol", "Commit Index", "Trails Leader By"}}
	for _, s := range servers {
		state, trails := "follower", "-"
		switch {
		case s.Leader:
			state = "leader"
		case leader != nil && s.LastIndex != 0:
			trails = behind(leader.LastIndex, s.LastIndex)
		}
		rows = append(rows, []string{shown(s.Node), s.ID, s.Address, state, strconv.FormatBool(s.Voter),
			s.ProtocolVersion, strconv.FormatUint(s.LastIndex, 10), trails})
	}
	return rows
}

// behind is never negative: the two were asked one after the other.
func behind(leader, follower uint64) string {
	n := leader - min(leader, follower)
	if n == 1 {
		return "1 commit"
	}
	return fmt.Sprintf("%d commits", n)
}

var raftRemoveCommand = &command{
	name:  "operator raft remove-peer",
	short: "Take a server out of consensus",
	long: `
Takes a server out of consensus that is gone for good. One that lives and is a
member is taken in again: let it leave instead, with muster leave there.

    muster operator raft remove-peer -id=9b2f5bc1-...
    muster operator raft remove-peer -address=10.0.0.3:8300`,
	setup: func(f *flags) func([]string) int {
		var id, address string
		f.StringVar(&id, "id", "", "`Id` of the server.")
		f.StringVar(&address, "address", "", "`Address` of the server, IP:port.")
		c := f.connect(false)
		return func([]string) int { return raftRemove(c, id, address) }
	},
}

func raftRemove(c *connection, id, address string) int {
	if err := oneOf(id, address); err != nil {
		return c.f.fail("muster operator raft remove-peer: %v.", err)
	}
	client, err := c.client()
	if err != nil {
		return c.f.fail("%v", err)
	}
	kind, name := "id", id
	if id != "" {
		err = client.Operator().RaftRemovePeerByID(id, nil)
	} else {
		kind, name = "address", address
		err = client.Operator().RaftRemovePeerByAddress(address, nil)
	}
	if err != nil {
		return c.fail("removing the server", err)
	}
	fmt.Fprintf(c.f.stdout, "Removed peer with %s %q\n", kind, name)
	return 0
}

func oneOf(id, address string) error {
	switch {
	case id == "" && address == "":
		return errors.New("give the server by -id or by -address")
	case id != "" && address != "":
		return errors.New("only one of -id and -address may be given")
	}
	return nil
}

var raftTransferCommand = &command{
	name:  "operator raft transfer-leader",
	short: "Hand leadership to another server",
	long: `
Has the leader hand leadership to the server with the given id, or to the one
that is furthest ahead.`,
	setup: func(f *flags) func([]string) int {
		var id string
		f.StringVar(&id, "id", "", "`Id` of the server that is to lead. Default: the leader chooses.")
		c := f.connect(false)
		return func([]string) int { return raftTransfer(c, id) }
	},
}

func raftTransfer(c *connection, id string) int {
	client, err := c.client()
	if err != nil {
		return c.f.fail("%v", err)
	}
	if _, err := client.Operator().RaftLeaderTransfer(id, nil); err != nil {
		return c.fail("handing over leadership", err)
	}
	fmt.Fprintln(c.f.stdout, "Success")
	return 0
}
