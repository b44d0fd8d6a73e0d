package testbed

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// nowhere is an address that no host has: what is sent there is lost without a word, as
// on a real network. A route without a way (blackhole) would tell the sender.
const nowhere = "02:00:00:00:00:00"

// CutOneWay loses what from sends to the others; what they send arrives.
func (h *Host) CutOneWay(others ...*Host) error {
	h.cut = true
	return h.neighbors(others, true)
}

// MendOneWay undoes CutOneWay.
func (h *Host) MendOneWay(others ...*Host) error { return h.neighbors(others, false) }

func (h *Host) neighbors(others []*Host, cut bool) error {
	var lines []string
	for _, o := range others {
		if o == h {
			continue
		}
		to := hardware(o.number)
		if cut {
			to = nowhere
		}
		lines = append(lines, fmt.Sprintf("neigh replace %s lladdr %s dev eth0 nud permanent", o.Addr, to))
	}
	if lines == nil {
		return nil
	}
	return batch("ip", h.netns, lines...)
}

// Cut parts two sets of hosts, both ways.
func Cut(a, b []*Host) error {
	var errs []error
	for _, h := range a {
		errs = append(errs, h.CutOneWay(b...))
	}
	for _, h := range b {
		errs = append(errs, h.CutOneWay(a...))
	}
	return errors.Join(errs...)
}

// Silence takes the host's plug out: nothing arrives, nothing leaves, nobody is told.
func (h *Host) Silence() error {
	return batch("ip", h.bed.hub, "link set "+h.port()+" nomaster")
}

// Plug undoes Silence.
func (h *Host) Plug() error {
	return batch("ip", h.bed.hub, "link set "+h.port()+" master br0")
}

// Heal undoes all faults of the network.
func (b *Bed) Heal() error {
	var errs []error
	var plugs []string
	for _, h := range b.hosts {
		plugs = append(plugs, "link set "+h.port()+" master br0")
		if h.cut {
			errs = append(errs, h.MendOneWay(b.hosts...))
		}
		h.cut = false
		errs = append(errs, h.Quick())
	}
	return errors.Join(append(errs, batch("ip", b.hub, plugs...))...)
}

// Netem says why delay and loss can't be had from tc netem here; nil: they can. It is a
// module of the kernel that small machines lack.
var Netem = sync.OnceValue(func() error {
	return inProbe(func(ns string) error {
		return run("tc", "-n", ns, "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms")
	})
})

func inProbe(f func(ns string) error) error {
	ns := name(os.Getpid(), "netem")
	defer run("ip", "netns", "del", ns)
	if err := run("ip", "netns", "add", ns); err != nil {
		return err
	}
	return f(ns)
}

// Delay makes all that the host sends late, and loses some of it. It needs Netem.
func (h *Host) Delay(by time.Duration, lossPercent int) error {
	h.slow = true
	return run("tc", "-n", h.netns, "qdisc", "replace", "dev", "eth0", "root", "netem",
		"delay", fmt.Sprintf("%dus", by.Microseconds()), fmt.Sprintf("%dus", by.Microseconds()/4), "loss", fmt.Sprintf("%d%%", lossPercent))
}

// Narrow lets the host send so many kilobits a second. What has to wait for longer than
// the given time is lost. It is what there is of delay and loss without Netem.
func (h *Host) Narrow(kbit int, wait time.Duration) error {
	h.slow = true
	return run("tc", "-n", h.netns, "qdisc", "replace", "dev", "eth0", "root", "tbf",
		"rate", fmt.Sprintf("%dkbit", kbit), "burst", "4kb", "latency", fmt.Sprintf("%dms", wait.Milliseconds()))
}

// Quick undoes Delay and Narrow.
func (h *Host) Quick() error {
	if !h.slow {
		return nil
	}
	h.slow = false
	return run("tc", "-n", h.netns, "qdisc", "del", "dev", "eth0", "root")
}
