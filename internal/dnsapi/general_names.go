package dnsapi

import (
	"context"
	"slices"

	"github.com/miekg/dns"

	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
)

// service answers for the instances of a service.
func (r *resolver) service(ctx context.Context, name string, qtype uint16, p *plan, f *frame, domain string, depth int) sections {
	switch qtype {
	case dns.TypeSRV:
		return r.serviceSRV(ctx, name, p, f, domain)
	case dns.TypeA, dns.TypeAAAA, dns.TypeANY:
	default:
		return sections{}
	}
	// A host name is a CNAME, which excludes all other records (RFC 1034, section
	// 3.6.2): who is drawn first decides, so that each instance has its share.
	if f.hosts > 0 {
		drawn := r.deck.draw(len(f.all), 1, p.ordered)
		if first := f.all[drawn[0]]; first.host != "" {
			return r.cname(ctx, name, first.host, qtype, p.ttl, true, depth)
		}
	}
	var all [][]byte
	if qtype != dns.TypeAAAA {
		all = slices.AppendSeq(all, slices.Chunk(f.v4, 4))
	}
	if qtype != dns.TypeA {
		all = slices.AppendSeq(all, slices.Chunk(f.v6, 16))
	}
	limit, cut := r.set.answerLimit(len(all), true, r.udp, r.size)
	r.cut = r.cut || cut
	var out []dns.RR
	for _, i := range r.deck.draw(len(all), limit, p.ordered) {
		out = append(out, addressRR(name, all[i], p.ttl))
	}
	return sections{answer: out}
}

func (r *resolver) serviceSRV(ctx context.Context, name string, p *plan, f *frame, domain string) sections {
	limit, cut := r.set.answerLimit(len(f.items), false, r.udp, r.size)
	r.cut = r.cut || cut
	drawn := make([]*packed, 0, limit)
	for _, i := range r.deck.draw(len(f.items), limit, r.set.SRVStable || p.ordered) {
		drawn = append(drawn, f.items[i])
	}
	var found sections
	hosts := map[string][]dns.RR{}
	for _, it := range drawn {
		target := targetText(it, it.srv[srvNumbers:], it.whole, domain)
		found.answer = append(found.answer, &dns.SRV{
			Hdr: header(name, dns.TypeSRV, p.ttl), Priority: 1, Weight: it.weight, Port: it.port, Target: target,
		})
		if it.address != nil {
			found.extra = append(found.extra, addressRR(target, it.address, p.ttl))
			continue
		}
		if _, known := hosts[target]; !known && len(hosts) < maxFollowed {
			hosts[target] = r.follow(ctx, target, dns.TypeA, p.ttl, true, 0)
			if len(hosts[target]) == 0 {
				hosts[target] = r.follow(ctx, target, dns.TypeAAAA, p.ttl, true, 0)
			}
			found.extra = append(found.extra, hosts[target]...)
		}
	}
	if !r.set.NodeMetaTXT {
		return found
	}
	for _, it := range drawn {
		if it.nodeName == nil {
			continue
		}
		owner := targetText(it, it.nodeName, false, domain)
		for _, data := range it.txt {
			found.extra = append(found.extra, textRR(owner, data, p.ttl))
		}
	}
	return found
}

// maxFollowed bounds the host names that one answer looks up.
const maxFollowed = 8

// node answers for a node.
func (r *resolver) node(ctx context.Context, name string, qtype uint16, p *plan, f *frame, depth int) sections {
	n := f.all[0]
	var texts []dns.RR
	for _, data := range n.txt {
		texts = append(texts, textRR(name, data, p.ttl))
	}
	switch qtype {
	case dns.TypeTXT:
		return sections{answer: texts}
	case dns.TypeA, dns.TypeAAAA, dns.TypeANY:
	default:
		return sections{}
	}
	var found sections
	if n.host != "" {
		found = r.cname(ctx, name, n.host, qtype, p.ttl, false, depth)
		texts = nil // beside a CNAME nothing else may stand
	} else {
		found.answer = r.addresses(name, qtype, n.families(), p.ttl)
	}
	switch {
	case qtype == dns.TypeANY:
		found.answer = append(found.answer, texts...)
	case r.set.NodeMetaTXT && len(found.answer) > 0:
		found.extra = append(found.extra, texts...)
	}
	return found
}

// virtual answers with the address that the mesh gave a service. Its mesh
// instances carry it, whatever their health.
func (r *resolver) virtual(ctx context.Context, name string, qtype uint16, t target) sections {
	ttl := r.set.serviceTTL(t.name)
	mesh, _, err := r.everyone(ctx, model.TopicConnect, t)
	if err != nil {
		return r.failed(err)
	}
	for _, it := range mesh.all {
		if it.virtual != nil {
			return sections{answer: r.addresses(name, qtype, [][]byte{it.virtual}, ttl)}
		}
	}
	if _, count, err := r.everyone(ctx, model.TopicService, t); err != nil {
		return r.failed(err)
	} else if count == 0 {
		return sections{rcode: dns.RcodeNameError}
	}
	return sections{}
}

// everyone is the frame of all instances, whatever their health.
func (r *resolver) everyone(ctx context.Context, kind model.TopicKind, t target) (*frame, int, error) {
	q := r.server.request(r.set)
	q.Topic, q.Datacenter = model.NewTopic(kind, t.name), t.dc
	q.Encoder, q.MaxStale = serviceEncoder, r.set.MaxStale
	var a lookup.Answer
	if err := r.server.lookup.Find(ctx, &q, &a); err != nil {
		return nil, 0, err
	}
	return a.Frame.(*frame), a.Count, nil
}
