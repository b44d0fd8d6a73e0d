package config

import (
	"fmt"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// draft is a Config under way: besides it, the keys that only together with others
// make a field of it.
type draft struct {
	Config

	TLSDefaults TLSProtocol `key:"tls.defaults"`
	// The names of the time before the tls block. They stand for tls.defaults,
	// and unlike it they switch HTTPS on at ports.https.
	OldTLS              TLSProtocol `key:""`
	VerifyIncomingHTTPS bool        `key:"verify_incoming_https"` // HTTPS callers need a certificate
	VerifyIncomingRPC   bool        `key:"verify_incoming_rpc"`   // servers and agents need a certificate

	DisableRemoteExec bool `key:"disable_remote_exec"` // allows remote execution if it is false

	services []definition
	checks   []definition
	watches  []Place // of Config.Watches
}

// definition is a service or check from a file, in the shape of the HTTP API.
type definition struct {
	at   Place
	key  string
	json []byte
}

// decodeDefinitions hands the definitions to those who own their meaning.
func (d *draft) decodeDefinitions(o *Options, p *problems) {
	for _, def := range d.services {
		if o.DecodeService == nil {
			continue
		}
		svc, err := o.DecodeService(def.json)
		if err != nil {
			p.errorf(def.at, def.key, "%v", err)
			continue
		}
		d.Services = append(d.Services, svc)
	}
	for _, def := range d.checks {
		if o.DecodeCheck == nil {
			continue
		}
		chk, err := o.DecodeCheck(def.json)
		if err != nil {
			p.errorf(def.at, def.key, "%v", err)
			continue
		}
		d.NodeChecks = append(d.NodeChecks, chk)
	}
	if len(d.Services) == len(d.services) { // else places would not match; there are mistakes to mend first
		d.Services = lastOfEach(p, "service", d.services, d.Services, serviceID)
	}
	if len(d.NodeChecks) == len(d.checks) {
		d.NodeChecks = lastOfEach(p, "check", d.checks, d.NodeChecks, checkID)
	}
}

// checkWatches has each watch checked by those who own their meaning.
func (d *draft) checkWatches(o *Options, p *problems) {
	if o.CheckWatch == nil {
		return
	}
	for i, w := range d.Watches {
		if err := o.CheckWatch(w); err != nil {
			for text := range strings.Lines(err.Error()) { // it may tell several mistakes
				p.errorf(d.watches[i], fmt.Sprintf("watches[%d]", i), "%s", strings.TrimSpace(text))
			}
		}
	}
}

// lastOfEach keeps one definition of each id, of which the agent can only have one.
// A later file overrides an earlier one; twice in one file is a mistake.
func lastOfEach[T any](p *problems, kind string, defs []definition, list []T, id func(T) string) []T {
	last := map[string]int{}
	for i, e := range list {
		before, twice := last[id(e)]
		last[id(e)] = i
		switch {
		case !twice:
		case defs[before].at.File == defs[i].at.File:
			p.errorf(defs[i].at, defs[i].key, "%s id %q is defined at %s, too", kind, id(e), defs[before].at)
		default:
			p.warnf(defs[i].at, defs[i].key, "%s id %q is defined at %s, too; this one counts", kind, id(e), defs[before].at)
		}
	}
	var out []T
	for i, e := range list {
		if last[id(e)] == i {
			out = append(out, e)
		}
	}
	return out
}

func serviceID(s *model.ServiceDefinition) string {
	if s.Service.ID != "" {
		return s.Service.ID
	}
	return s.Service.Name
}

func checkID(c *model.CheckDefinition) string {
	if c.ID != "" {
		return c.ID
	}
	return c.Name
}
