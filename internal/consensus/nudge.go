package consensus

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// nudgeDelay is how long the followers' news may wait for an entry that carries it,
	// nudgeRest how long after a nudge. After a longer rest there is no wait: the write
	// was a lone one.
	nudgeDelay = time.Millisecond
	nudgeRest  = 10 * time.Millisecond
	// nudgeGiveUp bounds the pauses between attempts; Raft's idle message is near then.
	nudgeGiveUp = 20 * time.Millisecond
)

// nudger tells followers that the newest entry is committed. They learn it with the
// next entry, so after a lone write only from Raft's idle message, 50 to 100 ms later,
// and all who watch on a follower would wait for that long. A nudge is such a message
// sent at once: an append without entries behind the committed one, in the name of
// the term in which this server led and wrote that entry. A follower takes it only if
// its log agrees up to there, so a nudge that comes late or twice changes nothing.
//
// While entries flow there are no nudges. A follower has one on its way at most.
type nudger struct {
	log  *Log
	sent atomic.Uint64 // entries handed to Raft
	wake chan struct{} // holds one token
	done atomic.Uint64 // newest committed index

	peers  sync.WaitGroup
	mu     sync.Mutex
	wanted uint64                   // the entry that followers are to know of
	told   map[raft.ServerID]uint64 // followers with a nudge under way, and for which entry
}

func newNudger(l *Log) *nudger {
	return &nudger{log: l, wake: make(chan struct{}, 1), told: make(map[raft.ServerID]uint64)}
}

// committed is called for each entry once it is committed and applied here.
func (n *nudger) committed(index uint64) {
	for {
		old := n.done.Load()
		if index <= old || n.done.CompareAndSwap(old, index) {
			break
		}
	}
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// run nudges until stop is closed, and awaits what is under way unless a peer hangs.
func (n *nudger) run(stop <-chan struct{}) {
	defer within(closeTimeout, n.peers.Wait)
	var last uint64
	var at time.Time
	for {
		select {
		case <-n.wake:
		case <-stop:
			return
		}
		sent := n.sent.Load()
		if time.Since(at) < nudgeRest && !waitUnless(stop, nudgeDelay) {
			return
		}
		index := n.done.Load()
		// A later entry carries the news itself, and brings the next nudge.
		if index > last && n.sent.Load() == sent && n.log.IsLeader() {
			n.nudge(index)
			last, at = index, time.Now()
		}
	}
}

// waitUnless waits; false if stop was closed before.
func waitUnless(stop <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-stop:
		return false
	}
}

// nudge tells all followers about an entry.
func (n *nudger) nudge(index uint64) {
	n.mu.Lock()
	n.wanted = index
	n.mu.Unlock()
	for _, s := range n.log.raft.GetConfiguration().Configuration().Servers {
		if s.ID != raft.ServerID(n.log.config.NodeID) && n.claim(s.ID) {
			n.peers.Go(func() {
				for told := index; !n.release(s.ID, told); told = n.newest() {
					n.nudgePeer(s, told)
				}
			})
		}
	}
}

// nudgePeer tells one follower. The entry itself may still be on its way to it, when
// the others were the majority. What this can't bring, Raft's own message does.
func (n *nudger) nudgePeer(s raft.Server, index uint64) {
	l := n.log
	var entry raft.Log
	if l.stores.log.GetLog(index, &entry) != nil {
		return // compacted: long since known
	}
	self, addr := raft.ServerID(l.config.NodeID), l.transport.LocalAddr()
	request := raft.AppendEntriesRequest{
		RPCHeader: raft.RPCHeader{
			ProtocolVersion: raft.ProtocolVersionMax,
			ID:              []byte(self), Addr: l.transport.EncodePeer(self, addr),
		},
		Term: entry.Term, PrevLogEntry: index, PrevLogTerm: entry.Term, LeaderCommitIndex: index,
	}
	for pause := nudgeDelay; pause < nudgeGiveUp; pause *= 2 {
		var response raft.AppendEntriesResponse
		err := l.transport.AppendEntries(s.ID, s.Address, &request, &response)
		if err != nil || response.Success || response.Term > request.Term || n.newest() > index {
			return
		}
		if !waitUnless(l.over, pause) {
			return
		}
	}
}

func (n *nudger) newest() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.wanted
}

// claim begins the nudges of a follower, unless they are under way.
func (n *nudger) claim(id raft.ServerID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, busy := n.told[id]; busy {
		return false
	}
	n.told[id] = 0
	return true
}

// release ends them if the follower was told about the newest entry already; else it
// is about to be told about this one.
func (n *nudger) release(id raft.ServerID, next uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.told[id] >= next {
		delete(n.told, id)
		return true
	}
	n.told[id] = next
	return false
}
