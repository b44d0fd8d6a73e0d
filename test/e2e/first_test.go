package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"syscall"
	"testing"

	"github.com/miekg/dns"
)

type healthEntry struct {
	Node    struct{ Node, Address string }
	Service struct {
		ID, Address string
		Port        int
	}
	Checks []struct{ CheckID, Status, Output string }
}

// passing returns the passing instances of a service.
func (a *agent) passing(service string) ([]healthEntry, error) {
	var list []healthEntry
	err := a.get("/v1/health/service/"+service+"?passing", &list)
	return list, err
}

// ask sends one DNS question over UDP.
func (a *agent) ask(name string, qtype uint16) (*dns.Msg, error) {
	m := new(dns.Msg)
	m.SetQuestion(name, qtype)
	c := &dns.Client{Timeout: deadline}
	r, _, err := c.ExchangeContext(context.Background(), m, "127.0.0.1:"+strconv.Itoa(a.ports["dns"]))
	return r, err
}

// TestFirstFiveMinutes is the way of a newcomer: a service is registered, found
// by HTTP and DNS, and lost again when it dies.
func TestFirstFiveMinutes(t *testing.T) {
	for name, make := range map[string]func(*testing.T) *agent{"dev": dev, "durable": durable} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := make(t)
			a.start()
			a.ready()
			app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
			defer app.Close()
			host, portText, _ := net.SplitHostPort(app.Listener.Addr().String())
			port, _ := strconv.Atoi(portText)
			if err := a.put("/v1/agent/service/register", map[string]any{
				"ID": "orders-1", "Name": "orders", "Address": host, "Port": port,
				"Check": map[string]any{"HTTP": app.URL, "Interval": "50ms", "Timeout": "1s"},
			}); err != nil {
				t.Fatal(err)
			}
			eventually(t, "orders is passing", func() error {
				list, err := a.passing("orders")
				if err == nil && len(list) != 1 {
					err = fmt.Errorf("%d instances", len(list))
				}
				return err
			})
			r, err := a.ask("orders.service.consul.", dns.TypeSRV)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Answer) != 1 || int(r.Answer[0].(*dns.SRV).Port) != port {
				t.Errorf("SRV answer %v, want port %d", r.Answer, port)
			}

			app.Close()
			eventually(t, "orders is lost", func() error {
				list, err := a.passing("orders")
				if err == nil && len(list) != 0 {
					err = fmt.Errorf("%d instances", len(list))
				}
				return err
			})
			if r, err = a.ask("orders.service.consul.", dns.TypeA); err != nil {
				t.Fatal(err)
			}
			if r.Rcode != dns.RcodeNameError {
				t.Errorf("DNS says %s for a service without live instances", dns.RcodeToString[r.Rcode])
			}
			a.stop(syscall.SIGINT)
		})
	}
}
