package gossip

import (
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/hashicorp/serf/serf"
)

const (
	mendInterval = time.Second
	// mendAttempts bounds the search: by then a dead namesake is long marked
	// failed, and one that still answers is a real conflict for the operator.
	mendAttempts = 20
	mendRest     = time.Minute // after a search in vain
)

// mend helps an agent that came back under a new address before the pool noticed
// the death of the old one. The others keep the old address and ignore the new
// until the old one is marked failed; without help they would hear of the new one
// only at the next full exchange, up to half a minute later. So while the own
// name or id is claimed by another address, mend joins some members again.
func (p *pool) mend() {
	defer close(p.mended)
	for {
		select {
		case <-p.conflicts:
		case <-p.stop:
			return
		}
		if !p.mendConflict() {
			return
		}
	}
}

// mendConflict joins until the others no longer claim that this agent is
// somewhere else. It is false if the pool closed meanwhile.
func (p *pool) mendConflict() bool {
	for attempt := range mendAttempts {
		if !p.pause(mendInterval) {
			return false
		}
		peer, ok := p.randomPeer()
		if rival := p.admission.rival.Load(); rival != nil && attempt == 0 {
			// If another agent is there, it learns of this one, and tells it in its log.
			peer, ok = rival.name+"/"+rival.addr, true
		}
		if !ok {
			return true
		}
		drain(p.conflicts)
		p.admission.known.Store(false)
		// What the peer believed before the exchange comes back in it, and a
		// conflict in that is signaled before Join returns. While the peer suspects
		// the other agent there is none, and yet it takes this one in only later.
		if _, err := p.serf.Join([]string{peer}, true); err == nil && !drain(p.conflicts) && p.admission.known.Load() {
			p.logger.Info("identity conflict is over", "peer", peer)
			return true
		}
	}
	return p.pause(mendRest)
}

// pause waits; it is false if the pool closed meanwhile.
func (p *pool) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.stop:
		return false
	}
}

// randomPeer is the join address of a live member other than this agent.
func (p *pool) randomPeer() (string, bool) {
	var peers []serf.Member
	own := p.serf.LocalMember().Name
	for _, m := range p.serf.Members() {
		if m.Status == serf.StatusAlive && m.Name != own {
			peers = append(peers, m)
		}
	}
	if len(peers) == 0 {
		return "", false
	}
	m := peers[rand.IntN(len(peers))]
	return m.Name + "/" + net.JoinHostPort(m.Addr.String(), strconv.Itoa(int(m.Port))), true
}

// drain takes a pending signal and reports whether there was one.
func drain(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
