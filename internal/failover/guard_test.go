package failover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestMayFollow(t *testing.T) {
	voters := []string{"a", "b", "c"}
	follower := Standing{Leader: "c", Follower: true, Voters: voters}
	tests := []struct {
		name string
		s    Standing
		last string
		want result
	}{
		{"follows the lost leader", follower, "c", ""},
		{"follows somebody else", Standing{Leader: "b", Follower: true, Voters: voters}, "b", resultSettled},
		{"lost another leader before", Standing{Follower: true, Voters: voters}, "b", resultSettled},
		{"never knew a leader", Standing{Follower: true, Voters: voters}, "", resultSettled},
		{"gave the leader up", Standing{Follower: true, Voters: voters}, "c", ""},
		{"is a candidate", Standing{Leader: "c", Candidate: true, Voters: voters}, "c", resultSettled},
		{"leads itself", Standing{Leader: "a", Voters: voters}, "a", resultSettled},
		{"has no vote", Standing{Leader: "c", Follower: true, Voters: []string{"b", "c"}}, "c", resultNoVoter},
	}
	for _, tt := range tests {
		ok, otherwise := mayFollow(tt.s, "a", "c", tt.last)
		if ok != (tt.want == "") || otherwise != tt.want {
			t.Errorf("%s: %v, %q; want %q", tt.name, ok, otherwise, tt.want)
		}
	}
}

func TestReadSign(t *testing.T) {
	opError := func(err error) error {
		return fmt.Errorf("dial server: %w", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", err)})
	}
	tests := []struct {
		err  error
		want sign
	}{
		{nil, signAlive},
		{opError(syscall.ECONNREFUSED), signDead},
		{opError(syscall.ECONNRESET), signDying},
		{opError(syscall.EPIPE), signDying},
		{fmt.Errorf("no greeting: %w", io.EOF), signDying},
		{fmt.Errorf("no greeting: %w", io.ErrUnexpectedEOF), signDying},
		{opError(syscall.ETIMEDOUT), signUnsure},
		{opError(syscall.EHOSTUNREACH), signUnsure},
		{opError(syscall.ENETUNREACH), signUnsure},
		{fmt.Errorf("dial: %w", context.DeadlineExceeded), signUnsure},
		{fmt.Errorf("read: %w", os.ErrDeadlineExceeded), signUnsure},
		{context.Canceled, signUnsure},
		{errors.New("certificate expired"), signUnsure},
	}
	for _, tt := range tests {
		if got := readSign(tt.err); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.err, got, tt.want)
		}
	}
}

func TestDecide(t *testing.T) {
	voters := func(n int) Standing {
		s := Standing{Voters: []string{"a", "b", "c", "d", "e"}[:n]}
		return s
	}
	at := func(id string, term, index uint64) place { return place{term: term, index: index, id: id} }
	self := at("b", 3, 100)
	lost := func(p place) answer { return answer{place: p, lost: true} }
	standing := func(p place) place { p.standing = true; return p }
	tests := []struct {
		name    string
		s       Standing
		self    place
		answers []answer
		late    bool
		want    result
	}{
		{"peer agrees and is behind", voters(3), self, []answer{lost(at("a", 3, 99))}, false, resultActed},
		{"peer has an older term", voters(3), self, []answer{lost(at("a", 2, 200))}, false, resultActed},
		{"peer is ahead", voters(3), self, []answer{lost(at("c", 3, 101))}, false, resultBehind},
		{"peer has a newer term", voters(3), self, []answer{lost(at("c", 4, 1))}, false, resultBehind},
		{"equal, lower id first", voters(3), self, []answer{lost(at("a", 3, 100))}, false, resultBehind},
		{"equal, higher id", voters(3), self, []answer{lost(at("c", 3, 100))}, false, resultActed},
		{"equal, but it stands already", voters(3), self, []answer{lost(standing(at("c", 3, 100)))}, false, resultBehind},
		{"it stands in vain", voters(3), self, []answer{lost(standing(at("a", 3, 99)))}, false, resultActed},
		{"equal, it stood long ago and leads not", voters(3), self, []answer{lost(standing(at("a", 3, 100)))}, true, resultActed},
		{"ahead, it stood long ago", voters(3), self, []answer{lost(standing(at("a", 3, 101)))}, true, resultBehind},
		{"it stands in vain, its request is still to come", voters(3), self, []answer{{place: standing(at("a", 3, 99)), current: 4, lost: true}}, false, resultBehind},
		{"peer has not lost it", voters(3), self, []answer{{place: at("a", 3, 1)}}, false, resultOutvoted},
		{"nobody answers", voters(3), self, nil, false, resultOutvoted},
		{"peer knows another leader", voters(3), self, []answer{{place: at("a", 3, 1), lost: true, led: true}}, false, resultLed},
		{"two voters: no majority without the other", voters(2), self, nil, false, resultOutvoted},
		{"five: two agree", voters(5), self, []answer{lost(at("c", 3, 1)), lost(at("d", 3, 1))}, false, resultActed},
		{"five: one agrees", voters(5), self, []answer{lost(at("c", 3, 1)), {place: at("d", 3, 1)}}, false, resultOutvoted},
		{"five: the best does not agree", voters(5), self, []answer{lost(at("c", 3, 1)), lost(at("d", 3, 1)), {place: at("e", 3, 101)}}, false, resultBehind},
	}
	for _, tt := range tests {
		if got := decide(tt.s, tt.self, tt.answers, tt.late); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Whatever the logs: of servers that compare the same places, exactly one acts.
func TestOneActs(t *testing.T) {
	for n := range 3 * 3 * 3 * 8 {
		var places []place
		for i, id := range []string{"a", "b", "c"} {
			at := n / []int{1, 3, 9}[i] % 3
			places = append(places, place{term: uint64(at / 2), index: uint64(at), standing: n/27>>i&1 == 1, id: id})
		}
		acting := 0
		for i, self := range places {
			var answers []answer
			for j, p := range places {
				if j != i {
					answers = append(answers, answer{place: p, lost: true})
				}
			}
			if decide(Standing{Voters: []string{"a", "b", "c", "d"}}, self, answers, false) == resultActed {
				acting++
			}
		}
		if acting != 1 {
			t.Fatalf("%v: %d act", places, acting)
		}
	}
}

func TestTally(t *testing.T) {
	tests := []struct {
		signs []sign
		want  verdict
	}{
		{[]sign{signDead}, ""},
		{[]sign{signDead, signDead}, verdictDead},
		{[]sign{signAlive, signDead, signDead}, verdictDead},
		{[]sign{signDead, signAlive, signDead}, ""},
		{[]sign{signDying, signDead, signDead}, verdictDead},
		{[]sign{signDead, signDying, signDead}, ""},
		{[]sign{signAlive, signAlive, signAlive}, ""},
		{[]sign{signAlive, signAlive, signAlive, signAlive}, verdictAlive},
		{[]sign{signDead, signUnsure}, verdictUnsure},
		{[]sign{signUnsure}, verdictUnsure},
	}
	for _, tt := range tests {
		var tl tally
		var got verdict
		for _, s := range tt.signs {
			got = tl.add(s)
		}
		if got != tt.want {
			t.Errorf("%v: %q, want %q", tt.signs, got, tt.want)
		}
	}
}
