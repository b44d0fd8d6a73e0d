package dnsapi

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"

	"github.com/miekg/dns"
)

// kind is what a name asks for.
type kind uint8

const (
	kindOutside   kind = iota // not in our zones
	kindNothing               // in the zone, and can never exist
	kindEmpty                 // exists, without records of its own (RFC 8020)
	kindService               // <tag>.<name>.service, _<name>._<tag>.service
	kindConnect               // <name>.connect
	kindVirtual               // <name>.virtual
	kindNode                  // <name>.node
	kindAddr                  // <hex>.addr
	kindInstance              // <label>.<service>.inst
	kindQuery                 // <name>.query, _<name>._tcp.query: a prepared query
	kindReverse               // an address in in-addr.arpa or ip6.arpa
	kindReverseNo             // the same, but no whole address
)

// target is a name taken apart. Names are in lower case.
type target struct {
	kind   kind
	name   string // of the service or node
	tag    string // of a service; of an instance its label, empty for what is above the labels
	dc     string // empty: the own one
	addr   netip.Addr
	domain int // offset in the wire name at which the domain begins
	// branch names may have others below them that can't be listed: without records
	// they are empty for address questions (RFC 8020), not missing. Resolvers that
	// minimize names (RFC 9156) ask for those on their way down.
	branch bool
}

// zones are the names that the server is responsible for.
type zones struct {
	domains []wireDomain // the main one first
	dc      string
}

type wireDomain struct {
	wire []byte // lower case, with the root label
	text string // fully qualified
}

func newZones(domain, alt, dc string) (*zones, error) {
	z := &zones{dc: strings.ToLower(dc)}
	for _, d := range []string{domain, alt} {
		if strings.Trim(d, ".") == "" {
			continue
		}
		text := dns.CanonicalName(d)
		wire, err := packName(text)
		if err != nil {
			return nil, fmt.Errorf("dns: domain %q: %w", d, err)
		}
		if len(wire) > maxName-maxTarget {
			return nil, fmt.Errorf("dns: domain %q is too long: %d bytes at most, so that names in it stay within %d",
				d, maxName-maxTarget-1, maxName)
		}
		z.domains = append(z.domains, wireDomain{wire, text})
	}
	return z, nil
}

// packName turns a name from text to wire form.
func packName(text string) ([]byte, error) {
	buf := make([]byte, maxName+1)
	n, err := dns.PackDomainName(text, buf, 0, nil, false)
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}

// classify takes a wire name in lower case apart.
func (z *zones) classify(name []byte) target {
	var starts [maxName / 2]int
	n := 0
	for at := 0; name[at] != 0; at += 1 + int(name[at]) {
		starts[n] = at
		n++
	}
	for _, d := range z.domains {
		at := len(name) - len(d.wire)
		if at < 0 || !bytes.Equal(name[at:], d.wire) {
			continue
		}
		for i := 0; i <= n; i++ {
			if i == n || starts[i] >= at {
				if i < n && starts[i] == at {
					t := z.inside(labels(name, starts[:i]))
					t.domain = at
					return t
				}
				break
			}
		}
	}
	return reverse(labels(name, starts[:n]))
}

// labels are the texts of a name's labels; nil if one has bytes that can't be
// part of a service's or node's name in the DNS without escapes.
func labels(name []byte, starts []int) []string {
	out := make([]string, len(starts))
	for i, at := range starts {
		l := name[at+1 : at+1+int(name[at])]
		if out[i] = string(l); !plainLabel(out[i]) {
			return nil
		}
	}
	return out
}

// plainLabel reports whether a label needs no escapes in text.
func plainLabel(l string) bool {
	for i := range len(l) {
		if c := l[i]; c <= ' ' || c > '~' || strings.IndexByte(`.'@;()"\`, c) >= 0 {
			return false
		}
	}
	return l != "" && len(l) <= 63
}

// inside reads the labels in front of the domain.
func (z *zones) inside(l []string) target {
	if l == nil {
		return target{kind: kindNothing}
	}
	if len(l) > 1 && l[0] == "_grpc_config" {
		// gRPC clients ask for a TXT record here before each connection, and wait for
		// the answer. No tag has this name.
		return target{kind: kindNothing}
	}
	l, word, dc := z.split(l)
	if dc == z.dc {
		dc = ""
	}
	t := z.inWord(l, word)
	t.dc = dc
	if t.kind == kindEmpty && dc != "" {
		t.kind = kindNothing // what other datacenters hold is not known here
	}
	return t
}

// split finds the word that says what the labels in front of it name, and the
// datacenter behind it. "<dc>" and "<dc>.dc" are the same.
func (z *zones) split(l []string) (front []string, word, dc string) {
	n := len(l)
	if n > 0 && l[n-1] == "dc" {
		if n == 1 {
			return nil, "", ""
		}
		n--
		dc = l[n-1]
		n--
	} else if n >= 2 && l[n-1] == z.dc && isWord(l[n-2]) || n > 0 && !isWord(l[n-1]) && (n >= 2 && isWord(l[n-2]) || l[n-1] == z.dc) {
		dc = l[n-1]
		n--
	}
	if n > 0 && isWord(l[n-1]) {
		return l[:n-1], l[n-1], dc
	}
	return l[:n], "", dc
}

func isWord(l string) bool {
	switch l {
	case "service", "connect", "virtual", "ingress", "node", "addr", "inst", "query":
		return true
	}
	return false
}

func (z *zones) inWord(l []string, word string) target {
	if len(l) == 0 {
		return target{kind: kindEmpty}
	}
	if len(l) == 1 && l[0] == "_tcp" && (word == "" || word == "service") {
		return target{kind: kindEmpty} // on the way to RFC 2782 names
	}
	switch word {
	case "service":
		return serviceName(l)
	case "":
		if rfc2782(l) {
			return serviceName(l)
		}
	case "connect", "virtual":
		if len(l) == 1 {
			k := kindConnect
			if word == "virtual" {
				k = kindVirtual
			}
			return target{kind: k, name: l[0]}
		}
	case "node":
		return target{kind: kindNode, name: strings.Join(l, ".")}
	case "inst":
		return instanceName(l)
	case "query":
		return queryName(l)
	case "addr":
		if b, err := hex.DecodeString(l[0]); err == nil && len(l) == 1 {
			if a, ok := netip.AddrFromSlice(b); ok {
				return target{kind: kindAddr, addr: a}
			}
		}
	}
	return target{kind: kindNothing}
}

// rfc2782 reports whether labels have the form _name._tag.
func rfc2782(l []string) bool {
	return len(l) == 2 && len(l[0]) > 1 && len(l[1]) > 1 && l[0][0] == '_' && l[1][0] == '_'
}

func serviceName(l []string) target {
	switch {
	case rfc2782(l):
		t := target{kind: kindService, name: l[0][1:], tag: l[1][1:]}
		if t.tag == "tcp" {
			t.tag = "" // the protocol: all instances
		}
		return t
	case len(l) == 1:
		// Below "_v1" may be the RFC 2782 names with that tag.
		return target{kind: kindService, name: l[0], branch: len(l[0]) > 1 && l[0][0] == '_'}
	}
	// A tag may have dots.
	last := len(l) - 1
	return target{kind: kindService, name: l[last], tag: strings.Join(l[:last], ".")}
}

// reverse reads names below in-addr.arpa and ip6.arpa.
func reverse(l []string) target {
	n := len(l)
	if n < 2 || l[n-1] != "arpa" {
		return target{kind: kindOutside}
	}
	switch l[n-2] {
	case "in-addr":
		parts := make([]string, 0, 4)
		for i := n - 3; i >= 0; i-- {
			parts = append(parts, l[i])
		}
		if a, err := netip.ParseAddr(strings.Join(parts, ".")); err == nil && a.Is4() {
			return target{kind: kindReverse, addr: a}
		}
		return target{kind: kindReverseNo}
	case "ip6":
		if a, ok := reverse6(l[:n-2]); ok {
			return target{kind: kindReverse, addr: a}
		}
		return target{kind: kindReverseNo}
	}
	return target{kind: kindOutside}
}

func reverse6(nibbles []string) (netip.Addr, bool) {
	if len(nibbles) != 32 {
		return netip.Addr{}, false
	}
	digits := make([]byte, 32)
	for i, s := range nibbles {
		if len(s) != 1 {
			return netip.Addr{}, false
		}
		digits[31-i] = s[0]
	}
	b, err := hex.DecodeString(string(digits))
	if err != nil {
		return netip.Addr{}, false
	}
	return netip.AddrFrom16([16]byte(b)), true
}
