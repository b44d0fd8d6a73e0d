package consensus

import (
	"testing"
	"testing/synctest"
	"time"
)

// Followers apply a lone write long before Raft's idle message would tell them to.
func TestFollowersLearnOfALoneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		l := c.leader()
		for i := range 5 {
			time.Sleep(time.Second) // idle
			commit(t, l, "a")
			time.Sleep(4 * nudgeDelay)
			for id, m := range c.machines {
				if m.len() != i+1 {
					t.Errorf("%s has %d of %d commands %v after the write", id, m.len(), i+1, 4*nudgeDelay)
				}
			}
		}
	})
}

// A nudge for what a follower does not have, or in the name of an old term, is nothing
// to it.
func TestStrayNudges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		l := c.leader()
		commit(t, l, "a")
		time.Sleep(time.Second)
		old := l.raft.LastIndex()
		if err := l.TransferLeadership(); err != nil {
			t.Fatal(err)
		}
		next := c.leader()
		commit(t, next, "b")
		time.Sleep(time.Second)
		l.nudger.nudge(old)
		l.nudger.nudge(old + 100)
		time.Sleep(time.Second)
		if c.leader() != next || len(c.followers()) != 2 {
			t.Error("leadership moved")
		}
		for id, m := range c.machines {
			if m.len() != 2 {
				t.Errorf("%s has %d commands", id, m.len())
			}
		}
	})
}
