package e2e

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"
)

// TestScaleClientAgent follows 1,000 services of 10 instances on a client agent, and
// prints what a first and a later lookup take, also while the servers are killed.
func TestScaleClientAgent(t *testing.T) {
	if !*scale {
		t.Skip("figures for people: run with -scale")
	}
	const services, instances = 1000, 10000
	servers := cluster(t)
	servers[0].registerMany(t, instances, services, 0)
	c := clientAgent(t, "c1", servers)
	c.start()
	c.ready()
	idle := c.rss(t)
	conn := c.dialHTTP(t)

	first := conn.askAll(t, services)
	t.Logf("first lookup of a service: %s", first)
	later := conn.askAll(t, services)
	for range 19 {
		later = append(later, conn.askAll(t, services)...)
	}
	t.Logf("later ones: %s; resident %d MiB before, %d MiB with %d services just asked for", later, idle>>20, c.rss(t)>>20, services)
	time.Sleep(65 * time.Second) // until nobody has asked for a while
	t.Logf("resident %d MiB with %d services followed", c.rss(t)>>20, services)

	go func() {
		for _, s := range servers {
			s.cmd.Process.Kill()
		}
	}()
	var without timings
	for range 20 {
		without = append(without, conn.askAll(t, services)...)
	}
	t.Logf("while and after all servers are killed: %s", without)
}

// httpConn is one connection with as little of a client around it as there can be.
type httpConn struct {
	net.Conn
	r *bufio.Reader
}

func (a *agent) dialHTTP(t *testing.T) *httpConn {
	t.Helper()
	conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(a.ports["http"]))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &httpConn{conn, bufio.NewReaderSize(conn, 64<<10)}
}

type timings []time.Duration

func (d timings) String() string {
	slices.Sort(d)
	at := func(share float64) time.Duration { return d[int(share*float64(len(d)-1))].Round(time.Microsecond) }
	return fmt.Sprintf("p50 %s, p99 %s, worst %s of %d", at(0.5), at(0.99), at(1), len(d))
}

// askAll asks for the passing instances of each service once.
func (c *httpConn) askAll(t *testing.T, services int) (took timings) {
	t.Helper()
	for s := range services {
		start := time.Now()
		if _, err := fmt.Fprintf(c, "GET /v1/health/service/svc%d?passing&stale HTTP/1.1\r\nHost: x\r\n\r\n", s); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(c.r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK || resp.ContentLength < 1000 {
			t.Fatalf("svc%d: %s, %d bytes", s, resp.Status, resp.ContentLength)
		}
		if _, err := c.r.Discard(int(resp.ContentLength)); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	return took
}
