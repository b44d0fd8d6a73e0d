package dnsapi

import (
	"encoding/binary"
	"slices"
	"time"
)

// answer writes the reply to one question by hand. Names that the question holds
// are pointers to it, unless compression is off.
type answer struct {
	out      []byte
	limit    int  // bytes, without the OPT record
	stable   bool // SRV records in the frame's order instead of a random one
	compress bool
	name     []byte // the question's name as asked, for uncompressed owners
	domain   int    // offset of the zone's domain in it
	an, ns   uint16
	ar       uint16
}

// begin copies the question and leaves room for the counts.
func (a *answer) begin(in []byte, q *query, out []byte, limit int, compress bool, domain int) {
	a.out = append(append(out[:0], in[:headerSize]...), in[headerSize:q.end]...)
	a.name = in[headerSize : q.end-4]
	a.limit, a.compress, a.domain = limit, compress, domain
	if q.edns {
		a.limit -= optSize + subnetSize(q.subnet)
	}
	a.an, a.ns, a.ar = 0, 0, 0
}

// finish writes the header and the OPT record, if one was sent.
func (a *answer) finish(q *query, flags uint16, rcode int) []byte {
	if q.edns {
		a.out = append(a.out, 0, 0, typeOPT)
		a.out = binary.BigEndian.AppendUint16(a.out, uint16(q.size))
		a.out = append(a.out, byte(rcode>>4), 0, 0, 0, 0, byte(subnetSize(q.subnet)))
		if q.subnet != nil {
			a.subnet(q.subnet)
		}
		a.ar++
	}
	h := a.out
	binary.BigEndian.PutUint16(h[2:], flagQR|flags|q.flags&(flagRD|flagCD)|uint16(rcode&0xf))
	binary.BigEndian.PutUint16(h[4:], 1)
	binary.BigEndian.PutUint16(h[6:], a.an)
	binary.BigEndian.PutUint16(h[8:], a.ns)
	binary.BigEndian.PutUint16(h[10:], a.ar)
	return a.out
}

// subnetSize is what a client subnet's data takes as an option.
func subnetSize(data []byte) int {
	if data == nil {
		return 0
	}
	return 4 + len(data)
}

// subnet repeats a client subnet with the scope 0: the answer is the same for
// everyone (RFC 7871, section 7.2.1).
func (a *answer) subnet(data []byte) {
	a.out = append(a.out, 0, optionSubnet, 0, byte(len(data)))
	a.out = append(append(a.out, data[:3]...), 0)
	a.out = append(a.out, data[4:]...)
}

// ownerSize is what the question's name costs as an owner.
func (a *answer) ownerSize() int {
	if a.compress {
		return 2
	}
	return len(a.name)
}

// owner appends the question's name.
func (a *answer) owner() {
	if a.compress {
		a.out = append(a.out, 0xc0, headerSize)
	} else {
		a.out = append(a.out, a.name...)
	}
}

// head appends what stands between owner and data.
func (a *answer) head(rtype uint16, ttl uint32, size int) {
	a.out = binary.BigEndian.AppendUint16(a.out, rtype)
	a.out = append(a.out, 0, classIN)
	a.out = binary.BigEndian.AppendUint32(a.out, ttl)
	a.out = binary.BigEndian.AppendUint16(a.out, uint16(size))
}

const recordHead = 10 // type, class, TTL, length of the data

// fit is how many of n records of a size fit.
func (a *answer) fit(n, size int) int {
	return max(0, min(n, (a.limit-len(a.out))/size))
}

// addresses appends up to limit records of type A or AAAA in random order and
// returns how many it left out for want of room.
func (a *answer) addresses(data []byte, size int, ttl uint32, limit int, d *deck) int {
	rtype := uint16(typeA)
	if size == 16 {
		rtype = typeAAAA
	}
	width := a.ownerSize() + recordHead + size
	k := a.fit(limit, width)
	if k == 0 {
		return limit
	}
	drawn := d.deal(len(data)/size, k)
	// All records are the same but for the address.
	at := len(a.out)
	a.owner()
	a.head(rtype, ttl, size)
	head := a.out[at:]
	out := slices.Grow(a.out[:at], k*width)[:at+k*width]
	for n, i := range drawn {
		record := out[at+n*width:][:width]
		copy(record, head)
		copy(record[len(head):], data[int(i)*size:][:size])
	}
	a.out = out
	a.an += uint16(k)
	return limit - k
}

// services appends up to limit SRV records, in random order unless a stable one is
// wanted, then as many of their addresses and of their nodes' TXT records as fit
// (RFC 2181, section 9: what is only extra gives way, without TC). It returns how
// many SRV records it left out for want of room.
func (a *answer) services(f *frame, ttl uint32, limit int, txt bool, d *deck) (left int) {
	drawn := d.draw(len(f.items), limit, a.stable)
	domain := a.name[a.domain:]
	offsets, out := d.offsets[:0], a.out
	for _, i := range drawn {
		p := f.items[i]
		data := len(p.srv)
		if !p.whole {
			data += len(domain)
		}
		if len(out)+a.ownerSize()+recordHead+data > a.limit {
			break
		}
		if a.compress {
			out = append(out, 0xc0, headerSize)
		} else {
			out = append(out, a.name...)
		}
		out = append(out, 0, typeSRV, 0, classIN, byte(ttl>>24), byte(ttl>>16), byte(ttl>>8), byte(ttl), byte(data>>8), byte(data))
		offsets = append(offsets, len(out)+srvNumbers)
		out = append(out, p.srv...)
		// RFC 2782 wants targets uncompressed.
		if !p.whole {
			out = append(out, domain...)
		}
	}
	a.out, d.offsets = out, offsets
	a.an += uint16(len(offsets))
	a.targets(f, ttl, drawn, offsets)
	if txt {
		a.texts(f, ttl, drawn, offsets)
	}
	return limit - len(offsets)
}

// targets appends the addresses of the SRV records just written.
func (a *answer) targets(f *frame, ttl uint32, drawn []uint32, offsets []int) {
	out, domain, added := a.out, len(a.name)-a.domain, 0
	for n, at := range offsets {
		p := f.items[drawn[n]]
		size := len(p.address)
		if size == 0 {
			continue
		}
		name := out[at : at+len(p.srv)-srvNumbers+domain]
		if len(out)+a.targetSize(at, name)+recordHead+size > a.limit {
			break
		}
		if a.compress && at <= pointerReach {
			out = append(out, 0xc0|byte(at>>8), byte(at))
		} else {
			out = append(out, name...)
		}
		rtype := byte(typeA)
		if size == 16 {
			rtype = typeAAAA
		}
		out = append(out, 0, rtype, 0, classIN, byte(ttl>>24), byte(ttl>>16), byte(ttl>>8), byte(ttl), 0, byte(size))
		out = append(out, p.address...)
		added++
	}
	a.out = out
	a.ar += uint16(added)
}

// pointerReach is the largest offset that a compression pointer can hold.
const pointerReach = 0x3fff

func (a *answer) targetSize(at int, name []byte) int {
	if a.compress && at <= pointerReach {
		return 2
	}
	return len(name)
}

func (a *answer) target(at int, name []byte) {
	if a.compress && at <= pointerReach {
		a.out = append(a.out, 0xc0|byte(at>>8), byte(at))
	} else {
		a.out = append(a.out, name...)
	}
}

// texts appends the meta of the nodes behind the SRV records just written.
func (a *answer) texts(f *frame, ttl uint32, drawn []uint32, offsets []int) {
	for n, at := range offsets {
		p := f.items[drawn[n]]
		for _, data := range p.txt {
			if !a.nodeText(p, data, ttl, at) {
				return
			}
		}
	}
}

// nodeText appends one TXT record of a node under <node>.node.<dc>.<domain>,
// which is the SRV target unless the service has an address of its own.
func (a *answer) nodeText(p *packed, data []byte, ttl uint32, target int) bool {
	own := p.nodeName
	if own == nil {
		return true
	}
	size := len(own) + len(a.name) - a.domain
	same := !p.whole && string(own) == string(p.srv[srvNumbers:])
	if same {
		size = a.targetSize(target, a.out[target:target+size])
	}
	if len(a.out)+size+recordHead+len(data) > a.limit {
		return false
	}
	if same {
		a.target(target, a.out[target:target+len(own)+len(a.name)-a.domain])
	} else {
		a.out = append(append(a.out, own...), a.name[a.domain:]...)
	}
	a.head(typeTXT, ttl, len(data))
	a.out = append(a.out, data...)
	a.ar++
	return true
}

// ownTexts appends TXT records under the question's name.
func (a *answer) ownTexts(txt [][]byte, ttl uint32) {
	for _, data := range txt {
		if len(a.out)+a.ownerSize()+recordHead+len(data) > a.limit {
			return
		}
		a.owner()
		a.head(typeTXT, ttl, len(data))
		a.out = append(a.out, data...)
		a.ar++
	}
}

// nothing appends the SOA record of negative answers (RFC 2308, section 3).
func (a *answer) nothing(soa *SOA) {
	domain := a.name[a.domain:]
	ref := len(domain)
	if a.compress {
		ref = 2
	}
	size := 3 + ref + 11 + ref + 20
	if len(a.out)+ref+recordHead+size > a.limit {
		return
	}
	zone := func() {
		if a.compress {
			at := headerSize + a.domain
			a.out = append(a.out, 0xc0|byte(at>>8), byte(at))
		} else {
			a.out = append(a.out, domain...)
		}
	}
	zone()
	a.head(typeSOA, soa.MinTTL, size)
	a.out = append(a.out, "\x02ns"...)
	zone()
	a.out = append(a.out, "\x0ahostmaster"...)
	zone()
	a.out = binary.BigEndian.AppendUint32(a.out, uint32(time.Now().Unix()))
	for _, n := range [...]uint32{soa.Refresh, soa.Retry, soa.Expire, soa.MinTTL} {
		a.out = binary.BigEndian.AppendUint32(a.out, n)
	}
	a.ns++
}
