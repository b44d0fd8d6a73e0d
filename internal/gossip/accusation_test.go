package gossip

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/gossip/gossiptest"
)

// TestAccusations: who held whom for dead is known at the accuser, and to the accused
// once it objects.
func TestAccusations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := gossiptest.New()
		nodes := network(t, net, 3)
		nodes[2].kill(t)
		eventually(t, 10*time.Second, "n3 is declared failed", func() bool {
			said := map[AccusationKind]bool{}
			for _, n := range nodes[:2] {
				for _, a := range n.Accusations() {
					if a.Accused == "n3" && a.Accuser == n.name && !a.WAN && !a.Time.IsZero() {
						said[a.Kind] = true
					}
				}
			}
			return said[Suspected] && said[DeclaredFailed]
		})
		for _, n := range nodes[:2] {
			if len(n.Accusations()) > 0 && !strings.Contains(n.log.String(), "accuser="+n.name) {
				t.Errorf("%s does not log it: %s", n.name, n.log)
			}
		}
	})
}

func TestAccusationLines(t *testing.T) {
	var a accusations
	for _, c := range []struct{ line, want string }{
		{"memberlist: Suspect n 2 has failed, no acks received", "n1 suspected n 2, 0"},
		{"memberlist: Marking n2 as failed, suspect timeout reached (3 peer confirmations)", "n1 declared-failed n2, 3"},
		{"memberlist: Refuting a suspect message (from: n3)", "n3 refuted n1, 0"},
		{"memberlist: Refuting a dead message (from: n3)", "n3 refuted n1, 0"},
		{"memberlist: Stream connection from=10.0.0.1", ""},
	} {
		got := ""
		if x, ok := a.hear("n1", false, c.line); ok {
			got = fmt.Sprintf("%s %s %s, %d", x.Accuser, x.Kind, x.Accused, x.Confirmations)
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.line, got, c.want)
		}
	}
	for range 2 * maxAccusations {
		a.hear("n1", false, "memberlist: Refuting a dead message (from: n3)")
	}
	if len(a.list) != maxAccusations {
		t.Errorf("%d are kept", len(a.list))
	}
}
