package query

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// Template is a compiled query template. It is safe for concurrent use.
type Template struct {
	query *model.Query
	texts map[string]text // by path
	match *regexp.Regexp  // nil: none
}

// Compile compiles a template and renders it once with the shortest name that it
// answers for, so that mistakes show when it is stored, not when it is needed.
func Compile(q *model.Query) (*Template, error) {
	if q.Template.Type != model.QueryPrefixMatch {
		return nil, fmt.Errorf("Bad Template.Type '%s'", q.Template.Type)
	}
	t := &Template{query: q, texts: map[string]text{}}
	service := cloneService(&q.Service)
	err := eachText(&service, func(path string, s *string) error {
		parsed, err := parse(*s)
		if err != nil {
			return fmt.Errorf("Bad format '%s' in Service%s: %v", *s, path, err)
		}
		t.texts[path] = parsed
		return nil
	})
	if err != nil {
		return nil, err
	}
	if q.Template.Regexp != "" {
		if t.match, err = regexp.Compile(q.Template.Regexp); err != nil {
			return nil, fmt.Errorf("Bad Regexp: %v", err)
		}
	}
	if _, err := t.Render(q.Name); err != nil {
		return nil, err
	}
	return t, nil
}

// Render is the query that the template makes for a name, which must begin with the
// template's in any case of its letters.
func (t *Template) Render(name string) (*model.Query, error) {
	prefix := t.query.Name
	if len(name) < len(prefix) || model.Fold(name[:len(prefix)]) != model.Fold(prefix) {
		return nil, fmt.Errorf("the name %q does not begin with %q", name, prefix)
	}
	s := scope{full: name, prefix: prefix, suffix: name[len(prefix):]}
	if t.match != nil {
		s.groups = t.match.FindStringSubmatch(name)
	}
	q := *t.query
	q.Service = cloneService(&t.query.Service)
	err := eachText(&q.Service, func(path string, v *string) error {
		out, err := t.texts[path].render(&s)
		if err != nil {
			return fmt.Errorf("Bad evaluation for '%s' in Service%s: %v", *v, path, err)
		}
		*v = out
		return nil
	})
	if err != nil {
		return nil, err
	}
	if q.Template.RemoveEmptyTags {
		q.Service.Tags = slices.DeleteFunc(q.Service.Tags, func(tag string) bool { return tag == "" })
	}
	return &q, nil
}

func cloneService(s *model.QueryService) model.QueryService {
	c := *s
	c.IgnoreCheckIDs = slices.Clone(s.IgnoreCheckIDs)
	c.Tags = slices.Clone(s.Tags)
	c.NodeMeta = maps.Clone(s.NodeMeta)
	c.ServiceMeta = maps.Clone(s.ServiceMeta)
	c.Failover.Datacenters = slices.Clone(s.Failover.Datacenters)
	c.Failover.Targets = slices.Clone(s.Failover.Targets)
	return c
}

// eachText calls f for every text of a service that a template may interpolate, with
// its path, and puts back what f makes of it.
func eachText(s *model.QueryService, f func(path string, v *string) error) error {
	paths := []string{".Service", ".SamenessGroup", ".Peer", ".Near"}
	for i, v := range []*string{&s.Service, &s.SamenessGroup, &s.Peer, &s.Near} {
		if err := f(paths[i], v); err != nil {
			return err
		}
	}
	lists := []struct {
		path string
		list []string
	}{{".Failover.Datacenters", s.Failover.Datacenters}, {".IgnoreCheckIDs", s.IgnoreCheckIDs}, {".Tags", s.Tags}}
	for _, l := range lists {
		for i := range l.list {
			if err := f(fmt.Sprintf("%s[%d]", l.path, i), &l.list[i]); err != nil {
				return err
			}
		}
	}
	for i := range s.Failover.Targets {
		t := &s.Failover.Targets[i]
		if err := f(fmt.Sprintf(".Failover.Targets[%d].Datacenter", i), &t.Datacenter); err != nil {
			return err
		}
		if err := f(fmt.Sprintf(".Failover.Targets[%d].Peer", i), &t.Peer); err != nil {
			return err
		}
	}
	if err := eachValue(".NodeMeta", s.NodeMeta, f); err != nil {
		return err
	}
	return eachValue(".ServiceMeta", s.ServiceMeta, f)
}

func eachValue(path string, m map[string]string, f func(path string, v *string) error) error {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		v := m[k]
		if err := f(path+"["+k+"]", &v); err != nil {
			return err
		}
		m[k] = v
	}
	return nil
}

// scope is what interpolations refer to.
type scope struct {
	full, prefix, suffix string
	groups               []string
}

func (s *scope) variable(name string) (string, error) {
	switch name {
	case "name.full":
		return s.full, nil
	case "name.prefix":
		return s.prefix, nil
	case "name.suffix":
		return s.suffix, nil
	case "agent.segment":
		return "", nil // there are no network segments
	}
	return "", fmt.Errorf("unknown variable accessed: %s", name)
}

// group is a group of the regular expression; empty if there is no such group.
func (s *scope) group(n int) string {
	if n < 0 || n >= len(s.groups) {
		return ""
	}
	return s.groups[n]
}

// text is a text with interpolations, in parts that are joined.
type text []part

// part is a literal, or one interpolation.
type part interface {
	render(*scope) (string, error)
}

func (t text) render(s *scope) (string, error) {
	var b strings.Builder
	for _, p := range t {
		out, err := p.render(s)
		if err != nil {
			return "", err
		}
		b.WriteString(out)
	}
	return b.String(), nil
}

type literal string

func (l literal) render(*scope) (string, error) { return string(l), nil }

type variable string

func (v variable) render(s *scope) (string, error) { return s.variable(string(v)) }

type group int

func (g group) render(s *scope) (string, error) { return s.group(int(g)), nil }
