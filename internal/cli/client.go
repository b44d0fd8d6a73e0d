package cli

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/hashicorp/consul/api"
)

// connection has the flags that say which agent to ask, and how.
type connection struct {
	f                 *flags
	addr, token       string
	tokenFile         string
	caFile, caPath    string
	certFile, keyFile string
	serverName        string
	datacenter        string
	stale             bool
}

// connect declares the flags. The datacenter and staleness are only for commands
// that read the catalog.
func (f *flags) connect(reads bool) *connection {
	c := &connection{f: f}
	text := func(p *string, name, usage string) {
		f.StringVar(p, name, "", usage)
		f.shared[name] = true
	}
	text(&c.addr, "http-addr", "`Address` of the agent's HTTP interface: host:port, http://, https:// or unix:///path. Default MUSTER_HTTP_ADDR, then CONSUL_HTTP_ADDR, then 127.0.0.1:8500.")
	text(&c.token, "token", "ACL `token`. Default MUSTER_HTTP_TOKEN, then CONSUL_HTTP_TOKEN.")
	text(&c.tokenFile, "token-file", "`File` with the ACL token.")
	text(&c.caFile, "ca-file", "`File` with the CA certificates for HTTPS. Default CONSUL_CACERT.")
	text(&c.caPath, "ca-path", "`Folder` with CA certificates. Default CONSUL_CAPATH.")
	text(&c.certFile, "client-cert", "`File` with the client's certificate. Default CONSUL_CLIENT_CERT.")
	text(&c.keyFile, "client-key", "`File` with its key. Default CONSUL_CLIENT_KEY.")
	text(&c.serverName, "tls-server-name", "`Name` the server's certificate must have. Default CONSUL_TLS_SERVER_NAME.")
	if reads {
		text(&c.datacenter, "datacenter", "`Name` of the datacenter to ask. Default: the agent's own.")
		f.BoolVar(&c.stale, "stale", false, "Let any server answer, not only the leader.")
		f.shared["stale"] = true
	}
	return c
}

// client makes a client from flags and environment.
func (c *connection) client() (*api.Client, error) {
	conf := api.DefaultConfig() // reads CONSUL_*
	set := func(to *string, flag, env string) {
		if flag == "" && env != "" {
			flag = os.Getenv(env)
		}
		if flag != "" {
			*to = flag
		}
	}
	set(&conf.Address, c.addr, "MUSTER_HTTP_ADDR")
	set(&conf.Token, c.token, "MUSTER_HTTP_TOKEN")
	set(&conf.TokenFile, c.tokenFile, "")
	set(&conf.TLSConfig.CAFile, c.caFile, "")
	set(&conf.TLSConfig.CAPath, c.caPath, "")
	set(&conf.TLSConfig.CertFile, c.certFile, "")
	set(&conf.TLSConfig.KeyFile, c.keyFile, "")
	set(&conf.TLSConfig.Address, c.serverName, "")
	conf.Datacenter = c.datacenter
	conf.Address = strings.TrimSuffix(conf.Address, "/")
	c.addr = conf.Address // the one in use, for messages
	client, err := api.NewClient(conf)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", c.addr, err)
	}
	conf.HttpClient.Transport = escaping{conf.HttpClient.Transport}
	return client, nil
}

func (c *connection) query() *api.QueryOptions { return &api.QueryOptions{AllowStale: c.stale} }

// fail explains an error of a request and returns exit code 1.
func (c *connection) fail(doing string, err error) int {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return c.f.fail("No agent answers at %s: %v.\nStart one with \"muster agent -dev\", or give the address of another by -http-addr or CONSUL_HTTP_ADDR.", c.addr, op.Err)
	}
	var status api.StatusError
	if errors.As(err, &status) {
		return c.f.fail("Error %s: %s (HTTP status %d)", doing, strings.TrimSpace(status.Body), status.Code)
	}
	var u *url.Error
	if errors.As(err, &u) {
		return c.f.fail("Error %s at %s: %v", doing, c.addr, u.Err)
	}
	return c.f.fail("Error %s: %v", doing, err)
}

// escaping encodes slashes in ids, which the API client leaves as they are: an id
// may be a URL.
type escaping struct{ next http.RoundTripper }

const deregisterPath = "/v1/agent/service/deregister/"

func (e escaping) RoundTrip(r *http.Request) (*http.Response, error) {
	if i := strings.Index(r.URL.Path, deregisterPath); i >= 0 {
		i += len(deregisterPath)
		u := *r.URL
		u.RawPath = u.Path[:i] + url.PathEscape(u.Path[i:])
		r = r.Clone(r.Context())
		r.URL = &u
	}
	return e.next.RoundTrip(r)
}
