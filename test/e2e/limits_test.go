package e2e

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestRequestLimits: what is over the rates is refused with the limit's name, or only
// counted, as the mode says; a reload changes that.
func TestRequestLimits(t *testing.T) {
	a := newAgent(t, "n1", map[string]any{"limits": map[string]any{
		"request_limits": map[string]any{"mode": "enforcing", "read_rate": 2, "write_rate": 1},
	}}, "-dev")
	a.start()
	a.ready()
	refused := func(method, path string, n int) (last *http.Response, text string) {
		t.Helper()
		for range n {
			req, err := http.NewRequest(method, a.url(path), strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode == http.StatusTooManyRequests {
				return resp, string(body)
			}
		}
		return nil, ""
	}
	for method, key := range map[string]string{"GET": "limits.request_limits.read_rate", "PUT": "limits.request_limits.write_rate"} {
		resp, text := refused(method, "/v1/kv/k", 10)
		if resp == nil || resp.Header.Get("Retry-After") != "1" || !strings.Contains(text, key) {
			t.Errorf("%s: %v, %q", method, resp, text)
		}
	}
	if resp, text := refused("GET", "/v1/agent/self", 20); resp != nil {
		t.Errorf("the agent itself: %s", text)
	}
	if n := a.gauge(t, `muster_limit_refused_total{limit="read_rate"}`); n < 1 {
		t.Errorf("%v refusals counted", n)
	}
	a.reconfigure(t, map[string]any{"limits": map[string]any{
		"request_limits": map[string]any{"mode": "permissive", "read_rate": 2, "write_rate": 1},
	}})
	a.cmd.Process.Signal(syscall.SIGHUP)
	eventually(t, "the mode is permissive", func() error {
		if resp, text := refused("GET", "/v1/kv/k", 20); resp != nil {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
	if n := a.gauge(t, `muster_limit_exceeded_total{limit="read_rate"}`); n < 1 {
		t.Errorf("%v let in over the limit", n)
	}
}

// reconfigure changes keys of the agent's file.
func (a *agent) reconfigure(t *testing.T, keys map[string]any) {
	t.Helper()
	path := filepath.Join(a.dir, "agent.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file := map[string]any{}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for k, v := range keys {
		file[k] = v
	}
	if data, err = json.Marshal(file); err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestConnectionLimits: one client has so many connections to each port, and hears why
// it has no more.
func TestConnectionLimits(t *testing.T) {
	a := newAgent(t, "n1", map[string]any{"limits": map[string]any{
		"http_max_conns_per_client": 5, "rpc_max_conns_per_client": 3,
	}}, "-dev")
	a.start()
	a.ready()
	client.CloseIdleConnections()
	for port, c := range map[string]struct{ hello, key string }{
		"http":   {"", "limits.http_max_conns_per_client is 5"},
		"grpc":   {"", "limits.http_max_conns_per_client is 5"},
		"server": {"MSTg", "limits.rpc_max_conns_per_client is 3"},
	} {
		var said []byte
		for range 10 {
			conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(a.ports[port]))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, c.hello)
			_ = conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
			b, _ := io.ReadAll(conn)
			said = append(said, b...)
		}
		if !bytes.Contains(said, []byte(c.key)) || !bytes.Contains(said, []byte("close some")) {
			t.Errorf("%s: %q does not say %q", port, said, c.key)
		}
	}
}

// TestHostileInput sends garbage to all ports: the agent serves on, with the memory that
// it had.
func TestHostileInput(t *testing.T) {
	a := dev(t)
	a.start()
	a.ready()
	if err := a.putRaw("/v1/kv/k", []byte("v")); err != nil {
		t.Fatal(err)
	}
	before := a.rss(t)
	huge := strings.Repeat("h", 1<<20)
	payloads := map[string][]string{
		"http": {
			"", "\x00", "GET", "GET / HTTP/9.9\r\n\r\n", "GET /v1/kv/" + huge + " HTTP/1.1\r\n\r\n",
			"GET /v1/kv/k HTTP/1.1\r\nHost: x\r\nX-A: " + huge + "\r\n\r\n",
			"PUT /v1/kv/k HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n" + huge,
			"PUT /v1/kv/k HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n" + huge,
			"PUT /v1/catalog/register HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n" + strings.Repeat("[", 200000),
			"GET /v1/health/service/web?filter=" + strings.Repeat("(", 5000) + " HTTP/1.1\r\nHost: x\r\n\r\n",
		},
		"grpc": {
			"", "\x00\x01\x02", "GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + huge,
			"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00\xff\xff\xff\x01\x25\x00\x00\x00\x01" + huge,
		},
		"server": {
			"", "\x00", "GET / HTTP/1.1\r\n\r\n", "MSTg" + huge, "MSTr" + huge, "MSTr\x00\x85" + huge, "MSTr\x03" + huge, "MSTh" + huge, "MSTw" + huge,
			"MSTgPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00\xff\xff\xff\x00\x00\x00\x00\x00\x01" + huge,
			"MSTr\x00\xdd\xff\xff\xff\xff\xa5" + huge, "MSTr\x00\xc6\xff\xff\xff\xff",
		},
		"dns":      {"", "\xff\xff" + huge[:65535], "\x00\x0c" + huge[:12], strings.Repeat("\x00\x00", 1000)},
		"serf_lan": {"", "\x00", huge, "\x06" + huge, "\x08\xff\xff\xff\xff" + huge},
		"serf_wan": {"", "\x01\xdf\xff\xff\xff\xff" + huge},
	}
	var all sync.WaitGroup
	for port, texts := range payloads {
		for range 4 {
			all.Go(func() {
				for _, text := range texts {
					a.throw(port, []byte(text))
				}
				junk := make([]byte, 64<<10)
				for range 5 {
					rand.Read(junk)
					a.throw(port, junk)
				}
			})
		}
	}
	all.Wait()
	var entries []any
	if err := a.get("/v1/kv/k", &entries); err != nil || len(entries) != 1 {
		t.Errorf("afterwards: %v, %v", entries, err)
	}
	after := a.rss(t)
	t.Logf("resident %d MiB before, %d MiB afterwards", before>>20, after>>20)
	if after > before+200<<20 {
		t.Errorf("it took %d MiB", (after-before)>>20)
	}
	if out := a.output.String(); strings.Contains(out, "panic") {
		t.Error("something panicked")
	}
}

// throw sends bytes to a port and waits a moment for what becomes of them.
func (a *agent) throw(port string, b []byte) {
	conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(a.ports[port]))
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(150 * time.Millisecond))
	_, _ = conn.Write(b)
	_, _ = io.Copy(io.Discard, bufio.NewReader(conn))
}
