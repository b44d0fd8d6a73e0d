package dnsapi

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"
	"unsafe"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"
)

// Against the slow and obvious token bucket: a level for each source.
func TestLimiterIsATokenBucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := RateLimit{
			PerSecond: rapid.SampledFrom([]int{1, 4, 10, 1000}).Draw(t, "rate"), Burst: rapid.IntRange(0, 20).Draw(t, "burst"),
			Slip: rapid.IntRange(0, 3).Draw(t, "slip"), IPv4Bits: rapid.SampledFrom([]int{0, 24, 32}).Draw(t, "bits"),
		}
		l := newLimiter(c)
		burst := int64(c.Burst)
		if burst == 0 {
			burst = int64(c.PerSecond)
		}
		each := int64(time.Second) / int64(c.PerSecond)
		level, last, over := map[netip.Addr]int64{}, map[netip.Addr]int64{}, map[netip.Addr]int{}
		now := int64(0)
		for range rapid.IntRange(1, 200).Draw(t, "questions") {
			now += rapid.SampledFrom([]int64{0, 0, 1, each / 2, each, 3 * each}).Draw(t, "pause")
			from := netip.AddrFrom4([4]byte{10, 0, byte(rapid.IntRange(0, 1).Draw(t, "net")), byte(rapid.IntRange(1, 2).Draw(t, "host"))})
			who := from
			if c.IPv4Bits == 24 {
				p, _ := from.Prefix(24)
				who = p.Addr()
			}
			if _, known := level[who]; !known {
				level[who] = burst * each
			}
			level[who] = min(level[who]+now-last[who], burst*each)
			last[who] = now
			want := admitted
			if level[who] >= each {
				level[who] -= each
				over[who] = 0
			} else {
				over[who]++
				want = dropped
				if c.Slip > 0 && over[who]%c.Slip == 0 {
					want = slipped
				}
			}
			if got := l.admit(from, l.start.Add(time.Duration(now))); got != want {
				t.Fatalf("%+v: %s at %d: %d, want %d", c, from, now, got, want)
			}
		}
	})
}

// Sources without number need no more memory, and don't give back its tokens to the
// one that asks all the time.
func TestLimiterIsBounded(t *testing.T) {
	l := newLimiter(RateLimit{PerSecond: 10})
	if size := unsafe.Sizeof(*l); size > 2<<20 {
		t.Errorf("%d bytes", size)
	}
	busy := netip.MustParseAddr("192.0.2.1")
	now, got := l.start, 0
	if n := testing.AllocsPerRun(1, func() {
		for i := range 300_000 {
			now = now.Add(10 * time.Microsecond) // 3 s together
			l.admit(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), now)
			if l.admit(busy, now) == admitted {
				got++
			}
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if got > 10+2*30+2 { // AllocsPerRun runs twice
		t.Errorf("%d answers in 6 s at 10 a second", got)
	}
	if newLimiter(RateLimit{Slip: 2}) != nil {
		t.Error("a limiter without a limit")
	}
}

func TestLimiterSources(t *testing.T) {
	l := newLimiter(RateLimit{PerSecond: 1, IPv6Bits: 64, Exempt: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	for _, c := range []struct {
		from string
		want admission
	}{
		{"10.0.0.1", admitted}, {"10.0.0.1", dropped}, {"::ffff:10.0.0.1", dropped}, {"10.0.0.2", admitted},
		{"2001:db8::1", admitted}, {"2001:db8::2", dropped}, {"2001:db8:0:1::1", admitted}, {"fe80::1%lo", admitted}, {"fe80::2%eth0", dropped},
		{"127.0.0.1", admitted}, {"127.0.0.1", admitted}, {"::ffff:127.0.0.1", admitted},
	} {
		if got := l.admit(netip.MustParseAddr(c.from), l.start); got != c.want {
			t.Errorf("%s: %d, want %d", c.from, got, c.want)
		}
	}
}

// Over sockets: answers up to the limit, then silence with an empty answer with TC
// now and then, for which TCP gives the whole one; a reload without a change keeps
// who is over, one that turns the limit off lets everyone in.
func TestRateLimit(t *testing.T) {
	reg := prometheus.NewRegistry()
	limit := RateLimit{PerSecond: 1, Burst: 20, Slip: 4}
	s, addr := start(t, standard(), func(c *Config) {
		c.Registry = reg
		c.Settings.RateLimit = limit
	})
	conn, err := net.Dial("udp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	send := func(n int) (whole, cut int) {
		for i := range n {
			m := asking{name: "web.service.consul", qtype: []uint16{dns.TypeA, dns.TypeANY}[i%2], edns: 1232}.message()
			if _, err := conn.Write(pack(t, m)); err != nil {
				t.Fatal(err)
			}
		}
		buf := make([]byte, 1500)
		for {
			conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
			n, err := conn.Read(buf)
			if err != nil {
				return whole, cut
			}
			m := unpack(t, buf[:n])
			switch {
			case m.Truncated && len(m.Answer) == 0 && len(m.Question) == 1 && m.Rcode == 0 && m.IsEdns0() != nil:
				cut++
			case len(m.Answer) == 2 && !m.Truncated:
				whole++
			default:
				t.Errorf("%v", m)
			}
		}
	}
	if whole, cut := send(60); whole < 20 || whole > 22 || cut < 9 || cut > 10 {
		t.Errorf("%d answers, %d with TC", whole, cut)
	}
	c := &dns.Client{Net: "tcp"}
	if m, _, err := c.Exchange(asking{name: "web.service.consul", qtype: dns.TypeA}.message(), addr); err != nil || len(m.Answer) != 2 {
		t.Errorf("by TCP: %v %v", err, m)
	}
	set := DefaultSettings()
	set.RateLimit = limit
	s.Reload(set)
	if whole, _ := send(10); whole > 3 {
		t.Errorf("after a reload: %d answers", whole)
	}
	set.RateLimit = RateLimit{}
	s.Reload(set)
	if whole, cut := send(40); whole != 40 || cut != 0 {
		t.Errorf("without a limit: %d answers, %d with TC", whole, cut)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "muster_dns_rate_limited_total" {
			for _, m := range f.GetMetric() {
				counts[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	if counts["dropped"] < 28 || counts["truncated"] < 9 {
		t.Errorf("metrics: %v", counts)
	}
}

func BenchmarkLimiter(b *testing.B) {
	for _, sources := range []int{1, 1000, 1_000_000} {
		b.Run(fmt.Sprint(sources), func(b *testing.B) {
			l := newLimiter(RateLimit{PerSecond: 100, Slip: 2})
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					n := i % sources
					l.admit(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), l.start.Add(time.Duration(i)))
				}
			})
		})
	}
}
