package gossip

import (
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/hashicorp/serf/serf"
)

// party is one of two agents that claim the same thing.
type party struct {
	name, id, addr string
}

func partyOf(m *serf.Member) party {
	return party{m.Name, m.Tags[tagID], net.JoinHostPort(m.Addr.String(), strconv.Itoa(int(m.Port)))}
}

func (p party) String() string {
	return fmt.Sprintf("%q with the id %s at %s", p.name, p.id, p.addr)
}

// identities knows which living member has which node id, from the pool's events: its
// own lock, so that it may be asked under memberlist's.
type identities struct {
	mu   sync.Mutex
	byID map[string]party
	ids  map[string]string // by name
}

// lives records a member that joined or changed.
func (i *identities) lives(m *serf.Member) {
	p := partyOf(m)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.byID == nil {
		i.byID, i.ids = make(map[string]party), make(map[string]string)
	}
	i.dropLocked(p.name) // its id may be another one now
	if p.id != "" {
		i.byID[p.id], i.ids[p.name] = p, p.id
	}
}

func (i *identities) dropLocked(name string) {
	if id := i.ids[name]; i.byID[id].name == name {
		delete(i.byID, id)
	}
	delete(i.ids, name)
}

// ends records that a member left or failed. Its id is free then.
func (i *identities) ends(m *serf.Member) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.dropLocked(m.Name)
}

// holder is the other living member with m's id. One at the same address and port can't
// run beside m: it is m before it got another name.
func (i *identities) holder(m *serf.Member) (party, bool) {
	p := partyOf(m)
	i.mu.Lock()
	defer i.mu.Unlock()
	h, ok := i.byID[p.id]
	return h, ok && p.id != "" && h.name != p.name && h.addr != p.addr
}

// clonedID is the error about two living agents with one node id, as after copying a
// machine's disk.
func clonedID(newcomer, holder party) error {
	return fmt.Errorf("agent %v is refused: agent %v is alive and has the same node id. Was its disk copied? Stop one of the two, "+
		"remove the file node-id in its data dir, or give it another node_id, and start it again; after a change of name and address "+
		"it is enough to wait until the old one is seen to have failed", newcomer, holder)
}
