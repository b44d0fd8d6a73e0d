package dnsapi

import "encoding/binary"

// Sizes and header bits of RFC 1035 and RFC 6891.
const (
	headerSize = 12
	maxName    = 255
	minUDPSize = 512
	maxUDPSize = 4096 // also the size of a reader's answer buffers
	maxTCPSize = 65535
	optSize    = 11

	flagQR = 1 << 15
	flagAA = 1 << 10
	flagTC = 1 << 9
	flagRD = 1 << 8
	flagRA = 1 << 7
	flagCD = 1 << 4

	opcodeMask = 0xf << 11

	typeA    = 1
	typeSOA  = 6
	typeTXT  = 16
	typeAAAA = 28
	typeSRV  = 33
	typeOPT  = 41
	classIN  = 1

	optionSubnet = 8 // RFC 7871

	rcodeSuccess  = 0
	rcodeFormErr  = 1
	rcodeServFail = 2
	rcodeNXDomain = 3
	rcodeNotImp   = 4
	rcodeRefused  = 5
	rcodeBadVers  = 16
)

// query is a message with one question, as the hot path reads it.
type query struct {
	flags  uint16
	qtype  uint16
	class  uint16
	end    int    // where the question ends in the message
	name   []byte // wire form in lower case, with the root label
	edns   bool
	size   int    // UDP size offered by EDNS
	subnet []byte // the client subnet option's data, part of the message; nil without one
	buffer [maxName + 3]byte
}

// verdict says what to do with a message.
type verdict uint8

const (
	asked     verdict = iota // the query is complete
	unusual                  // well-formed as far as read, but not for the hot path
	ignored                  // no answer at all
	malformed                // FORMERR
	notKnown                 // NOTIMP
	newer                    // BADVERS: a version of EDNS that nobody has defined yet
)

// parse reads a message.
func (q *query) parse(in []byte) verdict {
	if len(in) < headerSize {
		return ignored
	}
	q.flags = binary.BigEndian.Uint16(in[2:])
	if q.flags&flagQR != 0 {
		return ignored // answering answers is how loops begin
	}
	if q.flags&opcodeMask != 0 {
		return notKnown
	}
	if binary.BigEndian.Uint16(in[4:]) != 1 {
		return malformed
	}
	if !q.parseName(in) {
		return malformed
	}
	if len(in) < q.end+4 {
		return malformed
	}
	q.qtype = binary.BigEndian.Uint16(in[q.end:])
	q.class = binary.BigEndian.Uint16(in[q.end+2:])
	q.end += 4
	q.edns, q.size, q.subnet = false, 0, nil
	// Answer and authority sections have no meaning in a question (but IXFR's).
	if binary.BigEndian.Uint32(in[6:]) != 0 {
		return unusual
	}
	switch binary.BigEndian.Uint16(in[10:]) {
	case 0:
		return asked
	case 1:
		return q.parseOPT(in[q.end:])
	}
	return unusual
}

// parseName copies the name of the question in lower case.
func (q *query) parseName(in []byte) bool {
	at, n := headerSize, 0
	for {
		if at >= len(in) {
			return false
		}
		l := int(in[at])
		// Compression has nothing to point to in front of the question.
		if l > 63 || at+1+l > len(in) || n+1+l > maxName {
			return false
		}
		q.buffer[n] = byte(l)
		for i, c := range in[at+1 : at+1+l] {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			q.buffer[n+1+i] = c
		}
		at += 1 + l
		n += 1 + l
		if l == 0 {
			break
		}
	}
	q.name, q.end = q.buffer[:n], at
	return true
}

// parseOPT reads the only additional record. No option changes an answer from the
// catalog; a client subnet is kept to be repeated.
func (q *query) parseOPT(in []byte) verdict {
	if len(in) < optSize {
		return malformed
	}
	if in[0] != 0 || binary.BigEndian.Uint16(in[1:]) != typeOPT {
		return unusual
	}
	if in[5] != 0 { // extended rcode
		return unusual
	}
	end := optSize + int(binary.BigEndian.Uint16(in[9:]))
	if end > len(in) {
		return malformed
	}
	q.edns, q.size = true, int(binary.BigEndian.Uint16(in[3:]))
	if in[6] != 0 {
		return newer // what its options look like is not known
	}
	return q.parseOptions(in[optSize:end])
}

// parseOptions walks through the options. Unknown ones are ignored (RFC 6891,
// section 6.1.2), broken ones are not.
func (q *query) parseOptions(in []byte) verdict {
	for len(in) > 0 {
		if len(in) < 4 {
			return malformed
		}
		code, n := binary.BigEndian.Uint16(in), int(binary.BigEndian.Uint16(in[2:]))
		if in = in[4:]; n > len(in) {
			return malformed
		}
		if code == optionSubnet && q.subnet == nil {
			if !subnetOption(in[:n]) {
				return malformed
			}
			q.subnet = in[:n]
		}
		in = in[n:]
	}
	return asked
}

// subnetOption reports whether a client subnet is formed as RFC 7871, section 6,
// wants it; others get FORMERR (section 7.2.1). A family is needed only if there is
// an address: some clients leave it out to say that they have none to tell.
func subnetOption(b []byte) bool {
	if len(b) < 4 || b[3] != 0 { // the scope is the answer's to set
		return false
	}
	bits, most := int(b[2]), 0
	switch binary.BigEndian.Uint16(b) {
	case 1:
		most = 32
	case 2:
		most = 128
	}
	address := b[4:]
	if bits > most || len(address) != (bits+7)/8 {
		return false
	}
	return bits%8 == 0 || address[len(address)-1]<<(bits%8) == 0
}

// key is the name followed by the type: the key of prepared lookups. It stands in
// the query's own buffer.
func (q *query) key() []byte {
	n := len(q.name)
	q.buffer[n] = byte(q.qtype >> 8)
	q.buffer[n+1] = byte(q.qtype)
	return q.buffer[:n+2]
}

// bareReply writes a header without any section.
func bareReply(in, out []byte, ra uint16, rcode int) []byte {
	flags := binary.BigEndian.Uint16(in[2:])
	out = append(out[:0], in[0], in[1])
	out = binary.BigEndian.AppendUint16(out, flagQR|flags&(opcodeMask|flagRD|flagCD)|ra|uint16(rcode))
	return append(out, 0, 0, 0, 0, 0, 0, 0, 0)
}
