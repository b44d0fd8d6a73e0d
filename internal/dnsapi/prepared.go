package dnsapi

import (
	"context"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/muster-discovery/muster/internal/lookup"
)

// Queries runs prepared queries. Calls overlap.
type Queries interface {
	Execute(ctx context.Context, x *lookup.Execution) (*lookup.Executed, error)
}

// queryName reads the labels in front of "query". A query's name may have dots.
func queryName(l []string) target {
	if rfc2782(l) && l[1] == "_tcp" {
		return target{kind: kindQuery, name: l[0][1:]}
	}
	return target{kind: kindQuery, name: strings.Join(l, ".")}
}

// prepared answers for the instances that a prepared query chooses, in its order.
func (r *resolver) prepared(ctx context.Context, name string, qtype uint16, t target, domain string, depth int) sections {
	if r.server.config.Queries == nil {
		return sections{rcode: dns.RcodeNameError}
	}
	x := &lookup.Execution{Request: r.server.request(r.set), Name: t.name}
	x.Datacenter, x.MaxStale = t.dc, r.set.MaxStale
	out, err := r.server.config.Queries.Execute(ctx, x)
	if err != nil {
		return r.failed(err)
	}
	if len(out.Items) == 0 {
		return sections{rcode: dns.RcodeNameError}
	}
	encoder := serviceEncoder
	if r.set.SRVInstance && qtype == dns.TypeSRV {
		encoder = instanceEncoder
	}
	p := &plan{target: t, qtype: qtype, from: r.set, ordered: true, ttl: r.set.serviceTTL(strings.ToLower(out.Query.Service.Service))}
	if out.Query.DNSTTL != "" {
		// It was checked when the query was stored.
		if ttl, err := time.ParseDuration(out.Query.DNSTTL); err == nil {
			p.ttl = seconds(ttl)
		}
	}
	return r.service(ctx, name, qtype, p, assemble(out.Items, encoder).(*frame), domain, depth)
}
