package acl

import (
	"fmt"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// Names of the templates.
const (
	TemplateService     = "builtin/service"
	TemplateNode        = "builtin/node"
	TemplateDNS         = "builtin/dns"
	TemplateNomadServer = "builtin/nomad-server"
	TemplateNomadClient = "builtin/nomad-client"
	TemplateAPIGateway  = "builtin/api-gateway"
)

// Template makes rules from variables.
type Template struct {
	ID          string
	Name        string
	Description string
	Schema      string // of the variables, as JSON; empty: it takes none
	Text        string // rules with {{.Name}} where the name goes
}

// nameSchema asks for a name that is not empty. Clients see it, so it is Consul's
// as documented.
const nameSchema = `{
	"type": "object",
	"properties": {
		"name": { "type": "string", "$ref": "#/definitions/min-length-one" }
	},
	"required": ["name"],
	"definitions": {
		"min-length-one": {
				"type": "string",
				"minLength": 1
		}
	}
}`

const nameVariable = "{{.Name}}"

var templates = []Template{
	{
		ID: model.ReservedIDPrefix + "03", Name: TemplateService, Schema: nameSchema,
		Description: "For instances of a service and its sidecar proxy: registers both, finds all services and nodes.",
		Text: blocks(write(Service, nameVariable), write(Service, nameVariable+"-sidecar-proxy"),
			readAll(Service), readAll(Node)),
	},
	{
		ID: model.ReservedIDPrefix + "04", Name: TemplateNode, Schema: nameSchema,
		Description: "For an agent: registers its node, finds all services.",
		Text:        blocks(write(Node, nameVariable), readAll(Service)),
	},
	{
		ID: model.ReservedIDPrefix + "05", Name: TemplateDNS,
		Description: "For answers by DNS: finds all nodes, services and prepared queries.",
		Text:        blocks(readAll(Node), readAll(Service), readAll(Query)),
	},
	{
		ID: model.ReservedIDPrefix + "06", Name: TemplateNomadServer,
		Description: "For Nomad's servers: makes tokens, reads agents and nodes, registers services.",
		Text: "\n" + (&Rule{Resource: ACL, Level: MayWrite}).String() +
			indented("  ", readAll(Agent), readAll(Node), writeAll(Service)),
	},
	{
		ID: model.ReservedIDPrefix + "07", Name: TemplateAPIGateway, Schema: nameSchema,
		Description: "For an API gateway: registers it, reads the mesh, finds all services and nodes.",
		Text: "\n" + (&Rule{Resource: Mesh, Level: MayRead}).String() +
			blocks(readAll(Node), readAll(Service), write(Service, nameVariable)),
	},
	{
		ID: model.ReservedIDPrefix + "08", Name: TemplateNomadClient,
		Description: "For Nomad's clients: reads agents, nodes and keys, registers services.",
		Text:        indented("  ", readAll(Agent), readAll(Node), writeAll(Service), readAll(Key)),
	},
}

func write(r Resource, label string) Rule { return Rule{Resource: r, Label: label, Level: MayWrite} }
func writeAll(r Resource) Rule            { return Rule{Resource: r, Prefix: true, Level: MayWrite} }
func readAll(r Resource) Rule             { return Rule{Resource: r, Prefix: true, Level: MayRead} }

// blocks writes rules as Consul's templates do: the id of what comes out depends on
// every space.
func blocks(rules ...Rule) string { return indented("\t", rules...) }

// indented is blocks for templates that are indented in another way.
func indented(by string, rules ...Rule) string {
	var b strings.Builder
	for _, r := range rules {
		word := r.Resource.String()
		if r.Prefix {
			word += prefixEnding
		}
		fmt.Fprintf(&b, "\n%s \"%s\" {\n%spolicy = \"%s\"\n}", word, r.Label, by, r.Level)
	}
	return b.String()
}

// Templates are all templates, by name.
func Templates() map[string]Template {
	all := make(map[string]Template, len(templates))
	for _, t := range templates {
		all[t.Name] = t
	}
	return all
}

// FindTemplate finds a template by its name.
func FindTemplate(name string) (Template, bool) {
	for _, t := range templates {
		if t.Name == name {
			return t, true
		}
	}
	return Template{}, false
}

// Fill puts variables into the template. A name must be one that a service or node
// may have, so that it can't carry further rules.
func (t Template) Fill(v *model.TemplateVariables) (string, error) {
	if t.Schema == "" {
		return t.Text, nil
	}
	name := ""
	if v != nil {
		name = v.Name
	}
	reason := ""
	switch {
	case name == "":
		reason = "the variable name is missing"
	case !identityName(name):
		reason = fmt.Sprintf("the name %q is not valid: only lowercase alphanumeric characters, '-' and '_' are allowed, "+
			"the first and the last one alphanumeric, at most %d", name, maxIdentityName)
	}
	if reason != "" {
		return "", invalid("TemplateVariables", "validation error for templated policy %q: %s", t.Name, reason)
	}
	return strings.ReplaceAll(t.Text, nameVariable, name), nil
}

// Preview is the policy that comes out of the template.
func (t Template) Preview(v *model.TemplateVariables, datacenters []string) (*model.Policy, error) {
	rules, err := t.Fill(v)
	if err != nil {
		return nil, err
	}
	id := syntheticID(rules)
	p := &model.Policy{
		ID:          id,
		Name:        "synthetic-policy-" + id,
		Description: "synthetic policy generated from templated policy: " + t.Name,
		Rules:       rules,
		Datacenters: datacenters,
	}
	p.Hash = HashPolicy(p)
	return p, nil
}

// syntheticID is the id of a policy that nobody stored. Consul shows the rules
// themselves, followed by the constant that a hash of 128 bits starts from; tools
// compare it.
func syntheticID(rules string) string {
	return fmt.Sprintf("%x", rules) + "6c62272e07bb014262b821756295c58d"
}
