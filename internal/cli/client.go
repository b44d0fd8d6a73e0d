package cli

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
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
	wrap              func(http.RoundTripper) http.RoundTripper // nil: requests go as they are
	foreign           bool                                      // another registry's: MUSTER_* says nothing of it
	conf              *api.Config                               // what client made of all this
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
	text(&c.tokenFile, "token-file", "`File` with the ACL token. Default MUSTER_HTTP_TOKEN_FILE, then CONSUL_HTTP_TOKEN_FILE.")
	text(&c.caFile, "ca-file", "`File` with the CA certificates for HTTPS. Default MUSTER_CACERT, then CONSUL_CACERT.")
	text(&c.caPath, "ca-path", "`Folder` with CA certificates. Default MUSTER_CAPATH, then CONSUL_CAPATH.")
	text(&c.certFile, "client-cert", "`File` with the client's certificate. Default MUSTER_CLIENT_CERT, then CONSUL_CLIENT_CERT.")
	text(&c.keyFile, "client-key", "`File` with its key. Default MUSTER_CLIENT_KEY, then CONSUL_CLIENT_KEY.")
	text(&c.serverName, "tls-server-name", "`Name` the server's certificate must have. Default MUSTER_TLS_SERVER_NAME, then CONSUL_TLS_SERVER_NAME.")
	for _, name := range []string{"namespace", "partition"} {
		f.Var(onlyDefault{}, name, "")
		f.hidden[name] = true
	}
	if reads {
		text(&c.datacenter, "datacenter", "`Name` of the datacenter to ask. Default: the agent's own.")
		f.BoolVar(&c.stale, "stale", false, "Let any server answer, not only the leader.")
		f.shared["stale"] = true
	}
	return c
}

// onlyDefault is a flag of Consul's enterprise edition, which scripts give with the
// one value that means nothing.
type onlyDefault struct{}

func (onlyDefault) String() string { return "" }

func (onlyDefault) Set(s string) error {
	if s == "" || s == "default" {
		return nil
	}
	return errors.New("an enterprise feature of Consul, which Muster does not have")
}

// client makes a client from flags and environment: a flag wins over MUSTER_*, and
// that over CONSUL_*.
func (c *connection) client() (*api.Client, error) {
	conf := api.DefaultConfig() // reads CONSUL_*
	c.conf = conf
	if !c.foreign {
		if err := musterEnvironment(conf); err != nil {
			return nil, err
		}
	}
	set := func(to *string, flag string) {
		if flag != "" {
			*to = flag
		}
	}
	set(&conf.Address, c.addr)
	set(&conf.TLSConfig.CAFile, c.caFile)
	set(&conf.TLSConfig.CAPath, c.caPath)
	set(&conf.TLSConfig.CertFile, c.certFile)
	set(&conf.TLSConfig.KeyFile, c.keyFile)
	set(&conf.TLSConfig.Address, c.serverName)
	useToken(conf, c.token, c.tokenFile)
	conf.Datacenter = c.datacenter
	conf.Address = strings.TrimRight(conf.Address, "/")
	c.addr = conf.Address // the one in use, for messages
	client, err := api.NewClient(conf)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", c.addr, err)
	}
	conf.HttpClient.Transport = escaping{conf.HttpClient.Transport}
	if c.wrap != nil {
		conf.HttpClient.Transport = c.wrap(conf.HttpClient.Transport)
	}
	return client, nil
}

// musterEnvironment lays MUSTER_* over what CONSUL_* gave.
func musterEnvironment(conf *api.Config) error {
	for _, e := range []struct {
		name string
		to   *string
	}{
		{"MUSTER_HTTP_ADDR", &conf.Address},
		{"MUSTER_CACERT", &conf.TLSConfig.CAFile},
		{"MUSTER_CAPATH", &conf.TLSConfig.CAPath},
		{"MUSTER_CLIENT_CERT", &conf.TLSConfig.CertFile},
		{"MUSTER_CLIENT_KEY", &conf.TLSConfig.KeyFile},
		{"MUSTER_TLS_SERVER_NAME", &conf.TLSConfig.Address},
	} {
		if v := os.Getenv(e.name); v != "" {
			*e.to = v
		}
	}
	useToken(conf, os.Getenv("MUSTER_HTTP_TOKEN"), os.Getenv("MUSTER_HTTP_TOKEN_FILE"))
	if v := os.Getenv("MUSTER_HTTP_AUTH"); v != "" {
		name, password, _ := strings.Cut(v, ":")
		conf.HttpAuth = &api.HttpBasicAuth{Username: name, Password: password}
	}
	if ssl, set, err := boolVariable("MUSTER_HTTP_SSL"); err != nil {
		return err
	} else if set {
		conf.Scheme = map[bool]string{true: "https", false: "http"}[ssl]
	}
	if verify, set, err := boolVariable("MUSTER_HTTP_SSL_VERIFY"); err != nil {
		return err
	} else if set {
		conf.TLSConfig.InsecureSkipVerify = !verify
	}
	return nil
}

// useToken takes a token or the file with it; given together, the file counts, as
// with Consul. Either replaces what a weaker source said.
func useToken(conf *api.Config, token, file string) {
	if token != "" || file != "" {
		conf.Token, conf.TokenFile = token, file
	}
}

func boolVariable(name string) (value, set bool, err error) {
	v := os.Getenv(name)
	if v == "" {
		return false, false, nil
	}
	value, err = strconv.ParseBool(v)
	if err != nil {
		return false, false, fmt.Errorf("%s=%s: want true or false", name, v)
	}
	return value, true, nil
}

func (c *connection) query() *api.QueryOptions { return &api.QueryOptions{AllowStale: c.stale} }

// fail explains an error of a request and returns exit code 1.
func (c *connection) fail(doing string, err error) int {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return c.f.fail("No agent answers at %s: %v.\nStart one with \"muster agent -dev\", or give the address of another by -http-addr or MUSTER_HTTP_ADDR.", c.addr, op.Err)
	}
	var status api.StatusError
	if errors.As(err, &status) {
		return c.f.fail("Error %s: %s (HTTP status %d)%s", doing, strings.TrimSpace(status.Body), status.Code, schemeHint(status.Body))
	}
	var u *url.Error
	if errors.As(err, &u) {
		return c.f.fail("Error %s at %s: %v%s", doing, c.addr, u.Err, schemeHint(u.Err.Error()))
	}
	return c.f.fail("Error %s: %v", doing, err)
}

// schemeHint explains the two ways to knock at the wrong door.
func schemeHint(text string) string {
	switch {
	case strings.Contains(text, "server gave HTTP response to HTTPS client"):
		return ".\nThe agent speaks plain HTTP there: give the address with http://, or its HTTPS port."
	case strings.Contains(text, "HTTP request to an HTTPS server"):
		return ".\nThe agent speaks HTTPS there: give the address with https://."
	}
	return ""
}

// escaping encodes what the API client leaves as it is in ids and names at the end
// of a path: an id may be a URL, and proxies fold dots.
type escaping struct{ next http.RoundTripper }

var endsInID = []string{
	"/v1/agent/service/deregister/", "/v1/agent/service/maintenance/", "/v1/agent/force-leave/", "/v1/agent/join/",
	"/v1/catalog/node/", "/v1/catalog/service/",
}

func (e escaping) RoundTrip(r *http.Request) (*http.Response, error) {
	for _, prefix := range endsInID {
		i := strings.Index(r.URL.Path, prefix)
		if i < 0 {
			continue
		}
		i += len(prefix)
		u := *r.URL
		u.RawPath = u.Path[:i] + escapeID(u.Path[i:])
		r = r.Clone(r.Context())
		r.URL = &u
		break
	}
	return e.next.RoundTrip(r)
}

func escapeID(id string) string {
	if strings.Trim(id, ".") == "" {
		return strings.ReplaceAll(id, ".", "%2E")
	}
	return url.PathEscape(id)
}
