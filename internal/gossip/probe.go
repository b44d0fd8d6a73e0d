package gossip

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/hashicorp/memberlist"
)

// GossipAddr is the address of the member's port in the pool.
func (m *Member) GossipAddr() string { return net.JoinHostPort(m.Addr, strconv.Itoa(int(m.Port))) }

// Knock connects to a LAN pool's port and hangs up. Its error is the network's: a
// refusal says that the host lives and that nothing listens there. It says nothing to
// the agent on the other side, not even a line in its log.
func Knock(ctx context.Context, addr string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("knock at %s: %w", addr, err)
	}
	defer conn.Close()
	// Without the pool's label the other side would take this for a foreign agent.
	// It was reached, whether it takes the label or not.
	_ = memberlist.AddLabelHeaderToStream(conn, labelLAN)
	return nil
}

// Ping asks a member of the LAN pool for a sign of life by UDP, and is true if it
// comes within the probe timeout.
func (p *Pools) Ping(m Member) bool {
	ip := net.ParseIP(m.Addr)
	if ip == nil {
		return false
	}
	_, err := p.lan.serf.Memberlist().Ping(m.Name, &net.UDPAddr{IP: ip, Port: int(m.Port)})
	return err == nil
}
