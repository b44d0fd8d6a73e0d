package httpapi

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// BenchmarkPassing is the hot path without a network.
func BenchmarkPassing(b *testing.B) {
	k := newKit(b)
	fillMany(k, 10)
	r := httptest.NewRequest("GET", "http://agent/v1/health/service/web?passing", nil)
	w := &discard{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		k.ServeHTTP(w, r)
	}
}

type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

func fillMany(k *kit, n int) {
	items := make([]any, n)
	for i := range items {
		items[i] = web("node-"+strconv.Itoa(i), 8000+i, model.StatusPassing)
	}
	k.set(topicWeb, 9, items...)
}

// BenchmarkAgainstStatic compares requests over loopback with a handler that sends
// the same body and does nothing else. The goal is a rate of at least 0.9.
func BenchmarkAgainstStatic(b *testing.B) {
	k := newKit(b)
	fillMany(k, 10)
	body := k.do("GET", "/v1/health/service/web?passing", "").Body.Bytes()
	length, kind := []string{strconv.Itoa(len(body))}, []string{"application/json"}
	static := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h["Content-Type"], h["Content-Length"] = kind, length
		_, _ = w.Write(body)
	})
	plain := &http.Server{Handler: static}
	ours := NewServer(k, withLogger(DefaultServerConfig()))
	a, z := startServer(b, plain), startServer(b, ours)
	var took, cpu [2]time.Duration
	const batch = 500
	for b.Loop() {
		// In turns, so that other load on the machine hits both.
		for i, c := range []*rawClient{a, z} {
			start := cpuTime(b)
			took[i] += c.time(b, batch)
			cpu[i] += cpuTime(b) - start
		}
	}
	b.ReportMetric(float64(took[0])/float64(took[1]), "rate-to-static")
	// Of both ends: the clients do the same.
	b.ReportMetric(float64(cpu[1])/float64(cpu[0]), "cpu-to-static")
	b.ReportMetric(float64(took[1].Nanoseconds())/float64(b.N*batch), "ns/request")
}

func withLogger(c ServerConfig) ServerConfig {
	c.Logger = slog.New(slog.DiscardHandler)
	return c
}

func cpuTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

type rawClient struct {
	conn net.Conn
	r    *bufio.Reader
}

func startServer(b *testing.B, s *http.Server) *rawClient {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l) // ends with Close
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = conn.Close()
		_ = s.Close()
		<-done
	})
	return &rawClient{conn, bufio.NewReaderSize(conn, 64<<10)}
}

// time sends n requests one after the other.
func (c *rawClient) time(b *testing.B, n int) time.Duration {
	request := []byte("GET /v1/health/service/web?passing HTTP/1.1\r\nHost: a\r\n\r\n")
	start := time.Now()
	for range n {
		if _, err := c.conn.Write(request); err != nil {
			b.Fatal(err)
		}
		length := 0
		for {
			line, err := c.r.ReadSlice('\n')
			if err != nil {
				b.Fatal(err)
			}
			if len(line) <= 2 {
				break
			}
			const name = "Content-Length: "
			if len(line) > len(name) && string(line[:len(name)]) == name {
				length, _ = strconv.Atoi(string(line[len(name) : len(line)-2]))
			}
		}
		if _, err := io.CopyN(io.Discard, c.r, int64(length)); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}
