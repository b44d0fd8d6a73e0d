package dnsapi

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strings"

	"github.com/miekg/dns"
)

// maxDepth bounds a chain of names, so that names that point at each other end.
const maxDepth = 4

// cname answers with an alias and what it leads to. Service answers keep to the
// service's TTL in all their records; below a node the others keep theirs.
func (r *resolver) cname(ctx context.Context, name, host string, qtype uint16, ttl uint32, capTTL bool, depth int) sections {
	found := sections{answer: []dns.RR{&dns.CNAME{Hdr: header(name, dns.TypeCNAME, ttl), Target: host}}}
	found.answer = append(found.answer, r.follow(ctx, host, qtype, ttl, capTTL, depth)...)
	return found
}

// follow resolves a host name that the catalog holds: here, if it is in our zones,
// else through a recursor. What can't be resolved gives no records; the alias
// alone is still true.
func (r *resolver) follow(ctx context.Context, host string, qtype uint16, ttl uint32, capTTL bool, depth int) []dns.RR {
	if depth >= maxDepth {
		return nil
	}
	if qtype == dns.TypeANY {
		qtype = dns.TypeA
	}
	wire, err := packName(dns.CanonicalName(host))
	if err != nil {
		return nil
	}
	var out []dns.RR
	switch t := r.server.zones.classify(wire); t.kind {
	case kindOutside, kindReverse, kindReverseNo:
		m := new(dns.Msg)
		m.SetQuestion(host, qtype)
		if in, err := r.exchange(ctx, m); err == nil && in.Rcode == dns.RcodeSuccess {
			out = in.Answer
		}
	default:
		found := r.name(ctx, host, qtype, t, r.server.zoneText(wire[t.domain:]), depth+1)
		out = found.answer
	}
	if capTTL {
		for _, rr := range out {
			rr.Header().Ttl = min(rr.Header().Ttl, ttl)
		}
	}
	return out
}

// outside hands a question for another zone to the recursors; without any it is
// refused.
func (r *resolver) outside(ctx context.Context, asked *dns.Msg) sections {
	if len(r.set.Recursors) == 0 {
		return sections{rcode: dns.RcodeRefused, foreign: true}
	}
	m := new(dns.Msg)
	m.SetQuestion(r.question.Name, r.question.Qtype)
	m.Question[0].Qclass = r.question.Qclass
	m.CheckingDisabled = asked.CheckingDisabled
	in, err := r.exchange(ctx, m)
	if err != nil {
		return sections{rcode: dns.RcodeServerFailure, foreign: true}
	}
	return sections{
		rcode: in.Rcode, foreign: true,
		answer: in.Answer, ns: in.Ns, extra: withoutOPT(in.Extra),
	}
}

func withoutOPT(rrs []dns.RR) []dns.RR {
	out := rrs[:0]
	for _, rr := range rrs {
		if rr.Header().Rrtype != dns.TypeOPT {
			out = append(out, rr)
		}
	}
	return out
}

var errNoRecursor = errors.New("no recursor answered")

// exchange asks the recursors one after the other until one has an answer. A
// refusal or a failure of one makes the next one be asked.
func (r *resolver) exchange(ctx context.Context, m *dns.Msg) (*dns.Msg, error) {
	m.RecursionDesired = true
	m.SetEdns0(maxUDPSize, false)
	order := make([]int, len(r.set.Recursors))
	for i := range order {
		order[i] = i
	}
	if r.set.RecursorsRandom {
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	var last *dns.Msg
	for _, i := range order {
		in, err := r.ask(ctx, m, r.set.Recursors[i])
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			r.server.log.Debug("recursor does not answer", "addr", r.set.Recursors[i], "err", err)
		case in.Rcode == dns.RcodeSuccess || in.Rcode == dns.RcodeNameError:
			return in, nil
		default:
			last = in
		}
	}
	if last != nil {
		return last, nil
	}
	return nil, errNoRecursor
}

// ask asks one recursor by UDP, and by TCP if the answer was cut.
func (r *resolver) ask(ctx context.Context, m *dns.Msg, addr string) (*dns.Msg, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		addr = net.JoinHostPort(addr, "53")
	}
	c := &dns.Client{Timeout: r.set.RecursorTimeout, UDPSize: maxUDPSize}
	in, err := exchange(ctx, c, m, addr)
	if err != nil || !in.Truncated {
		return in, err
	}
	c.Net = "tcp"
	if whole, err := exchange(ctx, c, m, addr); err == nil {
		return whole, nil
	}
	return in, nil
}

var errOtherQuestion = errors.New("answer to another question")

// exchange asks once. The library compares the ids; the question has to be the same
// too, or a forged answer would only have to guess 16 bits.
func exchange(ctx context.Context, c *dns.Client, m *dns.Msg, addr string) (*dns.Msg, error) {
	in, _, err := c.ExchangeContext(ctx, m, addr)
	switch {
	case err != nil:
		return nil, err
	case len(in.Question) != 1 || in.Question[0].Qtype != m.Question[0].Qtype || !strings.EqualFold(in.Question[0].Name, m.Question[0].Name):
		return nil, errOtherQuestion
	}
	return in, nil
}
