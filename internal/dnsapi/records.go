package dnsapi

import (
	"net"
	"time"

	"github.com/miekg/dns"
)

func header(name string, rtype uint16, ttl uint32) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: rtype, Class: dns.ClassINET, Ttl: ttl}
}

// addressRR is an A or AAAA record.
func addressRR(name string, address []byte, ttl uint32) dns.RR {
	if len(address) == 4 {
		return &dns.A{Hdr: header(name, dns.TypeA, ttl), A: net.IP(address)}
	}
	return &dns.AAAA{Hdr: header(name, dns.TypeAAAA, ttl), AAAA: net.IP(address)}
}

// addresses are the records of the wanted family; both for ANY.
func (r *resolver) addresses(name string, qtype uint16, all [][]byte, ttl uint32) []dns.RR {
	var out []dns.RR
	for _, a := range all {
		if qtype == dns.TypeANY || len(a) == 4 && qtype == dns.TypeA || len(a) == 16 && qtype == dns.TypeAAAA {
			out = append(out, addressRR(name, a, ttl))
		}
	}
	return out
}

// textRR is a TXT record from its packed data.
func textRR(name string, data []byte, ttl uint32) dns.RR {
	rr := &dns.TXT{Hdr: header(name, dns.TypeTXT, ttl)}
	for len(data) > 0 {
		n := int(data[0])
		rr.Txt = append(rr.Txt, escapeText(data[1:1+n]))
		data = data[1+n:]
	}
	return rr
}

// escapeText is the library's notation for a string of bytes.
func escapeText(b []byte) string {
	out := make([]byte, 0, len(b))
	for _, c := range b {
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < ' ' || c > '~':
			out = append(out, '\\', '0'+c/100, '0'+c/10%10, '0'+c%10)
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// soa is the SOA record of a zone. The serial is the time: the zone changes with
// every health check, and nobody transfers it.
func (r *resolver) soa(domain string) dns.RR {
	s := r.set.SOA
	return &dns.SOA{
		Hdr: header(domain, dns.TypeSOA, s.MinTTL),
		Ns:  "ns." + domain, Mbox: "hostmaster." + domain,
		Serial:  uint32(time.Now().Unix()),
		Refresh: s.Refresh, Retry: s.Retry, Expire: s.Expire, Minttl: s.MinTTL,
	}
}

// targetText is a target's name in text.
func targetText(p *packed, prefix []byte, whole bool, domain string) string {
	if whole {
		return p.host
	}
	wire := append(append([]byte(nil), prefix...), 0)
	name, _, err := dns.UnpackDomainName(wire, 0)
	if err != nil {
		return ""
	}
	return name + domain
}
