package gossip

import (
	"fmt"
	"io"
	"net"
	"time"

	"github.com/hashicorp/memberlist"
)

// mergeTimeout bounds the wait for a peer that has sent all its members to have
// taken in ours.
const mergeTimeout = time.Second

// transport stands between memberlist and the network.
type transport struct {
	memberlist.NodeAwareTransport // nil until the ports are open
	mc                            *memberlist.Config
}

// FinalAdvertiseAddr implements memberlist.Transport. memberlist asks for it before
// anything else, when all that could still be wrong with the configuration was found.
func (t *transport) FinalAdvertiseAddr(ip string, port int) (net.IP, int, error) {
	if t.NodeAwareTransport == nil {
		nt, err := listen(t.mc)
		if err != nil {
			return nil, 0, err
		}
		t.NodeAwareTransport = nt
	}
	if port == 0 {
		port = t.mc.AdvertisePort
	}
	return t.NodeAwareTransport.FinalAdvertiseAddr(ip, port)
}

// DialAddressTimeout implements memberlist.NodeAwareTransport.
func (t *transport) DialAddressTimeout(a memberlist.Address, timeout time.Duration) (net.Conn, error) {
	c, err := t.NodeAwareTransport.DialAddressTimeout(a, timeout)
	if err != nil {
		return nil, err
	}
	return &patientConn{Conn: c}, nil
}

// patientConn lets the peer hang up first. In an exchange of members the peer speaks
// last and only then takes in what it was told; without the wait, Join would return
// before the peer knows this agent.
type patientConn struct {
	net.Conn
	answered bool // the latest read brought something; one goroutine has the connection
}

func (c *patientConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.answered = n > 0 && err == nil
	return n, err
}

func (c *patientConn) Close() error {
	if c.answered {
		// However this ends, the connection is of no further use.
		_ = c.SetReadDeadline(time.Now().Add(mergeTimeout))
		_, _ = io.Copy(io.Discard, c.Conn)
	}
	return c.Conn.Close()
}

// listen opens the pool's ports, on any free one if mc says 0.
func listen(mc *memberlist.Config) (*memberlist.NetTransport, error) {
	attempts := 1
	if mc.BindPort == 0 {
		attempts = 10 // the system's free TCP port may be taken for UDP
	}
	for {
		t, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{BindAddrs: []string{mc.BindAddr}, BindPort: mc.BindPort, Logger: mc.Logger})
		if attempts--; err != nil && attempts > 0 {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listen: %w", err)
		}
		if mc.BindPort == 0 {
			mc.BindPort = t.GetAutoBindPort()
			mc.AdvertisePort = mc.BindPort
		}
		return t, nil
	}
}
