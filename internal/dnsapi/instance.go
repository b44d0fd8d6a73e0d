package dnsapi

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"

	"github.com/miekg/dns"

	"github.com/muster-discovery/muster/internal/model"
)

// Each instance has a name of its own, <label>.<service>.inst.<dc>.<domain>, from
// its registration to its deregistration, whatever its health and its address are.
// With Settings.SRVInstance it is the target of the instance's SRV record.

// instanceLabel is the first label of an instance's name: 80 bits of a digest of what
// identifies an instance, its node and its id. Ids themselves are too long and have
// characters that host names can't have. It must never change: load balancers keep
// their slots by it.
func instanceLabel(node, id string) string {
	b := binary.AppendUvarint(nil, uint64(len(node)))
	b = append(append(b, model.Fold(node)...), id...)
	sum := sha256.Sum256(b)
	return labelEncoding.EncodeToString(sum[:10])
}

var labelEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// packNamed is packInstance with the instance's own name as SRV target. A host name
// stays, since a target must not be an alias (RFC 2782), and so does the target of
// a service whose name is no label.
func packNamed(i *model.Instance) *packed {
	p := packInstance(i)
	p.label, p.id = instanceLabel(i.Node.Name, i.Service.ID), i.Service.ID
	service := strings.ToLower(i.Service.Name)
	if p.srv == nil || p.whole || !plainLabel(service) {
		return p
	}
	name := withDC(appendLabel(appendLabel(nil, p.label), service), "inst", i.Node.Datacenter)
	if name != nil {
		p.srv = append(p.srv[:srvNumbers:srvNumbers], name...)
	}
	return p
}

func byLabel(all []*packed) map[string]*packed {
	out := make(map[string]*packed, len(all))
	for _, p := range all {
		if out[p.label] == nil {
			out[p.label] = p
		}
	}
	return out
}

// instanceName reads the labels in front of "inst".
func instanceName(l []string) target {
	switch len(l) {
	case 1:
		return target{kind: kindInstance, name: l[0]}
	case 2:
		return target{kind: kindInstance, name: l[1], tag: l[0]}
	}
	return target{kind: kindNothing}
}

// instance answers for one of the frame's instances on the hot path.
func (w *worker) instance(p *plan, f *frame) (rcode int) {
	if p.target.tag == "" {
		return rcodeSuccess // the instances are below
	}
	i := f.labels()[p.target.tag]
	if i == nil {
		return rcodeNXDomain
	}
	data := i.v4
	if p.qtype == typeAAAA {
		data = i.v6
	}
	if data != nil {
		w.answer.addresses(data, len(data), p.ttl, 1, w.deck)
	}
	return rcodeSuccess
}

// instance answers for one of the frame's instances on the general path: its
// addresses, and as TXT what it was registered as.
func (r *resolver) instance(ctx context.Context, name string, qtype uint16, p *plan, f *frame, depth int) sections {
	if p.target.tag == "" {
		return sections{}
	}
	i := f.labels()[p.target.tag]
	if i == nil {
		return sections{rcode: dns.RcodeNameError}
	}
	address := qtype == dns.TypeA || qtype == dns.TypeAAAA || qtype == dns.TypeANY
	if address && i.host != "" {
		return r.cname(ctx, name, i.host, qtype, p.ttl, true, depth)
	}
	var found sections
	if address {
		found.answer = r.addresses(name, qtype, i.families(), p.ttl)
	}
	if qtype == dns.TypeTXT || qtype == dns.TypeANY {
		for _, data := range packTXT(map[string]string{"node": i.node, "id": i.id}) {
			found.answer = append(found.answer, textRR(name, data, p.ttl))
		}
	}
	return found
}
