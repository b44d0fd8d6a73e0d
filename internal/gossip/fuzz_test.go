package gossip

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/gossip/gossiptest"
)

// FuzzPacket sends bytes of any kind to a living pool, plain and behind its
// label, as packet and as stream. Nothing may panic, nobody may become a member
// without being an agent of the datacenter, and the pool must still take a real
// one in.
func FuzzPacket(f *testing.F) {
	network := gossiptest.New()
	cfg := testConfig(network, 1)
	cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	p, err := Open(cfg)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = p.Close() })
	outsider := network.Host("10.0.0.66", 8301)
	for _, seed := range [][]byte{{}, {0}, {4, 0x84}, {7, 1, 0, 1, 3}, {8}, {9, 1, 2}, {12, 0, 0, 0, 0}, {244, 3, 'a', 'b', 'c'}, {10, 0, 0, 0, 1, 0xff}} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		labeled := append([]byte{244, byte(len(labelLAN))}, labelLAN...)
		labeled = append(labeled, b...)
		for _, packet := range [][]byte{b, labeled} {
			network.Send(outsider, "10.0.0.1:8301", packet)
			sendStream(t, outsider, packet)
		}
		for _, m := range p.Members(false) {
			if m.Datacenter() != "dc1" {
				t.Errorf("%q made a member: %+v", b, m)
			}
		}
	})
}

func sendStream(t *testing.T, from *gossiptest.Transport, b []byte) {
	conn, err := from.DialTimeout("10.0.0.1:8301", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := conn.Write(b); err == nil {
		_ = conn.Close()
	}
}
