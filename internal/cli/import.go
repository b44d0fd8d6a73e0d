package cli

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/hashicorp/consul/api"

	"github.com/muster-discovery/muster/internal/migrate"
)

// connectFrom declares the flags that say where to import from.
func (f *flags) connectFrom() *connection {
	c := &connection{f: f, foreign: true}
	text := func(p *string, name, usage string) { f.StringVar(p, "from-"+name, "", usage) }
	text(&c.addr, "http-addr", "`Address` of the HTTP interface to import from.")
	text(&c.token, "token", "ACL `token` for it. Default CONSUL_HTTP_TOKEN.")
	text(&c.tokenFile, "token-file", "`File` with that token.")
	text(&c.caFile, "ca-file", "`File` with the CA certificates for HTTPS there.")
	text(&c.caPath, "ca-path", "`Folder` with CA certificates for HTTPS there.")
	text(&c.certFile, "client-cert", "`File` with the client's certificate for it.")
	text(&c.keyFile, "client-key", "`File` with the key of that certificate.")
	text(&c.serverName, "tls-server-name", "`Name` that the certificate there must have.")
	text(&c.datacenter, "datacenter", "`Name` of the datacenter to import. Default: that of the agent.")
	return c
}

// endpoint is the connection as package migrate uses it. It has answered once.
func (c *connection) endpoint() (*migrate.Endpoint, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	if _, err := client.Status().Leader(); err != nil {
		return nil, err
	}
	conf := c.conf
	host := conf.Address
	if strings.HasPrefix(c.addr, "unix://") {
		host = "localhost"
	}
	h := http.Header{}
	if conf.Token != "" {
		h.Set("X-Consul-Token", conf.Token)
	}
	if a := conf.HttpAuth; a != nil {
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(a.Username+":"+a.Password)))
	}
	return &migrate.Endpoint{Client: conf.HttpClient, Base: conf.Scheme + "://" + host + conf.PathPrefix,
		Header: h, Datacenter: conf.Datacenter}, nil
}

// sameRegistry is whether two connections lead to one agent. Who may not ask that is
// believed.
func sameRegistry(a, b *connection) bool {
	return a.addr == b.addr || nodeID(a) != "" && nodeID(a) == nodeID(b)
}

func nodeID(c *connection) string {
	client, err := api.NewClient(c.conf)
	if err != nil {
		return ""
	}
	self, err := client.Agent().Self()
	if err != nil {
		return ""
	}
	id, _ := self["Config"]["NodeID"].(string)
	return id
}

// importing is what both imports have in common.
type importing struct {
	to                *connection
	overwrite, dryRun bool
	workers           int
	stateFile         string
	format            *string
}

func (f *flags) importing() *importing {
	m := &importing{}
	f.BoolVar(&m.overwrite, "overwrite", false, "Replace what is there already and is different. Without it that stays, and is reported.")
	f.BoolVar(&m.dryRun, "dry-run", false, "Write nothing, tell what would be written.")
	f.IntVar(&m.workers, "workers", 4, "How many requests may be under way at once. Default: 4.")
	f.StringVar(&m.stateFile, "state-file", "muster-import.state", "`File` that keeps how far the import came, so that it can go on after an end before its time. Empty: none. Default: muster-import.state in the present folder.")
	m.format = f.format()
	m.to = f.connect(false)
	return m
}

func (m *importing) check() error {
	if m.workers < 1 || m.workers > 64 {
		return errors.New("-workers: want 1 to 64")
	}
	return checkFormat(*m.format)
}

// run imports from a source with the given name, and returns the exit code: 0 if
// everything came along that can, 2 if not.
func (m *importing) run(from migrate.Source, name string) int {
	f := m.to.f
	target, err := m.to.endpoint()
	if err != nil {
		return m.to.fail("reaching the agent to import to", err)
	}
	o := migrate.Options{Overwrite: m.overwrite, DryRun: m.dryRun, Workers: m.workers, StateFile: m.stateFile, From: name, To: m.to.addr}
	var earlier *migrate.State
	if m.stateFile != "" && !m.dryRun {
		if earlier, err = migrate.ReadState(m.stateFile, o.From, o.To); err != nil {
			return f.fail("Error: %v", err)
		}
	}
	if earlier != nil {
		fmt.Fprintf(f.stderr, "Going on where an earlier import ended, as %s says\n", m.stateFile)
	}
	ctx, stop := interruptible()
	defer stop()
	importer := migrate.NewImporter(target, o, earlier)
	bar := startProgress(f.stderr, importer.Progress)
	report, err := importer.Run(ctx, from)
	bar.stop()
	if err != nil && ctx.Err() != nil {
		err = errInterrupted
	}
	return m.tell(&report, err)
}

var errInterrupted = errors.New("interrupted")

func (m *importing) tell(report *migrate.Report, failed error) int {
	f := m.to.f
	if err := m.print(report); err != nil {
		return f.fail("write the report: %v", err)
	}
	if failed != nil {
		again := ""
		if m.stateFile != "" && !m.dryRun {
			again = ". The same command goes on from here"
		}
		return f.fail("Error importing: %v%s.", failed, again)
	}
	if m.stateFile != "" && !m.dryRun {
		if err := os.Remove(m.stateFile); err != nil && !os.IsNotExist(err) {
			fmt.Fprintf(f.stderr, "The state of the finished import could not be removed: %v\n", err)
		}
	}
	if !report.Clean() {
		return 2
	}
	return 0
}

func (m *importing) print(report *migrate.Report) error {
	if *m.format != "json" {
		return report.WriteText(m.to.f.stdout, shown)
	}
	data, err := json.MarshalIndent(report, "", "    ")
	if err == nil {
		_, err = fmt.Fprintf(m.to.f.stdout, "%s\n", data)
	}
	return err
}
