package consensus

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A follower that stands is elected at once, although its leader lives and is known;
// who waits for the news of a leader is told.
func TestStand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		commit(t, c.leader(), "a")
		time.Sleep(time.Second)
		f := c.followers()[0]
		before := f.Standing()
		if !before.Follower || before.Candidate || before.Leader == "" || before.LastIndex == 0 || before.LastTerm != before.Term {
			t.Errorf("a follower stands at %+v", before)
		}
		changed := f.LeaderChanged()
		if err := f.Stand(); err != nil {
			t.Fatal(err)
		}
		<-changed
		time.Sleep(20 * time.Millisecond)
		if l := c.leader(); l != f || f.Standing().Term != before.Term+1 {
			t.Errorf("%s leads, %+v", l.config.NodeID, f.Standing())
		}
	})
}

// A vote is asked for again while the connections are those to a process that has been
// restarted since, and not if the answer or the network says anything else.
func TestVotesOnOldConnections(t *testing.T) {
	stale := fmt.Errorf("read: %w", io.EOF)
	reset := &net.OpError{Op: "write", Err: syscall.ECONNRESET}
	tests := []struct {
		errs  []error
		calls int
		want  error
	}{
		{[]error{nil}, 1, nil},
		{[]error{stale, nil}, 2, nil},
		{[]error{stale, reset, io.ErrClosedPipe, nil}, poolSize + 1, nil},
		{[]error{stale, stale, stale, stale, nil}, poolSize + 1, stale},
		{[]error{errRefused, nil}, 1, errRefused},
		{[]error{stale, errRefused, nil}, 2, errRefused},
	}
	for _, tt := range tests {
		calls := 0
		err := again(func() error {
			calls++
			return tt.errs[calls-1]
		})
		if calls != tt.calls || !errors.Is(err, tt.want) {
			t.Errorf("%v: %d calls, %v; want %d, %v", tt.errs, calls, err, tt.calls, tt.want)
		}
	}
}
