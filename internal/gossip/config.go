package gossip

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/prometheus/client_golang/prometheus"
)

// Config is what Open needs.
type Config struct {
	Identity Identity
	LAN      PoolConfig
	WAN      *PoolConfig // nil: none; only servers may have one
	// EncryptKey is the base64 form of a key of 16, 24 or 32 bytes; empty: no
	// encryption. A pool's keyring file, once there is one, wins over it.
	EncryptKey string
	// AcceptPlain and SendPlain are for the way into encryption on a running
	// pool: with a key, accept unencrypted gossip, or still send it.
	AcceptPlain bool
	SendPlain   bool
	// RejoinAfterLeave joins the former members at start also after a graceful
	// leave.
	RejoinAfterLeave bool
	// OnMessage is called for each message that an agent of the LAN pool has sent with
	// Broadcast, also for this agent's own, in the order of arrival and one at a time. It
	// holds up the pool's events, so it must not wait. Nil: messages are dropped.
	OnMessage func(Message)

	Logger   *slog.Logger          // nil: silent
	Registry prometheus.Registerer // nil: no metrics
}

// PoolConfig is one pool's network and timing.
type PoolConfig struct {
	BindAddr      string // an IP
	BindPort      int    // 0: any free port
	AdvertiseAddr string // an IP; empty: BindAddr, or a private address if that is unspecified
	AdvertisePort int    // 0: BindPort
	SnapshotPath  string // file in which members are remembered for a rejoin; empty: none
	KeyringPath   string // file in which the gossip keys are kept; empty: none
	Timing        Timing // zero fields: the pool's defaults

	// Transport replaces the network, for tests.
	Transport memberlist.NodeAwareTransport
}

// Timing decides how fast a death is noticed, at the price of traffic and of
// false alarms.
type Timing struct {
	ProbeInterval    time.Duration // every agent probes one other each interval
	ProbeTimeout     time.Duration // before other agents are asked to probe too
	SuspicionMult    int           // a suspect has mult * max(1, log10(members)) * ProbeInterval to object
	GossipInterval   time.Duration
	GossipNodes      int
	RetransmitMult   int
	ReconnectTimeout time.Duration // a failed member is forgotten after this
	TombstoneTimeout time.Duration // a member that left is forgotten after this
}

// DefaultLANTiming notices a killed machine in about 5 s in pools of up to ten
// members (simulated, 12 kills each with 2, 3, 5 and 10: median 4.0 s, worst
// 5.5 s): about one probe interval until somebody probes it, one for the probe to
// fail with the help of others, and four for the suspect to object. A factor of 4
// keeps memberlist's demand for two confirmations before the suspicion is
// shortened, so that one bad link does not kill. With 30 members it is 6 to 7 s,
// with 1000 about 11: the time to object grows with the logarithm.
func DefaultLANTiming() Timing {
	return Timing{
		ProbeInterval:    750 * time.Millisecond,
		ProbeTimeout:     375 * time.Millisecond,
		SuspicionMult:    4,
		GossipInterval:   200 * time.Millisecond,
		GossipNodes:      3,
		RetransmitMult:   4,
		ReconnectTimeout: 72 * time.Hour,
		TombstoneTimeout: 72 * time.Hour,
	}
}

// DefaultWANTiming is memberlist's: round trips between datacenters are long,
// and nothing urgent depends on the WAN pool.
func DefaultWANTiming() Timing {
	return Timing{
		ProbeInterval:    5 * time.Second,
		ProbeTimeout:     3 * time.Second,
		SuspicionMult:    6,
		GossipInterval:   500 * time.Millisecond,
		GossipNodes:      4,
		RetransmitMult:   4,
		ReconnectTimeout: 72 * time.Hour,
		TombstoneTimeout: 72 * time.Hour,
	}
}

// or fills t's zero fields from d.
func (t Timing) or(d Timing) Timing {
	t.ProbeInterval = first(t.ProbeInterval, d.ProbeInterval)
	t.ProbeTimeout = first(t.ProbeTimeout, d.ProbeTimeout)
	t.SuspicionMult = first(t.SuspicionMult, d.SuspicionMult)
	t.GossipInterval = first(t.GossipInterval, d.GossipInterval)
	t.GossipNodes = first(t.GossipNodes, d.GossipNodes)
	t.RetransmitMult = first(t.RetransmitMult, d.RetransmitMult)
	t.ReconnectTimeout = first(t.ReconnectTimeout, d.ReconnectTimeout)
	t.TombstoneTimeout = first(t.TombstoneTimeout, d.TombstoneTimeout)
	return t
}

// first is a unless that is zero.
func first[T comparable](a, b T) T {
	var zero T
	if a != zero {
		return a
	}
	return b
}

func (c *Config) validate() error {
	switch {
	case c.Identity.NodeName == "":
		return fmt.Errorf("gossip: the node name is empty")
	case c.Identity.Datacenter == "":
		return fmt.Errorf("gossip: the datacenter is empty")
	case c.WAN != nil && !c.Identity.Server:
		return fmt.Errorf("gossip: a client agent has no WAN pool")
	}
	return nil
}
