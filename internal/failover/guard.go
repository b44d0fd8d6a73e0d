package failover

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// This file has the decisions of the guard, without clock and network. The order
// matters and was measured (docs/failover.md): without it two survivors split the
// vote, and a hint costs more than the timeout that it was to save.

// Standing is a server's place among the voters.
type Standing struct {
	Leader              string // known leader's id; empty: none
	Follower, Candidate bool
	Term                uint64   // the current one
	LastTerm, LastIndex uint64   // of its log
	Voters              []string // ids, the own one among them if it votes
}

// result is how a round of the guard ended; its text is the label in metrics.
type result string

const (
	resultActed    result = "acted"      // stood for election
	resultSettled  result = "settled"    // the lost server is not the leader, or not any more
	resultNoVoter  result = "no_voter"   // this server has no vote, so it can't lead
	resultAlive    result = "alive"      // the leader greets
	resultUnsure   result = "unsure"     // nothing was proven this time
	resultOutvoted result = "outvoted"   // no majority has lost the leader
	resultLed      result = "led"        // a peer knows another leader already
	resultBehind   result = "behind"     // another server is better placed
	resultNotStood result = "not_stood"  // Raft did not take the order
	resultStopped  result = "stopped"    // this server is stopping
	resultLost     result = "unanswered" // the rounds are used up and nobody leads yet
)

// final tells results after which no other round follows.
func (r result) final() bool {
	switch r {
	case resultActed, resultOutvoted, resultBehind, resultNotStood, resultLed, resultUnsure:
		return false
	}
	return true
}

// mayFollow is step (a): only a voting follower of the lost server may go on. To stand
// makes a candidate of any state, even of a leader. The lost leader may have been given
// up already, for the request of a candidate that then got no majority: last is the
// leader that was known last.
func mayFollow(s Standing, self, lost, last string) (ok bool, otherwise result) {
	switch {
	case !s.votes(self):
		return false, resultNoVoter
	case s.Follower && (s.Leader == lost || s.Leader == "" && last == lost):
		return true, ""
	}
	return false, resultSettled
}

func (s *Standing) votes(id string) bool {
	for _, v := range s.Voters {
		if v == id {
			return true
		}
	}
	return false
}

func (s *Standing) majority() int { return len(s.Voters)/2 + 1 }

// sign is what an attempt to reach a server says about it.
type sign int

const (
	signAlive  sign = iota // it greeted
	signDead               // its host says that nothing listens
	signDying              // connected, and cut off without a word: ask again
	signUnsure             // anything else
)

// readSign is step (b). A dial that succeeds proves nothing, a dying process's
// backlog accepts, so err is that of dial and greeting together.
func readSign(err error) sign {
	switch {
	case err == nil:
		return signAlive
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.Canceled):
		return signUnsure
	case errors.Is(err, syscall.ECONNREFUSED):
		return signDead
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return signDying
	}
	return signUnsure
}

// place is what servers compare to find the best placed one.
type place struct {
	term, index uint64
	standing    bool // it is a candidate already
	id          string
}

// before reports whether p is better placed: it has the newer log, which the voters
// insist on; then who stands already, to leave it to that; then the lower id.
func (p place) before(o place) bool {
	if p.newer(o) || o.newer(p) {
		return p.newer(o)
	}
	if p.standing != o.standing {
		return p.standing
	}
	return cmp.Less(p.id, o.id)
}

// newer reports whether p has the newer log.
func (p place) newer(o place) bool {
	return p.term > o.term || p.term == o.term && p.index > o.index
}

// answer is a peer's word on the lost leader.
type answer struct {
	place
	current uint64 // its term
	lost    bool   // its connection has ended, too
	led     bool   // it leads, or follows somebody else
}

// decide is steps (c) and (d): a majority, counting oneself, must have lost the
// leader, and only the best placed of all who answered acts. Answers are those of
// voters other than self and the lost one. Late is set in the last rounds: a candidate
// that could win would have, so the others wait for it no longer. (Raft loses an order to
// stand if the server was a candidate before and only the leader's heartbeats have
// reached it since.)
func decide(s Standing, self place, answers []answer, late bool) result {
	agreeing := 1
	best := true
	for _, a := range answers {
		if a.led {
			return resultLed
		}
		if a.lost {
			agreeing++
		}
		// A candidate whose request for this server's vote is still on its way: to stand
		// in the same term would split the vote, even if that one has no chance.
		soon := a.standing && a.current > s.Term
		stuck := late && a.standing && !a.newer(self)
		best = best && !soon && (stuck || !a.before(self))
	}
	switch {
	case agreeing < s.majority():
		return resultOutvoted
	case !best:
		return resultBehind
	}
	return resultActed
}
