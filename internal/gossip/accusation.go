package gossip

import (
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Accusation is what this agent saw of one agent holding another for dead. Agents don't
// tell others' accusations apart: whoever wants to know all about one asks the accuser
// and the accused.
type Accusation struct {
	Time    time.Time
	Accuser string
	Accused string
	Kind    AccusationKind
	// Confirmations is how many others held the accused for dead when it was declared
	// failed.
	Confirmations int
	WAN           bool
}

// AccusationKind is what was said.
type AccusationKind string

const (
	// Suspected: the accused answered the accuser's probes neither directly nor through
	// others.
	Suspected AccusationKind = "suspected"
	// DeclaredFailed: it did not object in time.
	DeclaredFailed AccusationKind = "declared-failed"
	// Refuted: the accused is this agent, and it objected.
	Refuted AccusationKind = "refuted"
)

// Lines of memberlist about accusations. The tests would notice if a new version words
// them differently.
var (
	suspectLine = regexp.MustCompile(`^memberlist: Suspect (.+) has failed, no acks received$`)
	failedLine  = regexp.MustCompile(`^memberlist: Marking (.+) as failed, suspect timeout reached \((\d+) peer confirmations\)$`)
	refutedLine = regexp.MustCompile(`^memberlist: Refuting a (?:suspect|dead) message \(from: (.+)\)$`)
)

// maxAccusations is how many are kept. A cluster in trouble makes some in a second;
// what counts is how the trouble began and what is being said now.
const maxAccusations = 256

// accusations keeps the last ones.
type accusations struct {
	mu   sync.Mutex
	list []Accusation // oldest first
}

// hear takes what a line of memberlist says; false: nothing about an accusation.
func (a *accusations) hear(self string, wan bool, text string) (Accusation, bool) {
	c := Accusation{Time: time.Now(), Accuser: self, WAN: wan}
	if m := suspectLine.FindStringSubmatch(text); m != nil {
		c.Accused, c.Kind = m[1], Suspected
	} else if m := failedLine.FindStringSubmatch(text); m != nil {
		c.Accused, c.Kind = m[1], DeclaredFailed
		c.Confirmations, _ = strconv.Atoi(m[2]) // digits by the pattern
	} else if m := refutedLine.FindStringSubmatch(text); m != nil {
		c.Accuser, c.Accused, c.Kind = m[1], self, Refuted
	} else {
		return c, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.list) == maxAccusations {
		a.list = append(a.list[:0], a.list[1:]...)
	}
	a.list = append(a.list, c)
	return c, true
}

// Accusations are the last ones of both pools, oldest first.
func (p *Pools) Accusations() []Accusation {
	all := []Accusation{}
	for _, pl := range []*pool{p.wan, p.lan} {
		if pl != nil {
			pl.accused.mu.Lock()
			all = append(all, pl.accused.list...)
			pl.accused.mu.Unlock()
		}
	}
	slices.SortStableFunc(all, func(a, b Accusation) int { return a.Time.Compare(b.Time) })
	return all
}

// tellAccusation is called for each line of memberlist; false: it is about something
// else.
func (p *pool) tellAccusation(text string) bool {
	c, ok := p.accused.hear(p.admission.node, p.wan, text)
	if ok {
		p.m.accusations.WithLabelValues(p.name(), string(c.Kind)).Inc()
		p.logger.Info("agent "+string(c.Kind), "node", c.Accused, "accuser", c.Accuser, "confirmations", c.Confirmations)
	}
	return ok
}
