package failover

import (
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/gossip"
)

func member(name, id, addr string, status gossip.Status) gossip.Member {
	return gossip.Member{Name: name, Addr: addr, Port: 8301, Tags: map[string]string{"id": id}, Status: status}
}

// TestPrecedence is the table of verdicts.go.
func TestPrecedence(t *testing.T) {
	judged := member("n1", "1", "10.0.0.1", gossip.StatusAlive)
	with := func(status gossip.Status) *gossip.Member { m := judged; m.Status = status; return &m }
	other := func(id, addr string) *gossip.Member { m := member("n1", id, addr, gossip.StatusAlive); return &m }
	tests := []struct {
		name  string
		word  word
		says  *gossip.Member // nil: not a member
		after time.Duration
		want  gossip.Status
		over  bool // gossip's next word counts whatever it is
	}{
		{"alive, nothing said", "", with(gossip.StatusAlive), 0, gossip.StatusAlive, false},
		{"alive, down", wordDown, with(gossip.StatusAlive), time.Second, gossip.StatusFailed, false},
		{"alive, leaving", wordLeaving, with(gossip.StatusAlive), time.Second, gossip.StatusLeaving, false},
		{"alive under a new id, down", wordDown, other("2", "10.0.0.1"), time.Second, gossip.StatusAlive, true},
		{"alive at a new address, down", wordDown, other("1", "10.0.0.2"), time.Second, gossip.StatusAlive, true},
		{"alive at a new address, leaving", wordLeaving, other("1", "10.0.0.2"), time.Second, gossip.StatusAlive, true},
		{"failed, down", wordDown, with(gossip.StatusFailed), time.Second, gossip.StatusFailed, true},
		{"failed, leaving", wordLeaving, with(gossip.StatusFailed), time.Second, gossip.StatusFailed, true},
		{"leaving, leaving", wordLeaving, with(gossip.StatusLeaving), time.Second, gossip.StatusLeaving, true},
		{"left, leaving", wordLeaving, with(gossip.StatusLeft), time.Second, gossip.StatusLeft, true},
		{"left, down", wordDown, with(gossip.StatusLeft), time.Second, gossip.StatusLeft, true},
		{"no member, down", wordDown, nil, time.Second, 0, true},
		{"alive, down for long", wordDown, with(gossip.StatusAlive), verdictLife, gossip.StatusAlive, true},
		{"alive, down for almost as long", wordDown, with(gossip.StatusAlive), verdictLife - 1, gossip.StatusFailed, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			now := time.Now()
			v := newVerdicts()
			if tt.word != "" && !v.set(subjectOf(judged), tt.word, true, now) {
				t.Error("not new")
			}
			now = now.Add(tt.after)
			bystander := member("n2", "9", "10.0.0.9", gossip.StatusAlive)
			members := []gossip.Member{bystander}
			if tt.says != nil {
				members = append(members, *tt.says)
			}
			shown := v.show(members, now)
			if shown[0].Status != gossip.StatusAlive || len(shown) != len(members) {
				t.Errorf("shown: %v", shown)
			}
			if tt.says != nil {
				if got := shown[1].Status; got != tt.want {
					t.Errorf("shown as %v, want %v", got, tt.want)
				}
				if members[1].Status != tt.says.Status {
					t.Error("the list given was changed")
				}
			}
			if got := v.settle(members, now); got != tt.over {
				t.Errorf("over: %v, want %v", got, tt.over)
			}
			again := v.show([]gossip.Member{judged}, now)[0].Status
			if tt.over && again != gossip.StatusAlive {
				t.Errorf("gossip's next alive is shown as %v", again)
			}
		})
	}
}

func TestWordsReplaceEachOther(t *testing.T) {
	s := subject{Name: "N1", ID: "1", Addr: "10.0.0.1:8301"}
	now := time.Now()
	v := newVerdicts()
	if !v.set(s, wordLeaving, false, now) || v.set(s, wordLeaving, false, now) {
		t.Error("the first is news, the second is not")
	}
	if v.set(s, wordDown, true, now) || v.of("n1") != wordLeaving {
		t.Error("an agent that leaves is expected to be gone")
	}
	if !v.lift("n1") || v.lift("n1") || v.of("n1") != "" {
		t.Error("lifted once")
	}
	if !v.set(s, wordDown, true, now) || len(v.downs()) != 1 {
		t.Errorf("down again, looked after: %v", v.downs())
	}
	if !v.set(s, wordLeaving, false, now) || len(v.downs()) != 0 {
		t.Error("leaving replaces down")
	}
	later := now.Add(verdictLife)
	if !v.set(s, wordDown, false, later) {
		t.Error("an old leaving protects no more")
	}
	if len(v.downs()) != 0 {
		t.Error("another server's verdict is looked after there")
	}
}
