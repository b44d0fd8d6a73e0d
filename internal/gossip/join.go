package gossip

import (
	"errors"
	"fmt"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// Join contacts the agents at the addresses (host, host:port; without a port the
// own pool's) and says how many answered. The error is nil if at least one did,
// and else names each address with what went wrong. It blocks for at most 10 s
// an address (30 s in the WAN pool).
func (p *Pools) Join(addrs []string, wan bool) (int, error) {
	pl, err := p.need(wan)
	if err != nil {
		return 0, err
	}
	if len(addrs) == 0 {
		return 0, model.Errorf(model.KindInvalid, "join: no address given")
	}
	joined := 0
	var errs []error
	for _, addr := range addrs {
		n, err := pl.join(addr)
		joined += n
		if err != nil {
			errs = append(errs, err)
		}
	}
	if joined > 0 {
		return joined, nil
	}
	return 0, &model.Error{Kind: model.KindUnavailable, Text: errors.Join(errs...).Error()}
}

func (p *pool) join(addr string) (int, error) {
	if addr = strings.TrimSpace(addr); addr == "" {
		return 0, errors.New("join: the address is empty")
	}
	p.admission.clone.Store(nil)
	n, err := p.serf.Join([]string{addr}, true)
	if other := p.admission.clone.Load(); other != nil {
		// The others refuse this agent, though they told it who they are.
		own := p.serf.LocalMember()
		return 0, fmt.Errorf("join %s: %w", addr, clonedID(partyOf(&own), *other))
	}
	if err == nil || n > 0 {
		return n, nil
	}
	return 0, fmt.Errorf("join %s: %s%s", addr, plainText(err), p.joinRemedy(err))
}

// joinRemedy explains an agent that hangs up without an answer: that is how
// Consul and Muster agents, and Muster's two pools, refuse each other.
func (p *pool) joinRemedy(err error) string {
	text := err.Error()
	if keyLine.MatchString(text) {
		return " (" + remedyKey + ")"
	}
	if !strings.Contains(text, "EOF") && !strings.Contains(text, "connection reset") && !strings.Contains(text, "broken pipe") {
		return ""
	}
	return fmt.Sprintf(" (the other side hung up: is it an agent of a Muster %s pool? Consul agents and the %s port refuse this; "+
		"`muster import consul` takes over a Consul's data)", strings.ToUpper(p.name()), strings.ToUpper(poolName(!p.wan)))
}

// plainText flattens memberlist's list of errors to one line.
func plainText(err error) string {
	var parts []string
	for line := range strings.Lines(err.Error()) {
		if item, ok := strings.CutPrefix(strings.TrimSpace(line), "* "); ok {
			parts = append(parts, item)
		}
	}
	if len(parts) == 0 {
		return err.Error()
	}
	return strings.Join(parts, "; ")
}
