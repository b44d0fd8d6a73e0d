package check

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/muster-discovery/muster/internal/model"
)

// serverTLS is a server's side with a certificate that nobody knows. hello, if
// any, sees each handshake.
func serverTLS(t *testing.T, hello func(*tls.ClientHelloInfo)) *tls.Config {
	t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	srv.StartTLS()
	defer srv.Close()
	return &tls.Config{
		Certificates: srv.TLS.Certificates,
		NextProtos:   []string{"h2", "http/1.1"},
		GetConfigForClient: func(i *tls.ClientHelloInfo) (*tls.Config, error) {
			if hello != nil {
				hello(i)
			}
			return nil, nil
		},
	}
}

// Every kind that can use TLS sends the definition's server name, by default the
// name of the target.
func TestTLSServerName(t *testing.T) {
	names := make(chan string, 1)
	ln, err := tls.Listen("tcp", "127.0.0.1:0", serverTLS(t, func(i *tls.ClientHelloInfo) { names <- i.ServerName }))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			// The handshake is refused by the client; nothing more is served.
			_ = conn.(*tls.Conn).Handshake()
			conn.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	addr := net.JoinHostPort("localhost", port)
	for kind, def := range map[string]model.CheckDefinition{
		"http":   {HTTP: "https://" + addr},
		"tcp":    {TCP: addr, TCPUseTLS: true},
		"grpc":   {GRPC: addr, GRPCUseTLS: true},
		"h2ping": {H2PING: addr, H2PingUseTLS: true},
	} {
		for _, tt := range []struct{ set, want string }{{"", "localhost"}, {"web.test", "web.test"}} {
			def.TLSServerName = tt.set
			if got := probe(t, &def); got.Status != model.StatusCritical {
				t.Errorf("%s: a certificate of nobody gives %+v", kind, got)
			}
			if got := <-names; got != tt.want {
				t.Errorf("%s with server name %q sends %q, want %q", kind, tt.set, got, tt.want)
			}
		}
	}
}

// quiet is a server that doesn't log what its peers do wrong.
func quiet() *http.Server { return &http.Server{ErrorLog: log.New(io.Discard, "", 0)} }
