package check

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// h2Server answers HTTP/2, with or without TLS, until the test ends.
func h2Server(t *testing.T, config *tls.Config) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := quiet()
	srv.TLSConfig = config
	srv.Protocols = &http.Protocols{}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetHTTP2(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if config != nil {
			_ = srv.ServeTLS(ln, "", "")
		} else {
			_ = srv.Serve(ln)
		}
	}()
	t.Cleanup(func() { srv.Close(); <-done })
	return ln.Addr().String()
}

func TestH2Ping(t *testing.T) {
	plainAddr, secureAddr := h2Server(t, nil), h2Server(t, serverTLS(t, nil))
	old := httptest.NewUnstartedServer(nil)
	old.Config.ErrorLog = quiet().ErrorLog
	old.StartTLS() // speaks HTTP/1.1 only unless told otherwise
	defer old.Close()
	oldAddr := old.Listener.Addr().String()
	for _, tt := range []struct {
		name           string
		def            model.CheckDefinition
		status, output string
	}{
		{"plain", model.CheckDefinition{H2PING: plainAddr}, model.StatusPassing, "HTTP2 ping was successful"},
		{"TLS, not verified", model.CheckDefinition{H2PING: secureAddr, H2PingUseTLS: true, TLSSkipVerify: true}, model.StatusPassing, "HTTP2 ping was successful"},
		{"unknown certificate", model.CheckDefinition{H2PING: secureAddr, H2PingUseTLS: true}, model.StatusCritical, "certificate"},
		{"only HTTP/1.1", model.CheckDefinition{H2PING: oldAddr, H2PingUseTLS: true, TLSSkipVerify: true}, model.StatusCritical, "Failed to dial to " + oldAddr},
		{"TLS to a plain port", model.CheckDefinition{H2PING: plainAddr, H2PingUseTLS: true}, model.StatusCritical, "TLS handshake"},
		{"closed port", model.CheckDefinition{H2PING: closedPort(t)}, model.StatusCritical, "refused"},
	} {
		if got := probe(t, &tt.def); got.Status != tt.status || !strings.Contains(got.Output, tt.output) {
			t.Errorf("%s: %+v, want %s with %q", tt.name, got, tt.status, tt.output)
		}
	}
}

// Targets that say nothing, or something else than HTTP/2, leave neither the
// check waiting nor a goroutine behind.
func TestH2PingOfSomethingElse(t *testing.T) {
	for _, tt := range []struct {
		name, says string
		want       time.Duration
		output     string
	}{
		{"silent", "", 3 * time.Second, "HTTP2 ping failed: "},
		{"HTTP/1.1", "HTTP/1.1 400 Bad Request\r\n\r\n", 0, "HTTP2 ping failed: "},
		{"unasked answer", "\x00\x00\x08\x06\x01\x00\x00\x00\x0012345678", 0, "EOF"},
		{"goodbye", "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x0b", 0, "ENHANCE_YOUR_CALM"},
		{"huge frame", "\xff\xff\xff\x04\x00\x00\x00\x00\x00", 0, "frame too large"},
	} {
		synctest.Test(t, func(t *testing.T) {
			dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
				if tt.says == "" {
					return silent(ctx, network, addr)
				}
				a, b := net.Pipe()
				go func() { _, _ = io.Copy(io.Discard, b) }()
				go func() {
					defer b.Close()
					_, _ = io.WriteString(b, tt.says)
				}()
				return a, nil
			}
			p, err := New(&model.CheckDefinition{H2PING: "x:1"}, &Env{Dial: dial})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			defer cancel()
			began := time.Now()
			got := p.Run(ctx)
			if took := time.Since(began); got.Status != model.StatusCritical || took != tt.want || !strings.Contains(got.Output, tt.output) {
				t.Errorf("%s: %+v after %v, want critical with %q after %v", tt.name, got, took, tt.output, tt.want)
			}
		})
	}
}

// FuzzH2Ping feeds a ping whatever a target may say: it must end, and be happy
// with nothing but its own mark.
func FuzzH2Ping(f *testing.F) {
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	f.Add([]byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x08\x06\x01\x00\x00\x00\x00\x0012345678"))
	f.Fuzz(func(t *testing.T, says []byte) {
		if err := ping(&deaf{Reader: bytes.NewReader(says)}); err == nil {
			t.Errorf("%q passes", says)
		}
	})
}

// deaf is a connection to a peer that says what it has to say and hears nothing.
type deaf struct {
	net.Conn
	io.Reader
}

func (d *deaf) Read(p []byte) (int, error)  { return d.Reader.Read(p) }
func (d *deaf) Write(p []byte) (int, error) { return len(p), nil }
