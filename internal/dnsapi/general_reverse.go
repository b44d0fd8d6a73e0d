package dnsapi

import (
	"context"
	"net/netip"

	"github.com/miekg/dns"

	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
)

// reverse answers for an address with the names that carry it.
func (r *resolver) reverse(ctx context.Context, m *dns.Msg, t target) sections {
	names, err := r.namesOf(ctx, t)
	switch {
	case err != nil:
		return r.failed(err)
	case len(names) == 0 && len(r.set.Recursors) > 0:
		return r.outside(ctx, m)
	case len(names) == 0:
		return sections{rcode: dns.RcodeNameError, domain: r.server.zones.domains[0].text}
	}
	found := sections{domain: r.server.zones.domains[0].text}
	if r.question.Qtype == dns.TypePTR || r.question.Qtype == dns.TypeANY {
		for _, n := range names {
			found.answer = append(found.answer, &dns.PTR{Hdr: header(r.question.Name, dns.TypePTR, r.set.nodeTTL), Ptr: n})
		}
	}
	return found
}

// namesOf finds nodes, else services, with an address.
func (r *resolver) namesOf(ctx context.Context, t target) ([]string, error) {
	domain := r.server.zones.domains[0].text
	dc := r.server.zones.dc
	var out []string
	a, err := r.list(ctx, model.TopicNodes, addressEncoder)
	if err != nil {
		return nil, err
	}
	for _, node := range a.Frame.(map[netip.Addr][]string)[t.addr] {
		if wire := nodeTarget(node, dc); wire != nil {
			out = append(out, targetText(nil, wire, false, domain))
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	// Services are looked through one by one: reverse questions for addresses that
	// no node has are rare, and one at a time may do this.
	select {
	case r.server.scanning <- struct{}{}:
		defer func() { <-r.server.scanning }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	names, err := r.list(ctx, model.TopicServices, namesEncoder)
	if err != nil {
		return nil, err
	}
	for _, name := range names.Frame.([]string) {
		f, _, err := r.everyone(ctx, model.TopicService, target{name: name})
		if err != nil {
			return nil, err
		}
		for _, it := range f.all {
			if it.own == t.addr && plainLabel(name) {
				out = append(out, targetText(nil, withDC(appendLabel(nil, name), "service", dc), false, domain))
				break
			}
		}
	}
	return out, nil
}

func (r *resolver) list(ctx context.Context, kind model.TopicKind, e *view.Encoder) (*lookup.Answer, error) {
	q := r.server.request(r.set)
	q.Topic, q.Encoder, q.MaxStale = model.NewTopic(kind, ""), e, r.set.MaxStale
	a := new(lookup.Answer)
	return a, r.server.lookup.Find(ctx, &q, a)
}
