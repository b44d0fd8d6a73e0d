package dnsapi

import (
	"encoding/hex"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/miekg/dns"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
)

// The frames are the same for every server in a process: nothing in them depends
// on a configuration, so TTLs, limits and the zone's name come in with the answer.
var serviceEncoder, instanceEncoder, nodeEncoder, addressEncoder, namesEncoder *view.Encoder

// Not initializers, since an encoder's Assemble needs the encoder.
func init() {
	serviceEncoder = view.NewEncoder(view.Encoder{
		Name:     "dns-service",
		Fragment: func(v any) any { return packInstance(v.(*model.Instance)) },
		Assemble: func(items []*view.Item) any { return assemble(items, serviceEncoder) },
	})
	// The same with a name for each instance as SRV target: made for those only who
	// want it or ask for such a name.
	instanceEncoder = view.NewEncoder(view.Encoder{
		Name:     "dns-instance",
		Fragment: func(v any) any { return packNamed(v.(*model.Instance)) },
		Assemble: func(items []*view.Item) any { return assemble(items, instanceEncoder) },
	})
	nodeEncoder = view.NewEncoder(view.Encoder{
		Name:     "dns-node",
		Fragment: func(v any) any { return packNode(v.(*model.NodeServices).Node) },
		Assemble: func(items []*view.Item) any { return assemble(items, nodeEncoder) },
	})
	// The nodes' names by address, for reverse lookups.
	addressEncoder = view.NewEncoder(view.Encoder{Name: "dns-addresses", Assemble: assembleAddresses})
	// The names of all services, for reverse lookups.
	namesEncoder = view.NewEncoder(view.Encoder{Name: "dns-names", Assemble: assembleNames})
}

// frame is the DNS side of a list of instances, or of one node.
type frame struct {
	items []*packed // those that an SRV record can point to
	v4    []byte    // distinct addresses, 4 bytes each
	v6    []byte    // distinct addresses, 16 bytes each
	hosts int       // items whose address is a host name
	all   []*packed
	txt   [][]byte // of the node, if it is one
	// labels finds an instance by its label; nil for other frames. The map is made
	// when the first asks.
	labels func() map[string]*packed
}

// srvNumbers is the length of what stands in front of an SRV record's target.
const srvNumbers = 6

// packed is an instance or node as records. Wire names end in front of the zone's
// domain, which is appended as the question spelled it.
type packed struct {
	v4, v6  []byte // addresses for A and AAAA; nil if there is none
	host    string // fully qualified, if the address is a host name
	weight  uint16
	port    uint16
	srv     []byte // SRV data: priority, weight, port, target; nil without a target
	whole   bool   // the target is complete: a host name
	address []byte // what the target resolves to, 4 or 16 bytes; nil for host names
	txt     [][]byte
	node    string
	// nodeName is the wire name <node>.node.<dc>; nil if the name is no DNS name.
	nodeName []byte
	virtual  []byte // the mesh's address for the service
	// label is the instance's own name, id the one it was registered with; both only
	// where names of instances are wanted.
	label, id string
	// own is the address as registered for a service itself, for reverse lookups.
	own netip.Addr
}

func packInstance(i *model.Instance) *packed {
	s, n := i.Service, i.Node
	p := &packed{node: n.Name, weight: weight(i), port: port(s.Port), txt: packTXT(n.Meta)}
	p.nodeName = nodeTarget(n.Name, n.Datacenter)
	if s.Address == "" {
		p.setAddress(n.Address, n.TaggedAddresses["lan_ipv4"], n.TaggedAddresses["lan_ipv6"])
	} else {
		p.setAddress(s.Address, s.TaggedAddresses["lan_ipv4"].Address, s.TaggedAddresses["lan_ipv6"].Address)
	}
	var target []byte
	p.virtual = tagged(s.TaggedAddresses["consul-virtual"].Address, true)
	switch {
	case p.host != "":
		target, _ = packName(p.host)
		p.whole = true
	case p.address == nil:
	case s.Address == "":
		target = p.nodeName
	default:
		p.own, _ = netip.AddrFromSlice(p.address)
	}
	if target == nil && p.address != nil {
		// The service's own address, or a node whose name is no DNS name.
		target = addrTarget(p.address, n.Datacenter)
	}
	if target != nil {
		p.srv = []byte{0, 1, byte(p.weight >> 8), byte(p.weight), byte(p.port >> 8), byte(p.port)}
		p.srv = append(p.srv, target...)
	}
	return p
}

func packNode(n *model.Node) *packed {
	p := &packed{node: n.Name, txt: packTXT(n.Meta)}
	p.setAddress(n.Address, n.TaggedAddresses["lan_ipv4"], n.TaggedAddresses["lan_ipv6"])
	p.nodeName = nodeTarget(n.Name, n.Datacenter)
	return p
}

// setAddress takes the registered address and, for the family that it is not of,
// the tagged one.
func (p *packed) setAddress(address, lan4, lan6 string) {
	a, err := netip.ParseAddr(address)
	if err != nil {
		host := dns.Fqdn(address)
		if wire, err := packName(host); err == nil && address != "" && len(wire) > 1 {
			p.host = host
		}
		return
	}
	if a = a.Unmap().WithZone(""); a.Is4() {
		p.v4 = a.AsSlice()
		p.v6 = tagged(lan6, false)
	} else {
		p.v6 = a.AsSlice()
		p.v4 = tagged(lan4, true)
	}
	p.address = a.AsSlice()
}

// families are the addresses that there are, one of each family at most.
func (p *packed) families() (out [][]byte) {
	for _, a := range [][]byte{p.v4, p.v6} {
		if a != nil {
			out = append(out, a)
		}
	}
	return out
}

func tagged(address string, four bool) []byte {
	a, err := netip.ParseAddr(address)
	if a = a.Unmap(); err != nil || a.Is4() != four {
		return nil
	}
	return a.WithZone("").AsSlice()
}

// weight is the SRV weight for the instance's state. 0 is allowed for instances
// with a warning only: it asks for almost no traffic.
func weight(i *model.Instance) uint16 {
	w, least := i.Service.Weights.Passing, 1
	for _, c := range i.Checks {
		if c.Status == model.StatusWarning {
			w, least = i.Service.Weights.Warning, 0
			break
		}
	}
	if w < least || w > 65535 {
		return 1
	}
	return uint16(w)
}

func port(p int) uint16 {
	if p < 0 || p > 65535 {
		return 0
	}
	return uint16(p)
}

// nodeTarget is <node>.node.<dc>; nil if the node's name can't be a DNS name.
func nodeTarget(node, dc string) []byte {
	var out []byte
	for l := range strings.SplitSeq(node, ".") {
		if !plainLabel(l) {
			return nil
		}
		out = appendLabel(out, l)
	}
	return withDC(out, "node", dc)
}

// addrTarget is <hex>.addr.<dc>.
func addrTarget(address []byte, dc string) []byte {
	return withDC(appendLabel(nil, hex.EncodeToString(address)), "addr", dc)
}

// withDC adds the word and the datacenter. Targets that leave less than a third
// of a name for the domain are refused, so that names stay within 255 bytes.
func withDC(out []byte, word, dc string) []byte {
	out = appendLabel(appendLabel(out, word), strings.ToLower(dc))
	if dc == "" || len(dc) > 63 || len(out) > maxTarget {
		return nil
	}
	return out
}

// maxTarget leaves room for the domain.
const maxTarget = 170

func appendLabel(b []byte, l string) []byte {
	return append(append(b, byte(len(l))), l...)
}

// packTXT is a node's meta as RFC 1464 attributes, each the data of one TXT
// record. Keys with the prefix rfc1035- give their value alone.
func packTXT(meta map[string]string) [][]byte {
	var out [][]byte
	for k, v := range meta {
		text := attributeKey(k) + "=" + v
		if strings.HasPrefix(strings.ToLower(k), "rfc1035-") {
			text = v
		}
		text = unescape(text)
		var data []byte
		for {
			n := min(len(text), 255)
			data = append(append(data, byte(n)), text[:n]...)
			if text = text[n:]; text == "" {
				break
			}
		}
		out = append(out, data)
	}
	slices.SortFunc(out, slices.Compare[[]byte])
	return out
}

// unescape reads the escapes of RFC 1035, section 5.1, in a meta value: existing
// servers hand values through that notation, and so \c stands for c and \010 for a
// line feed.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if c := text[i]; c != '\\' {
			out = append(out, c)
			continue
		}
		if i+3 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+4], 10, 8); err == nil {
				out = append(out, byte(n))
				i += 3
				continue
			}
		}
		if i++; i < len(text) {
			out = append(out, text[i])
		}
	}
	return string(out)
}

// attributeKey quotes a key as RFC 1464, section 2, has it.
func attributeKey(k string) string {
	if !strings.ContainsAny(k, "=` \t") {
		return k
	}
	var b strings.Builder
	for _, r := range k {
		if strings.ContainsRune("=` \t", r) {
			b.WriteByte('`')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func assemble(items []*view.Item, e *view.Encoder) any {
	f := &frame{all: make([]*packed, 0, len(items)), items: make([]*packed, 0, len(items))}
	seen4 := make(map[[4]byte]bool, len(items))
	seen6 := map[[16]byte]bool{}
	for _, it := range items {
		p := it.Fragment(e).(*packed)
		f.all = append(f.all, p)
		if e == nodeEncoder {
			f.txt = p.txt
		}
		if p.srv != nil {
			f.items = append(f.items, p)
		}
		if p.host != "" {
			f.hosts++
		}
		if p.v4 != nil && !seen4[[4]byte(p.v4)] {
			seen4[[4]byte(p.v4)] = true
			f.v4 = append(f.v4, p.v4...)
		}
		if p.v6 != nil && !seen6[[16]byte(p.v6)] {
			seen6[[16]byte(p.v6)] = true
			f.v6 = append(f.v6, p.v6...)
		}
	}
	if e == instanceEncoder {
		f.labels = sync.OnceValue(func() map[string]*packed { return byLabel(f.all) })
	}
	return f
}

func assembleAddresses(items []*view.Item) any {
	out := make(map[netip.Addr][]string, len(items))
	for _, it := range items {
		n := it.Value.(*model.Node)
		if a, err := netip.ParseAddr(n.Address); err == nil {
			a = a.Unmap().WithZone("")
			out[a] = append(out[a], n.Name)
		}
	}
	return out
}

func assembleNames(items []*view.Item) any {
	out := make([]string, len(items))
	for i, it := range items {
		out[i] = it.Value.(*model.ServiceSummary).Name
	}
	return out
}
