package dnsapi

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
	"pgregory.net/rapid"

	"github.com/muster-discovery/muster/internal/model"
)

// Answers that a rewrite of another server once got wrong: of another service under
// load, and without regard to the tag. Everything that an instance of service k
// answers with has a k in it, and which tag it has can be seen by its address.

const mixServices = 16

func mixName(k int) string { return fmt.Sprintf("mix%02d", k) }

// mixInstances are a random choice of a service's instances. The tag is "even" or
// "odd" by the last byte of the address; sometimes the node's own is used.
func mixInstances(k int, random *rand.Rand) []*model.Instance {
	var out []*model.Instance
	for host := 1; host <= 12; host++ {
		if random.IntN(2) == 0 {
			continue
		}
		address := fmt.Sprintf("10.%d.0.%d", k, host)
		i := instance(fmt.Sprintf("n%02d-%d", k, host), address, mixName(k), 1000*(k+1)+host, tags([]string{"even", "odd"}[host%2]), meta("of", fmt.Sprint(k)))
		i.Service.ID = fmt.Sprint(k, "-", host)
		if random.IntN(2) == 0 {
			i.Service.Address = address
		}
		if random.IntN(8) == 0 {
			status("critical")(i)
		}
		out = append(out, i)
	}
	return out
}

// mixQuestion is a question about service k, of any form.
type mixQuestion struct {
	k   int
	tag string
	asking
}

func newMixQuestion(random *rand.Rand) mixQuestion {
	q := mixQuestion{k: random.IntN(mixServices), tag: []string{"", "even", "odd"}[random.IntN(3)]}
	q.qtype = []uint16{dns.TypeA, dns.TypeSRV, dns.TypeANY}[random.IntN(3)]
	q.edns = []uint16{0, 1232, 4096}[random.IntN(3)]
	name := mixName(q.k)
	switch form := random.IntN(4); {
	case form == 0 && q.tag != "":
		q.name = "_" + name + "._" + q.tag + ".service.consul."
	case form == 1 && q.tag == "":
		q.name = "_" + name + "._tcp.service.consul."
	case q.tag != "":
		q.name = q.tag + "." + name + ".service.consul."
	default:
		q.name = name + ".service.dc1.consul."
	}
	return q
}

// check says what is wrong with an answer.
func (q mixQuestion) check(m *dns.Msg) error {
	if len(m.Question) != 1 || m.Question[0].Name != q.name || m.Question[0].Qtype != q.qtype {
		return fmt.Errorf("question %v", m.Question)
	}
	if m.Rcode != dns.RcodeSuccess && m.Rcode != dns.RcodeNameError || (m.Rcode == dns.RcodeNameError) != (len(m.Answer) == 0) {
		return fmt.Errorf("rcode %d with %d answers", m.Rcode, len(m.Answer))
	}
	targets := map[string]int{} // host by target
	for _, rr := range m.Answer {
		switch rr := rr.(type) {
		case *dns.A:
			if q.qtype == dns.TypeSRV {
				return fmt.Errorf("%s for SRV", rr)
			}
			if err := q.host(rr.A, int(rr.A[3])); err != nil {
				return err
			}
		case *dns.SRV:
			if q.qtype != dns.TypeSRV || int(rr.Port)/1000 != q.k+1 {
				return fmt.Errorf("%s for service %d", rr, q.k)
			}
			targets[rr.Target] = int(rr.Port) % 1000
		default:
			return fmt.Errorf("%s", rr)
		}
	}
	for _, rr := range m.Extra {
		switch rr := rr.(type) {
		case *dns.A:
			host, known := targets[rr.Hdr.Name]
			if !known {
				return fmt.Errorf("%s of no target", rr)
			}
			if err := q.host(rr.A, host); err != nil {
				return err
			}
		case *dns.TXT:
			if rr.Txt[0] != fmt.Sprint("of=", q.k) {
				return fmt.Errorf("%s for service %d", rr, q.k)
			}
		}
	}
	return nil
}

func (q mixQuestion) host(ip net.IP, host int) error {
	if ip[0] != 10 || int(ip[1]) != q.k || int(ip[3]) != host || q.tag == "even" && host%2 != 0 || q.tag == "odd" && host%2 != 1 {
		return fmt.Errorf("%s (host %d) for service %d, tag %q", ip, host, q.k, q.tag)
	}
	return nil
}

// Many clients with many questions in flight, by UDP and TCP, on both paths, while
// all services change all the time and settings are reloaded.
func TestAnswersNeverMix(t *testing.T) {
	length := 1500 * time.Millisecond
	if testing.Short() {
		length = 300 * time.Millisecond
	}
	c := newCatalog()
	for k := range mixServices {
		c.replace(mixName(k), mixInstances(k, rand.New(rand.NewPCG(1, uint64(k))))...)
	}
	s, addr := start(t, c, nil)
	end := time.Now().Add(length)
	var wg sync.WaitGroup
	var answers, changes atomic.Int64
	for n := range uint64(2) {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(n, 2))
			for time.Now().Before(end) {
				k := random.IntN(mixServices)
				c.replace(mixName(k), mixInstances(k, random)...)
				if changes.Add(1)%64 == 0 {
					set := DefaultSettings()
					set.SRVInstance, set.SRVStable = random.IntN(2) == 0, random.IntN(2) == 0
					set.DisableCompression = random.IntN(2) == 0
					set.UDPAnswerLimit = 3 * random.IntN(2)
					s.Reload(set)
				}
			}
		})
	}
	for n := range uint64(6) {
		wg.Go(func() { answers.Add(mixClient(t, addr, n%3 == 2, rand.New(rand.NewPCG(n, 3)), end)) })
	}
	wg.Wait()
	if answers.Load() < 1000 || changes.Load() < 100 {
		t.Errorf("%d answers, %d changes", answers.Load(), changes.Load())
	}
	t.Logf("%d answers, %d changes", answers.Load(), changes.Load())
}

// mixClient keeps 32 questions in flight on one socket and checks the answers.
func mixClient(t *testing.T, addr string, tcp bool, random *rand.Rand, end time.Time) (answers int64) {
	network := "udp"
	if tcp {
		network = "tcp"
	}
	conn, err := net.Dial(network, addr)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer conn.Close()
	buf := make([]byte, maxTCPSize)
	for id := uint16(0); time.Now().Before(end); {
		asked := map[uint16]mixQuestion{}
		for range 32 {
			q := newMixQuestion(random)
			m := q.message()
			m.Id = id
			asked[id] = q
			id++
			b, err := m.Pack()
			if err == nil && tcp {
				b = tcpFrame(b)
			}
			if err == nil {
				_, err = conn.Write(b)
			}
			if err != nil {
				t.Error(err)
				return answers
			}
		}
		for len(asked) > 0 {
			conn.SetReadDeadline(time.Now().Add(5 * time.Second))
			n, err := readMessage(conn, buf, tcp)
			if err != nil {
				t.Errorf("%s: %d answers are missing: %v", network, len(asked), err)
				return answers
			}
			m := new(dns.Msg)
			if err := m.Unpack(buf[:n]); err != nil {
				t.Errorf("%x: %v", buf[:n], err)
				return answers
			}
			q, known := asked[m.Id]
			if !known {
				t.Errorf("an answer to nothing: %v", m)
				return answers
			}
			delete(asked, m.Id)
			if err := q.check(m); err != nil {
				t.Errorf("%s %s by %s: %v\n%v", q.name, dns.TypeToString[q.qtype], network, err, m)
				return answers
			}
			answers++
		}
	}
	return answers
}

func readMessage(conn net.Conn, buf []byte, tcp bool) (int, error) {
	if !tcp {
		return conn.Read(buf)
	}
	if _, err := io.ReadFull(conn, buf[:2]); err != nil {
		return 0, err
	}
	return io.ReadFull(conn, buf[:binary.BigEndian.Uint16(buf)])
}

var (
	genLabel = rapid.OneOf(
		rapid.SampledFrom([]string{"web", "Web", "db", "service", "node", "inst", "dc", "dc1", "addr", "query", "consul", "_web", "_tcp", "tcp", "v1", "_grpc", "1", "a-b", "*", "xn--9ca"}),
		rapid.StringMatching(`[A-Za-z0-9_!#$%&*+/:<=>?^{|}~-]{1,63}`),
	)
	genTag = rapid.OneOf(genLabel, rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.StringMatching(`[A-Za-z0-9_-]{1,9}`), 2, 3).Draw(t, "parts"), ".")
	}))
)

// Whatever names and tags are registered, each question gets exactly the instances
// with that name and tag, also right after a change.
func TestAnyNameAndTag(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCatalog()
		set := DefaultSettings()
		set.UDPAnswerLimit, set.SRVInstance = 0, rapid.Bool().Draw(t, "per instance")
		cfg := DefaultConfig()
		cfg.Lookup, cfg.Settings = c.lookup(), set
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		w := s.newReader()
		names := rapid.SliceOfNDistinct(genLabel, 1, 4, model.Fold).Draw(t, "names")
		labels := rapid.SliceOfNDistinct(genTag, 1, 4, strings.ToLower).Draw(t, "tags")
		held := map[string][]*model.Instance{}
		port := 0
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			name := rapid.SampledFrom(names).Draw(t, "changed")
			held[name] = nil
			for range rapid.IntRange(0, 3).Draw(t, "instances") {
				port++
				held[name] = append(held[name], instance(fmt.Sprint("n", port), fmt.Sprintf("10.0.%d.%d", port/200, port%200+1), name, port,
					tags(rapid.SliceOfN(rapid.SampledFrom(labels), 0, 2).Draw(t, "its tags")...)))
			}
			c.replace(name, held[name]...)
			asked := rapid.SampledFrom(names).Draw(t, "asked")
			tag := rapid.SampledFrom(append(labels, "")).Draw(t, "asked tag")
			question := asked + ".service.consul."
			if tag != "" {
				question = tag + "." + question
			}
			if len(question) > 200 || tag == "_grpc_config" || tag != "" && !strings.Contains(tag, ".") && len(tag) > 1 && tag[0] == '_' && len(asked) > 1 && asked[0] == '_' {
				continue // names that mean something else (RFC 2782)
			}
			if strings.EqualFold(question, "_tcp.service.consul.") {
				continue // the way to RFC 2782 names
			}
			var want []int
			for _, i := range held[asked] {
				if tag == "" || slices.ContainsFunc(i.Service.Tags, func(own string) bool { return strings.EqualFold(own, tag) }) {
					want = append(want, i.Service.Port)
				}
			}
			m := asking{name: question, qtype: dns.TypeSRV}.message()
			in, err := m.Pack()
			if err != nil {
				t.Fatal(err)
			}
			reply, general := w.handle(t.Context(), in, nil, false)
			other := s.slow(t.Context(), in, false)
			if general {
				reply = other
			}
			for _, b := range [][]byte{reply, other} {
				out := new(dns.Msg)
				if err := out.Unpack(b); err != nil {
					t.Fatal(err)
				}
				got := []int{}
				for _, rr := range out.Answer {
					got = append(got, int(rr.(*dns.SRV).Port))
				}
				slices.Sort(got)
				if !slices.Equal(got, want) || (out.Rcode == dns.RcodeNameError) != (len(want) == 0) {
					t.Fatalf("%s: ports %v, want %v, rcode %d", question, got, want, out.Rcode)
				}
			}
		}
	})
}
