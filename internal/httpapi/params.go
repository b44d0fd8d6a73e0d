package httpapi

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
)

// params are the parameters that many endpoints share, as they came; a name with
// or without a value counts as present. Others are found with get.
type params struct {
	query string // the raw query

	index, wait, maxStale           string
	stale, consistent, cached       bool
	pretty                          bool
	passing                         string
	hasPassing                      bool
	dc, token, near, filter, ns, ap string
	tags                            []string
	nodeMeta                        map[string]string
}

// parse scans the query without building a map: most requests have one or two
// parameters.
func (p *params) parse(query string) error {
	p.query = query
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if pair == "" {
			continue
		}
		name, value, err := unescapePair(pair)
		if err != nil {
			return err
		}
		p.set(name, value)
	}
	return nil
}

func unescapePair(pair string) (name, value string, err error) {
	name, value, _ = strings.Cut(pair, "=")
	if name, err = unescape(name); err == nil {
		value, err = unescape(value)
	}
	if err != nil {
		return "", "", model.Errorf(model.KindInvalid, "Invalid query parameter %q: %v", pair, err)
	}
	return name, value, nil
}

func unescape(s string) (string, error) {
	if !strings.ContainsAny(s, "%+") {
		return s, nil
	}
	return url.QueryUnescape(s)
}

// set keeps the first value of what can be there only once.
func (p *params) set(name, value string) {
	switch name {
	case "index":
		first(&p.index, value)
	case "wait":
		first(&p.wait, value)
	case "stale":
		p.stale = p.stale || on(value)
	case "consistent":
		p.consistent = p.consistent || on(value)
	case "cached":
		p.cached = p.cached || on(value)
	case "pretty":
		p.pretty = p.pretty || on(value)
	case "passing":
		if !p.hasPassing {
			p.passing, p.hasPassing = value, true
		}
	case "max_stale":
		first(&p.maxStale, value)
	case "dc":
		first(&p.dc, value)
	case "token":
		first(&p.token, value)
	case "near":
		first(&p.near, value)
	case "filter":
		first(&p.filter, value)
	case "ns":
		first(&p.ns, value)
	case "partition":
		first(&p.ap, value)
	case "tag":
		if value != "" {
			p.tags = append(p.tags, value)
		}
	case "node-meta":
		key, val, _ := strings.Cut(value, ":")
		if p.nodeMeta == nil {
			p.nodeMeta = map[string]string{}
		}
		p.nodeMeta[key] = val
	}
}

func first(to *string, value string) {
	if *to == "" {
		*to = value
	}
}

// on: a bare parameter means yes, and so does any value that does not say no.
func on(value string) bool {
	b, err := strconv.ParseBool(value)
	return err != nil || b
}

// get finds any other parameter.
func (p *params) get(name string) (value string, ok bool) {
	query := p.query
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		n, v, err := unescapePair(pair)
		if err == nil && n == name && pair != "" {
			return v, true
		}
	}
	return "", false
}

// has is get for parameters that are on or off.
func (p *params) has(name string) bool {
	v, ok := p.get(name)
	return ok && on(v)
}

// refusePaid refuses what only Consul's paid edition has.
func (p *params) refusePaid(h http.Header) error {
	switch {
	case p.ns != "":
		return model.Errorf(model.KindInvalid, `Invalid query parameter: "ns" - Namespaces are a Consul Enterprise feature`)
	case p.ap != "":
		return model.Errorf(model.KindInvalid, `Invalid query parameter: "partition" - Partitions are a Consul Enterprise feature`)
	}
	if v := h["X-Consul-Namespace"]; len(v) > 0 && v[0] != "" && v[0] != "default" {
		return model.Errorf(model.KindInvalid, `Invalid header: "X-Consul-Namespace" - Namespaces are a Consul Enterprise feature`)
	}
	if v := h["X-Consul-Partition"]; len(v) > 0 && v[0] != "" && v[0] != "default" {
		return model.Errorf(model.KindInvalid, `Invalid header: "X-Consul-Partition" - Partitions are a Consul Enterprise feature`)
	}
	return nil
}

// consistency is the mode of a read.
func (p *params) consistency() (mode lookup.Mode, maxStale time.Duration, err error) {
	switch {
	case p.stale && p.consistent:
		return 0, 0, model.Errorf(model.KindInvalid, "Cannot specify ?stale with ?consistent, conflicting semantics.")
	case p.cached && p.consistent:
		return 0, 0, model.Errorf(model.KindInvalid, "Cannot specify ?cached with ?consistent, conflicting semantics.")
	case p.consistent:
		return lookup.ModeConsistent, 0, nil
	}
	if p.maxStale != "" {
		maxStale, err = time.ParseDuration(p.maxStale)
		if err != nil || maxStale < 0 {
			return 0, 0, model.Errorf(model.KindInvalid, "Invalid max_stale value %q", p.maxStale)
		}
		return lookup.ModeStale, maxStale, nil
	}
	if p.stale {
		return lookup.ModeStale, 0, nil
	}
	return lookup.ModeDefault, 0, nil
}

// blocking is the index to pass and the time to wait for it.
func (p *params) blocking() (index uint64, wait time.Duration, err error) {
	if p.wait != "" {
		if wait, err = parseWait(p.wait); err != nil {
			return 0, 0, err
		}
	}
	if p.index != "" {
		if index, err = strconv.ParseUint(p.index, 10, 64); err != nil {
			return 0, 0, model.Errorf(model.KindInvalid, "Invalid index")
		}
	}
	return index, wait, nil
}

func parseWait(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, model.Errorf(model.KindInvalid, "Invalid wait time")
	}
	return max(d, 0), nil
}

// onlyPassing is the value of ?passing.
func (p *params) onlyPassing() (bool, error) {
	if !p.hasPassing || p.passing == "" {
		return p.hasPassing, nil
	}
	b, err := strconv.ParseBool(p.passing)
	if err != nil {
		return false, model.Errorf(model.KindInvalid, "Invalid value for ?passing")
	}
	return b, nil
}

// tokenOf is the caller's secret: the query's, a header's, or a bearer's.
func (p *params) tokenOf(h http.Header) string {
	if p.token != "" {
		return p.token
	}
	if v := h["X-Consul-Token"]; len(v) > 0 && v[0] != "" {
		return v[0]
	}
	if v := h["Authorization"]; len(v) > 0 {
		scheme, secret, ok := strings.Cut(v[0], " ")
		if ok && strings.EqualFold(scheme, "Bearer") {
			return strings.TrimSpace(secret)
		}
	}
	return ""
}

// checkCacheControl refuses directives that do not parse. Their meaning is met in
// any case: what is served is never older than the view.
func checkCacheControl(h http.Header) error {
	for _, line := range h["Cache-Control"] {
		for _, directive := range strings.Split(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
			switch strings.ToLower(name) {
			case "max-age", "stale-if-error":
				if _, err := strconv.ParseUint(strings.TrimSpace(value), 10, 32); err != nil {
					return model.Errorf(model.KindInvalid, "Invalid Cache-Control header.")
				}
			}
		}
	}
	return nil
}
