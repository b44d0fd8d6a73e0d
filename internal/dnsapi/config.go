package dnsapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime"
	"strings"
	"time"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/view"
)

// Lookup is the read path. Calls overlap.
type Lookup interface {
	// Find answers a request into a; it allocates nothing for a shared frame.
	Find(ctx context.Context, r *lookup.Request, a *lookup.Answer) error
	Prepare(enc *view.Encoder, q lookup.Question) (*view.Variant, error)
}

// Config is what a Server needs for its whole life.
type Config struct {
	Lookup     Lookup
	Queries    Queries // nil: there are no prepared queries
	Domain     string  // the zone, with or without a final dot
	AltDomain  string  // a second zone with the same content; empty: none
	Datacenter string
	Node       string   // name of the own agent, to list it first among name servers
	Addrs      []string // host:port to listen on, UDP and TCP alike
	Sockets    int      // UDP sockets for each address

	// TCP bounds. A connection over the limit is closed at once; an idle one
	// after TCPIdle, since resolvers reopen cheaply and files are finite.
	TCPConns int
	TCPIdle  time.Duration
	// Pending bounds the UDP questions that wait on the general path at a time;
	// beyond it the answer is SERVFAIL, which makes a resolver turn to another
	// server at once where silence would cost it seconds.
	Pending int
	// AnswerTimeout bounds one answer on the general path. Most stub resolvers
	// ask again after 5 s.
	AnswerTimeout time.Duration

	Logger   *slog.Logger
	Registry prometheus.Registerer

	Settings Settings
}

// Settings can be changed while the server runs (Server.Reload).
type Settings struct {
	// AllowStale lets any server answer from its own state. Without it every
	// question goes to the leader.
	AllowStale bool
	// MaxStale is the age beyond which an answer is asked from the leader after
	// all; 0: no bound.
	MaxStale time.Duration

	NodeTTL time.Duration
	// ServiceTTL by service name; "prefix*" stands for all names that begin so,
	// "*" for all. The longest match counts.
	ServiceTTL map[string]time.Duration

	OnlyPassing        bool // leave out instances with a warning
	EnableTruncate     bool // set TC when an answer was cut
	DisableCompression bool
	NodeMetaTXT        bool // node meta as TXT in additional sections

	UDPAnswerLimit int // records of an answer in 512 bytes; 0: as many as fit
	ARecordLimit   int // address records of any answer; 0: no limit
	MaxUDPSize     int // largest datagram sent, whatever the client offers

	// SRVStable gives SRV records by node and id instead of shuffled, so that clients
	// which are told of a part always hear of the same part.
	SRVStable bool
	// SRVInstance makes SRV records point to one name for each instance instead of
	// names of nodes and addresses.
	SRVInstance bool

	RateLimit RateLimit

	SOA SOA

	Recursors       []string // host:port
	RecursorTimeout time.Duration
	RecursorsRandom bool // ask them in random order instead of the given one
	Token           string
}

// RateLimit bounds the answers to one source by UDP, where sources can be forged and
// answers are larger than questions. The zero value sets no limit.
type RateLimit struct {
	PerSecond int // answers a second to one source; 0: no limit
	Burst     int // answers at once after a silence; 0: as many as in a second
	// Slip is how many answers over the limit are left out until one is sent empty
	// with TC, so that a client whose address somebody forges comes by TCP; 0: never.
	Slip int
	// Sources are told apart by so many bits of their address; 0: all of them.
	IPv4Bits, IPv6Bits int
	Exempt             []netip.Prefix // not limited: forwarders, the own host
}

// SOA holds the zone's numbers, in seconds.
type SOA struct {
	Refresh, Retry, Expire, MinTTL uint32
}

// DefaultConfig is a development agent's. Lookup and Addrs are to be filled in.
func DefaultConfig() Config {
	return Config{
		Domain:     "consul",
		Datacenter: "dc1",
		// More readers than cores only cost memory; beyond 16 the kernel is the
		// limit, not the readers.
		Sockets:       min(runtime.GOMAXPROCS(0), 16),
		TCPConns:      1024,
		TCPIdle:       10 * time.Second,
		Pending:       512,
		AnswerTimeout: 5 * time.Second,
		Settings:      DefaultSettings(),
	}
}

// DefaultSettings are the ones that existing installations expect.
func DefaultSettings() Settings {
	return Settings{
		AllowStale: true,
		// Existing installations expect cut answers without TC. With it, resolvers
		// come back by TCP and get everything.
		EnableTruncate:  false,
		NodeMetaTXT:     true,
		UDPAnswerLimit:  3,
		MaxUDPSize:      4096, // above it datagrams fragment on every network but loopback
		SOA:             SOA{Refresh: 3600, Retry: 600, Expire: 86400},
		RecursorTimeout: 2 * time.Second,
	}
}

// check completes the config and reports what can't work.
func (c *Config) check() error {
	if c.Lookup == nil {
		return fmt.Errorf("dns: no lookup configured")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Logger = c.Logger.With("component", "dnsapi")
	if c.Sockets < 1 {
		c.Sockets = 1
	}
	for _, d := range []string{c.Domain, c.AltDomain} {
		if _, ok := dns.IsDomainName(d); !ok && d != "" {
			return fmt.Errorf("dns: %q is not a domain name", d)
		}
	}
	if strings.Trim(c.Domain, ".") == "" {
		return fmt.Errorf("dns: the domain is empty")
	}
	return nil
}
