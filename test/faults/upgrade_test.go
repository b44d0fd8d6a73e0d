package faults

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/test/testbed"
)

// oldBinary is the earlier version, built in a work tree of its own.
func oldBinary(t *testing.T) string {
	t.Helper()
	if strings.Contains(*old, "/") {
		return *old
	}
	root, err := testbed.Root()
	must(t, err)
	if out, err := exec.Command("git", "-C", root, "cat-file", "-e", *old+"^{commit}").CombinedOutput(); err != nil {
		t.Skipf("the history has no commit %s: %v %s", *old, err, out)
	}
	tree := filepath.Join(t.TempDir(), "old")
	if out, err := exec.Command("git", "-C", root, "worktree", "add", "--detach", tree, *old).CombinedOutput(); err != nil {
		t.Fatalf("git worktree: %v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("git", "-C", root, "worktree", "remove", "--force", tree).Run() })
	binary := filepath.Join(t.TempDir(), "muster-old")
	must(t, testbed.Build(tree, binary))
	return binary
}

// upgrade is a cluster with servers of two versions.
type upgrade struct {
	t            *testing.T
	bed          *testbed.Bed
	servers      []*testbed.Node
	old, present string
	acked        int
	gaveUp       int // old servers that ended because of what a new one wrote
}

// TestUpgrade replaces the servers of an earlier version one by one, followers first as
// an operator does, under writes; in between each version leads. All that was acknowledged
// must be there at each step. An old server may end by itself in one case only: a new
// leader wrote what it does not know, and it says so. It is then replaced, too.
func TestUpgrade(t *testing.T) {
	if !*rows {
		t.Skip("-rows runs it")
	}
	u := &upgrade{t: t, old: oldBinary(t)}
	u.bed = testbed.New(t)
	u.servers = u.bed.PrepareServers(3, nil)
	u.present = u.servers[0].Binary
	for _, s := range u.servers {
		s.Binary = u.old
		s.Start()
	}
	u.bed.Whole(u.servers)
	must(t, u.servers[0].Put("/v1/catalog/register", external("w1", "web")))
	u.write("all old")
	leader, followers := u.bed.Split(u.servers)
	for i, s := range append(followers, leader) {
		if s.Binary == u.old {
			s.Kill()
			s.Binary = u.present
			s.Start()
			u.whole()
		}
		u.write(fmt.Sprintf("%d of 3 replaced", i+1))
		u.rotate()
		u.write(fmt.Sprintf("%d of 3 replaced, each version led", i+1))
	}
	figure(t, "upgrade from %s: %d writes, none lost; %d old servers ended because of what a new leader wrote", *old, u.acked, u.gaveUp)
	agree(t, u.servers)
}

// write writes through each server, and looks for all that was written at each.
func (u *upgrade) write(step string) {
	u.t.Helper()
	for _, s := range u.servers {
		testbed.Eventually(u.t, step+": a write through "+s.Name, func() error {
			u.replaceEnded()
			_, err := s.Within(5*time.Second, http.MethodPut, fmt.Sprintf("/v1/kv/upgrade/%d", u.acked), []byte("x"), nil)
			return err
		})
		u.acked++
	}
	for _, s := range u.servers {
		testbed.Eventually(u.t, step+": all is at "+s.Name, func() error {
			u.replaceEnded()
			var keys []string
			return firstError(s.Get("/v1/kv/upgrade/?keys&consistent", &keys), want(len(keys), u.acked), findsWeb(s, "stale"))
		})
	}
	u.t.Logf("%s: %d writes are at all servers", step, u.acked)
}

// whole waits until the servers are one cluster.
func (u *upgrade) whole() {
	u.t.Helper()
	testbed.EventuallyIn(u.t, "one cluster", 2*testbed.Patience, func() error {
		u.replaceEnded()
		return testbed.IsWhole(u.servers)
	})
}

// replaceEnded starts servers that gave up as the present version.
func (u *upgrade) replaceEnded() {
	for _, s := range u.servers {
		if s.Running() {
			continue
		}
		if s.Binary != u.old || !strings.Contains(s.Output(), "written by a newer version of Muster") {
			u.t.Fatalf("%s (%s) ended by itself: %s", s, s.Binary, lastWords(s))
		}
		u.t.Logf("%s, of the earlier version, ended: it met what only the present one knows", s)
		u.gaveUp++
		s.Kill()
		s.Binary = u.present
		s.Start()
	}
}

// rotate gives leadership to a server of each version.
func (u *upgrade) rotate() {
	u.t.Helper()
	for _, version := range []string{u.present, u.old} {
		for range 8 {
			leader, followers := u.bed.Split(u.servers)
			to := slices.IndexFunc(followers, func(s *testbed.Node) bool { return s.Binary == version })
			if leader.Binary == version || to < 0 {
				break
			}
			if u.transfer(leader, followers[to]) != nil {
				leader.Kill() // a version without that command; chance decides
				pause(2 * time.Second)
				leader.Start()
			}
			u.whole()
		}
	}
}

func (u *upgrade) transfer(from, to *testbed.Node) error {
	var self struct{ Config struct{ NodeID string } }
	if err := to.Get("/v1/agent/self", &self); err != nil {
		return err
	}
	return from.Put("/v1/operator/raft/transfer-leader?id="+self.Config.NodeID, nil)
}

func lastWords(n *testbed.Node) string {
	lines := strings.Split(strings.TrimSpace(n.Output()), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " | ")
}
