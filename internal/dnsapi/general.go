package dnsapi

import (
	"context"
	"errors"
	"slices"

	"github.com/miekg/dns"

	"github.com/muster-discovery/muster/internal/lookup"
)

// general answers a message through the DNS library. It may wait: for the leader,
// for a recursor, at most until ctx ends. No reply means silence.
func (s *Server) general(ctx context.Context, in []byte, udp bool, d *deck) []byte {
	set := s.settings.Load()
	var q query
	verdict := q.parse(in)
	if verdict != asked && verdict != unusual {
		return nil // the hot path has answered these
	}
	m := new(dns.Msg)
	if err := m.Unpack(in); err != nil || len(m.Question) != 1 {
		s.shared.add(q.qtype, rcodeFormErr)
		return bareReply(in, nil, set.ra, rcodeFormErr)
	}
	r := &resolver{server: s, set: set, deck: d, q: &q, question: m.Question[0], udp: udp}
	reply := r.reply(ctx, m)
	out := r.pack(reply, m)
	if out == nil {
		s.shared.add(q.qtype, rcodeServFail)
		return bareReply(in, nil, set.ra, rcodeServFail)
	}
	s.shared.add(q.qtype, reply.Rcode)
	return out
}

// resolver is one question on the general path.
type resolver struct {
	server   *Server
	set      *settings
	deck     *deck
	q        *query
	question dns.Question
	udp      bool
	size     int
	cut      bool // records were left out that TCP would give
}

// sections is what a name resolves to.
type sections struct {
	rcode  int
	answer []dns.RR
	ns     []dns.RR
	extra  []dns.RR
	// foreign answers come from a recursor: they are not authoritative.
	foreign bool
	// domain is the zone for the SOA record of an empty answer; empty: no SOA.
	domain string
}

func (r *resolver) reply(ctx context.Context, m *dns.Msg) *dns.Msg {
	out := new(dns.Msg)
	out.SetReply(m)
	out.CheckingDisabled = m.CheckingDisabled
	out.RecursionAvailable = r.set.ra != 0
	out.Compress = !r.set.DisableCompression
	opt, ok := onlyOPT(m)
	switch {
	case !ok:
		out.Rcode = dns.RcodeFormatError
		return out
	case opt != nil && opt.Version() != 0:
		// RFC 6891, section 6.1.3.
		out.Rcode = dns.RcodeBadVers
		return out
	}
	if opt != nil {
		r.size = r.set.sizeLimit(r.udp, true, int(opt.UDPSize()))
	} else {
		r.size = r.set.sizeLimit(r.udp, false, 0)
	}
	found := r.find(ctx, m)
	out.Rcode = found.rcode
	out.Answer, out.Ns, out.Extra = found.answer, found.ns, found.extra
	out.Authoritative = !found.foreign && (out.Rcode == dns.RcodeSuccess || out.Rcode == dns.RcodeNameError)
	if out.Authoritative && len(out.Answer) == 0 && found.domain != "" {
		out.Ns = append(out.Ns, r.soa(found.domain))
	}
	return out
}

// onlyOPT finds the OPT record; there may be one at most (RFC 6891, section 6.1.1).
func onlyOPT(m *dns.Msg) (opt *dns.OPT, ok bool) {
	for _, rr := range m.Extra {
		if o, is := rr.(*dns.OPT); is {
			if opt != nil {
				return nil, false
			}
			opt = o
		}
	}
	return opt, true
}

// find resolves the question.
func (r *resolver) find(ctx context.Context, m *dns.Msg) sections {
	if r.question.Qclass != dns.ClassINET && r.question.Qclass != dns.ClassANY {
		return sections{rcode: dns.RcodeRefused, foreign: true}
	}
	t := r.server.zones.classify(r.q.name)
	switch t.kind {
	case kindOutside:
		return r.outside(ctx, m)
	case kindReverse:
		return r.reverse(ctx, m, t)
	case kindReverseNo:
		if len(r.set.Recursors) > 0 {
			return r.outside(ctx, m)
		}
		return sections{rcode: dns.RcodeNameError, domain: r.server.zones.domains[0].text}
	}
	domain := r.domainText(t)
	switch r.question.Qtype {
	case dns.TypeSOA:
		return r.apex(ctx, t, domain, true)
	case dns.TypeNS:
		return r.apex(ctx, t, domain, false)
	case dns.TypeAXFR:
		return sections{rcode: dns.RcodeNotImplemented, foreign: true}
	case dns.TypeIXFR:
		// As existing servers have it; no cache keeps this answer.
		return sections{rcode: dns.RcodeNameError, domain: domain}
	}
	found := r.name(ctx, r.question.Name, r.question.Qtype, t, domain, 0)
	found.domain = domain
	return found
}

// domainText is the zone's name as the question spelled it.
func (r *resolver) domainText(t target) string {
	labels := dns.SplitDomainName(r.question.Name)
	n := 0
	for at := t.domain; r.q.name[at] != 0; at += 1 + int(r.q.name[at]) {
		n++
	}
	at := dns.Split(r.question.Name)
	return r.question.Name[at[len(labels)-n]:]
}

// name resolves a name of our zones. Depth counts the names followed so far.
func (r *resolver) name(ctx context.Context, name string, qtype uint16, t target, domain string, depth int) sections {
	switch t.kind {
	case kindNothing:
		return sections{rcode: dns.RcodeNameError}
	case kindEmpty:
		return sections{}
	case kindAddr:
		return sections{answer: r.addresses(name, qtype, [][]byte{t.addr.AsSlice()}, r.set.nodeTTL)}
	}
	switch t.kind {
	case kindVirtual:
		return r.virtual(ctx, name, qtype, t)
	case kindQuery:
		return r.prepared(ctx, name, qtype, t, domain, depth)
	}
	p := &plan{target: t, qtype: qtype, from: r.set}
	f, count, err := r.frame(ctx, p)
	switch {
	case err != nil:
		return r.failed(err)
	case count == 0 && t.branch && (qtype == dns.TypeA || qtype == dns.TypeAAAA):
		return sections{}
	case count == 0:
		return sections{rcode: dns.RcodeNameError}
	case t.kind == kindInstance:
		return r.instance(ctx, name, qtype, p, f, depth)
	case t.kind == kindNode:
		return r.node(ctx, name, qtype, p, f, depth)
	}
	return r.service(ctx, name, qtype, p, f, domain, depth)
}

// frame does the plan's lookup, with the bound on staleness that the hot path
// leaves out.
func (r *resolver) frame(ctx context.Context, p *plan) (*frame, int, error) {
	if err := r.server.prepare(p); err != nil {
		return nil, 0, err
	}
	p.request.MaxStale = r.set.MaxStale
	var a lookup.Answer
	if err := r.server.lookup.Find(ctx, &p.request, &a); err != nil {
		return nil, 0, err
	}
	return a.Frame.(*frame), a.Count, nil
}

func (r *resolver) failed(err error) sections {
	rcode := rcodeOf(err)
	if rcode != dns.RcodeNameError && !errors.Is(err, context.Canceled) {
		r.server.trouble(err)
	}
	return sections{rcode: rcode}
}

// pack cuts the reply to the size that the client can take and packs it. Extra
// records give way first, the OPT record never. It returns nil if the reply can't
// be packed at all.
func (r *resolver) pack(reply, asked *dns.Msg) []byte {
	var opt *dns.OPT
	if o := asked.IsEdns0(); o != nil && reply.Rcode != dns.RcodeFormatError {
		opt = &dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT}}
		opt.SetUDPSize(o.UDPSize())
		opt.Option = subnetsOf(o)
	}
	set := func(answer, ns, extra []dns.RR) {
		reply.Answer, reply.Ns, reply.Extra = answer, ns, extra
		if opt != nil {
			reply.Extra = append(slices.Clip(extra), opt)
		}
	}
	answer, ns, extra := reply.Answer, reply.Ns, reply.Extra
	size := max(r.size, minUDPSize)
	set(answer, ns, extra)
	if reply.Len() > size {
		n := longest(len(extra), func(n int) bool { set(answer, ns, extra[:n]); return reply.Len() <= size })
		set(answer, ns, extra[:max(n, 0)])
		if n < 0 {
			n = longest(len(answer), func(n int) bool { set(answer[:n], nil, nil); return reply.Len() <= size })
			set(answer[:max(n, 0)], nil, nil)
			r.cut = true
			reply.Truncated = n <= 0
		}
	}
	reply.Truncated = reply.Truncated || r.cut && r.set.EnableTruncate
	out, err := reply.Pack()
	if err != nil || len(out) > size {
		r.server.log.Debug("dns answer can't be packed", "err", err, "bytes", len(out))
		return nil
	}
	return out
}

// subnetsOf repeats a client subnet with the scope 0, as answer.subnet does.
func subnetsOf(asked *dns.OPT) []dns.EDNS0 {
	for _, o := range asked.Option {
		if s, ok := o.(*dns.EDNS0_SUBNET); ok {
			again := *s
			again.SourceScope = 0
			return []dns.EDNS0{&again}
		}
	}
	return nil
}

// longest is the largest n up to most for which fits holds, -1 if there is none.
// What fits with n also fits with less.
func longest(most int, fits func(n int) bool) int {
	low, high := -1, most
	for low < high {
		if mid := low + (high-low+1)/2; fits(mid) {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}
