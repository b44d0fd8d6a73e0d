package testbed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/miekg/dns"
)

// Ask is a request to the agent's HTTP API, from its own host.
func (n *Node) Ask(ctx context.Context, method, path string, body []byte) (status int, header http.Header, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1:8500"+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	resp, err := n.client.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, bytes.TrimSpace(answer), err
}

// Within is Ask with a deadline, that accepts only 200 and decodes the answer into v, if
// not nil. A body that is not bytes is sent as JSON.
func (n *Node) Within(limit time.Duration, method, path string, body, v any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	raw, ok := body.([]byte)
	if !ok && body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	status, header, answer, err := n.Ask(ctx, method, path, raw)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return header, fmt.Errorf("%s %s at %s: %d %s", method, path, n.Name, status, answer[:min(len(answer), 300)])
	}
	if v == nil {
		return header, nil
	}
	return header, json.Unmarshal(answer, v)
}

// Get decodes an answer into v.
func (n *Node) Get(path string, v any) error {
	_, err := n.Within(10*time.Second, http.MethodGet, path, nil, v)
	return err
}

// Put sends a body.
func (n *Node) Put(path string, body any) error {
	_, err := n.Within(10*time.Second, http.MethodPut, path, body, nil)
	return err
}

// String is the name of the host, for people and histories.
func (n *Node) String() string { return n.Host.Name }

// Resolve asks the agent's DNS over UDP, from its own host.
func (n *Node) Resolve(name string, kind uint16, limit time.Duration) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var conn net.Conn
	conn, err := n.dial(ctx, "udp", "127.0.0.1:8600")
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	q := new(dns.Msg)
	q.SetQuestion(name, kind)
	client := &dns.Client{Timeout: limit}
	m, _, err := client.ExchangeWithConn(q, &dns.Conn{Conn: conn})
	return m, err
}
