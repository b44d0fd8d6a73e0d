package gossip

import "github.com/hashicorp/serf/serf"

// Message is a small message that reaches every agent of the LAN pool once, in no
// certain order. An agent that joins later does not hear earlier ones.
type Message struct {
	Name    string
	Payload []byte
	LTime   uint64 // Lamport time at which it was sent
}

// Broadcast sends a message to all agents of the LAN pool, this one too. Name and
// payload together may have 512 bytes: they travel in UDP packets beside the rest of
// gossip.
func (p *Pools) Broadcast(name string, payload []byte) error {
	return p.lan.serf.UserEvent(name, payload, false)
}

func (p *pool) hear(e serf.UserEvent) {
	if p.wan || p.heard == nil {
		return
	}
	p.heard(Message{Name: e.Name, Payload: e.Payload, LTime: uint64(e.LTime)})
}
