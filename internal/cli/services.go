package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/consul/api"

	"github.com/muster-discovery/muster/internal/config"
)

var servicesRegisterCommand = &command{
	name:  "services register",
	args:  "[FILE...]",
	short: "Register services at an agent",
	long: `
Registers services at the agent: those of the named files, which hold
"service" blocks as configuration files do, or one described by flags.

    muster services register web.hcl
    muster services register -name=web -port=8080 -tag=blue

A service that is registered here lives until it is deregistered, also over a
restart of the agent.`,
	setup: func(f *flags) func([]string) int {
		s := &register{}
		f.StringVar(&s.svc.ID, "id", "", "`Id` of the instance. Default: the name.")
		f.StringVar(&s.svc.Name, "name", "", "`Name` of the service.")
		f.StringVar(&s.svc.Address, "address", "", "`Address` of the instance. Default: the node's.")
		f.IntVar(&s.svc.Port, "port", 0, "`Port` of the instance.")
		f.StringVar(&s.svc.SocketPath, "socket", "", "`Path` of the unix socket of the instance.")
		f.StringVar((*string)(&s.svc.Kind), "kind", "", "`Kind` of service. Default: an ordinary one.")
		f.Var((*list)(&s.svc.Tags), "tag", "`Tag` of the instance. May be repeated.")
		f.Var((*pairs)(&s.svc.Meta), "meta", "Metadata of the instance, as `key=value`. May be repeated.")
		f.Var(&s.tagged, "tagged-address", "Another address, as `name=address:port`. May be repeated.")
		s.conn = f.connect(false)
		return s.run
	},
}

type register struct {
	conn   *connection
	svc    api.AgentServiceRegistration
	tagged pairs
}

func (s *register) run(files []string) int {
	f := s.conn.f
	services, err := s.services(files)
	if err != nil {
		return f.fail("muster services register: %v", err)
	}
	client, err := s.conn.client()
	if err != nil {
		return f.fail("%v", err)
	}
	for _, svc := range services {
		if err := client.Agent().ServiceRegister(svc); err != nil {
			return s.conn.fail(fmt.Sprintf("registering service %q", svc.Name), err)
		}
		fmt.Fprintf(f.stdout, "Registered service: %s\n", shown(svc.Name))
	}
	return 0
}

func (s *register) services(files []string) ([]*api.AgentServiceRegistration, error) {
	if len(files) > 0 {
		if s.svc.Name != "" || s.svc.ID != "" {
			return nil, fmt.Errorf("give either files or flags that describe a service, not both")
		}
		return servicesOf(files)
	}
	for _, text := range append([]string{s.svc.ID, s.svc.Name}, s.svc.Tags...) {
		if !utf8.ValidString(text) { // JSON would make another name of it
			return nil, fmt.Errorf("%q is not valid UTF-8", text)
		}
	}
	if s.svc.Name == "" {
		return nil, fmt.Errorf("name a file, or describe a service by -name and other flags")
	}
	for name, text := range s.tagged {
		addr, err := serviceAddress(text, s.svc.Port)
		if err != nil {
			return nil, fmt.Errorf("-tagged-address %s: %w", name, err)
		}
		if s.svc.TaggedAddresses == nil {
			s.svc.TaggedAddresses = map[string]api.ServiceAddress{}
		}
		s.svc.TaggedAddresses[name] = addr
	}
	return []*api.AgentServiceRegistration{&s.svc}, nil
}

// servicesOf reads the service definitions of files.
func servicesOf(files []string) ([]*api.AgentServiceRegistration, error) {
	defs, err := config.Services(files)
	if err != nil {
		return nil, err
	}
	if len(defs) == 0 {
		return nil, fmt.Errorf("no service is defined in %s", strings.Join(files, ", "))
	}
	out := make([]*api.AgentServiceRegistration, len(defs))
	for i, d := range defs {
		out[i] = &api.AgentServiceRegistration{}
		if err := json.Unmarshal(d.JSON, out[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", d.Place, err)
		}
	}
	return out, nil
}

var servicesDeregisterCommand = &command{
	name:  "services deregister",
	args:  "[FILE...]",
	short: "Deregister services at an agent",
	long: `
Deregisters services at the agent: one by its id, or those that the named
files define.

    muster services deregister -id=web-1
    muster services deregister web.hcl`,
	setup: func(f *flags) func([]string) int {
		id := f.String("id", "", "`Id` of the instance.")
		conn := f.connect(false)
		return func(files []string) int {
			ids, err := idsOf(*id, files)
			if err != nil {
				return f.fail("muster services deregister: %v", err)
			}
			client, err := conn.client()
			if err != nil {
				return f.fail("%v", err)
			}
			for _, id := range ids {
				if err := client.Agent().ServiceDeregister(id); err != nil {
					return conn.fail(fmt.Sprintf("deregistering service %q", id), err)
				}
				fmt.Fprintf(f.stdout, "Deregistered service: %s\n", shown(id))
			}
			return 0
		}
	},
}

func idsOf(id string, files []string) ([]string, error) {
	switch {
	case id != "" && len(files) > 0:
		return nil, fmt.Errorf("give either -id or files, not both")
	case id != "":
		return []string{id}, nil
	case len(files) == 0:
		return nil, fmt.Errorf("give -id, or a file that defines the services")
	}
	services, err := servicesOf(files)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, s := range services {
		if s.ID == "" {
			s.ID = s.Name
		}
		ids = append(ids, s.ID)
	}
	return ids, nil
}
