package acl

import (
	"fmt"
	"slices"

	"github.com/muster-discovery/muster/internal/model"
)

// Expand makes rules of the identities and templates of a token and its roles, as
// far as they count in datacenter dc. The rules name what they come from, so that
// Why can. What is the same twice comes once.
func Expand(dc string, token *model.Token, roles ...*model.Role) ([]*Rules, error) {
	e := expander{dc: dc, known: map[string]bool{}}
	e.identities("", token.ServiceIdentities, token.NodeIdentities, token.TemplatedPolicies)
	for _, r := range roles {
		e.identities(fmt.Sprintf(" of role %s", r.Name), r.ServiceIdentities, r.NodeIdentities, r.TemplatedPolicies)
	}
	return e.all, e.err
}

// AppliesIn tells whether what is limited to datacenters counts in one.
func AppliesIn(datacenters []string, dc string) bool {
	return len(datacenters) == 0 || slices.Contains(datacenters, dc)
}

type expander struct {
	dc    string
	known map[string]bool // by text
	all   []*Rules
	err   error // the first
}

func (e *expander) identities(of string, services []model.ServiceIdentity, nodes []model.NodeIdentity, policies []model.TemplatedPolicy) {
	for _, s := range services {
		e.template("service identity "+s.ServiceName+of, TemplateService, s.ServiceName, s.Datacenters)
	}
	for _, n := range nodes {
		e.template("node identity "+n.NodeName+of, TemplateNode, n.NodeName, []string{n.Datacenter})
	}
	for _, p := range policies {
		name, from := "", p.TemplateName
		if p.Variables != nil && p.Variables.Name != "" {
			name, from = p.Variables.Name, from+" "+p.Variables.Name
		}
		e.template("templated policy "+from+of, p.TemplateName, name, p.Datacenters)
	}
}

func (e *expander) template(from, name, variable string, datacenters []string) {
	if e.err != nil || !AppliesIn(datacenters, e.dc) {
		return
	}
	t, ok := FindTemplate(name)
	if !ok {
		e.err = noTemplate(name)
		return
	}
	text, err := t.Fill(&model.TemplateVariables{Name: variable})
	if err != nil {
		e.err = fmt.Errorf("%s: %w", from, err)
		return
	}
	if e.known[text] {
		return
	}
	e.known[text] = true
	rules, err := Parse(from, text)
	if err != nil {
		e.err = err
		return
	}
	e.all = append(e.all, rules)
}

// UniqueServices joins identities of one service. As in Consul, if one of them is
// limited to datacenters, so is what comes out.
func UniqueServices(all []model.ServiceIdentity) []model.ServiceIdentity {
	var out []model.ServiceIdentity
	place := map[string]int{}
	for _, s := range all {
		i, ok := place[s.ServiceName]
		if !ok {
			place[s.ServiceName] = len(out)
			out = append(out, model.ServiceIdentity{ServiceName: s.ServiceName, Datacenters: slices.Clone(s.Datacenters)})
			continue
		}
		for _, dc := range s.Datacenters {
			if !slices.Contains(out[i].Datacenters, dc) {
				out[i].Datacenters = append(out[i].Datacenters, dc)
			}
		}
	}
	return out
}
