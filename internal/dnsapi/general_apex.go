package dnsapi

import (
	"context"
	"slices"

	"github.com/miekg/dns"
)

// apex answers SOA and NS questions for a zone, whatever name in it they ask for.
func (r *resolver) apex(ctx context.Context, t target, domain string, soa bool) sections {
	ns, glue, err := r.nameServers(ctx, t, domain)
	if err != nil {
		return r.failed(err)
	}
	if soa {
		return sections{answer: []dns.RR{r.soa(domain)}, ns: ns, extra: glue}
	}
	return sections{answer: ns, extra: glue, domain: domain}
}

// serverService is the service under which servers are in the catalog.
const serverService = "consul"

// maxNameServers is enough for any resolver, and keeps the answer small.
const maxNameServers = 3

// nameServers are the servers of the datacenter.
func (r *resolver) nameServers(ctx context.Context, t target, domain string) (ns, glue []dns.RR, err error) {
	p := &plan{target: target{kind: kindService, name: serverService}, from: r.set}
	f, _, err := r.frame(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	zone := r.server.zoneText(r.q.name[t.domain:])
	items := make([]*packed, 0, len(f.items))
	for _, i := range r.deck.deal(len(f.items), len(f.items)) {
		items = append(items, f.items[i])
	}
	// The own one first: who asked us can reach it.
	if i := slices.IndexFunc(items, func(it *packed) bool { return it.node == r.server.config.Node }); i > 0 {
		items[0], items[i] = items[i], items[0]
	}
	seen := map[string]bool{}
	for _, it := range items {
		if it.nodeName == nil || it.address == nil || seen[it.node] || len(ns) == maxNameServers {
			continue
		}
		seen[it.node] = true
		target := targetText(it, it.nodeName, false, zone)
		ns = append(ns, &dns.NS{Hdr: header(domain, dns.TypeNS, r.set.nodeTTL), Ns: target})
		glue = append(glue, addressRR(target, it.address, r.set.nodeTTL))
	}
	return ns, glue, nil
}
