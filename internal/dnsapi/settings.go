package dnsapi

import (
	"strings"
	"time"
)

// settings are Settings in the form that answers need.
type settings struct {
	Settings
	nodeTTL  uint32
	exact    map[string]uint32
	prefixes []prefixTTL // longest first
	ra       uint16      // flagRA with recursors, else 0
	limiter  *limiter    // nil without a limit
}

type prefixTTL struct {
	prefix string
	ttl    uint32
}

func newSettings(s Settings) *settings {
	out := &settings{Settings: s, nodeTTL: seconds(s.NodeTTL), exact: map[string]uint32{}}
	if out.MaxUDPSize < minUDPSize || out.MaxUDPSize > maxUDPSize {
		out.MaxUDPSize = maxUDPSize
	}
	if len(s.Recursors) > 0 {
		out.ra = flagRA
	}
	for name, ttl := range s.ServiceTTL {
		name = strings.ToLower(name)
		prefix, wild := strings.CutSuffix(name, "*")
		if !wild {
			out.exact[name] = seconds(ttl)
			continue
		}
		i := 0
		for i < len(out.prefixes) && len(out.prefixes[i].prefix) >= len(prefix) {
			i++
		}
		out.prefixes = append(out.prefixes[:i], append([]prefixTTL{{prefix, seconds(ttl)}}, out.prefixes[i:]...)...)
	}
	return out
}

// serviceTTL is the TTL for a service; name is in lower case.
func (s *settings) serviceTTL(name string) uint32 {
	if ttl, ok := s.exact[name]; ok {
		return ttl
	}
	for _, p := range s.prefixes {
		if strings.HasPrefix(name, p.prefix) {
			return p.ttl
		}
	}
	return 0
}

// sizeLimit is the number of bytes that an answer may have.
func (s *settings) sizeLimit(udp, edns bool, offered int) int {
	switch {
	case !udp:
		return maxTCPSize
	case !edns || offered < minUDPSize:
		return minUDPSize
	}
	return min(offered, s.MaxUDPSize)
}

// answerLimit is the number of records that an answer may have, out of n, and
// whether something is kept back that TCP would give.
func (s *settings) answerLimit(n int, addresses, udp bool, size int) (limit int, cut bool) {
	limit = n
	if addresses && s.ARecordLimit > 0 {
		limit = min(limit, s.ARecordLimit)
	}
	if udp && size <= minUDPSize && s.UDPAnswerLimit > 0 && limit > s.UDPAnswerLimit {
		return s.UDPAnswerLimit, true
	}
	return limit, false
}

func seconds(d time.Duration) uint32 {
	if d <= 0 {
		return 0
	}
	return uint32(min(d/time.Second, 1<<31-1)) // RFC 2181, section 8: 31 bits
}
