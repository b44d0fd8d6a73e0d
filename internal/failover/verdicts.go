package failover

import (
	"slices"
	"strings"
	"time"

	"github.com/muster-discovery/muster/internal/gossip"
)

// verdictLife bounds how long a word of the servers stands against gossip's "alive".
// Gossip notices a death in about 5 s, in 11 in pools of a thousand (gossip's
// DefaultLANTiming); after this it has had every chance to, and is believed.
const verdictLife = 30 * time.Second

// word is what the servers know of a member before gossip does.
type word string

const (
	wordDown    word = "down"    // all servers found that nothing listens at its port
	wordLeaving word = "leaving" // the agent said so itself: it takes its node out of the catalog
)

// subject is the very member that a word is about. An agent that came back with
// another id or address is another subject.
type subject struct {
	Name, ID, Addr string
}

func subjectOf(m gossip.Member) subject {
	return subject{Name: m.Name, ID: m.ID(), Addr: m.GossipAddr()}
}

// verdicts is the one place that decides whose word counts, gossip's or the servers'.
// It has no clock and no goroutine.
//
//	gossip says        the servers said   the leader's duties see
//	alive              nothing            alive
//	alive, same agent  down               failed: serfHealth becomes critical
//	alive, same agent  leaving            leaving: hands off, it removes itself
//	alive, other agent anything           alive: the word was about another one
//	leaving, left      anything           gossip's word
//	failed             anything           gossip's word
//	not a member       anything           not a member
//
// A word is over, and gossip alone counts again, once
//
//   - gossip has spoken: it says anything but alive of the agent, so that what it says
//     next, alive included, is newer than the word; or it has another agent by that name;
//   - there is a sign of life: a connection of the agent to a server, or an answer to a
//     knock (lift);
//   - it is older than verdictLife.
//
// "Down" never replaces "leaving": an agent that has left is expected to be gone.
type verdicts struct {
	byName map[string]entry // by name in lower case
}

type entry struct {
	subject
	word  word
	own   bool // this server came to the verdict and looks after it
	until time.Time
}

func newVerdicts() verdicts { return verdicts{byName: make(map[string]entry)} }

// set notes a word and reports whether it says something new.
func (v *verdicts) set(s subject, w word, own bool, now time.Time) bool {
	key := strings.ToLower(s.Name)
	old, there := v.byName[key]
	if there && old.subject == s && old.word == wordLeaving && w == wordDown && now.Before(old.until) {
		return false
	}
	v.byName[key] = entry{subject: s, word: w, own: own, until: now.Add(verdictLife)}
	return !there || old.subject != s || old.word != w
}

// lift ends what was said of a node, and reports whether there was something.
func (v *verdicts) lift(name string) bool {
	key := strings.ToLower(name)
	_, there := v.byName[key]
	delete(v.byName, key)
	return there
}

// of is the word in force on a node, empty without one.
func (v *verdicts) of(name string) word { return v.byName[strings.ToLower(name)].word }

// settle ends the words that gossip has spoken on, and those that are too old. It
// reports whether the duties see anything else now.
func (v *verdicts) settle(members []gossip.Member, now time.Time) (changed bool) {
	if len(v.byName) == 0 {
		return false
	}
	stand := make(map[string]bool)
	for _, m := range members {
		key := strings.ToLower(m.Name)
		if e, ok := v.byName[key]; ok && e.against(m) && now.Before(e.until) {
			stand[key] = true
		}
	}
	for key := range v.byName {
		if !stand[key] {
			delete(v.byName, key)
			changed = true
		}
	}
	return changed
}

// against tells whether the word is in force on a member as gossip has it.
func (e *entry) against(m gossip.Member) bool {
	return m.Status == gossip.StatusAlive && e.subject == subjectOf(m)
}

// show returns the members with the words in force. The list given is not changed.
func (v *verdicts) show(members []gossip.Member, now time.Time) []gossip.Member {
	if len(v.byName) == 0 {
		return members
	}
	members = slices.Clone(members)
	for i := range members {
		m := &members[i]
		e, ok := v.byName[strings.ToLower(m.Name)]
		if !ok || !e.against(*m) || !now.Before(e.until) {
			continue
		}
		switch e.word {
		case wordDown:
			m.Status = gossip.StatusFailed
		case wordLeaving:
			m.Status = gossip.StatusLeaving
		}
	}
	return members
}

// downs are the verdicts that this server looks after.
func (v *verdicts) downs() []subject {
	var list []subject
	for _, e := range v.byName {
		if e.own && e.word == wordDown {
			list = append(list, e.subject)
		}
	}
	return list
}
