package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// router finds routes by the path as it came, so that an id is decoded exactly
// once and nothing is cleaned or redirected.
type router struct {
	exact  map[string]*endpoint
	prefix map[string]*endpoint // by path with the closing slash
}

// endpoint is one path with its methods.
type endpoint struct {
	path   string
	routes []*route
	allow  []string // the Allow header
}

func newRouter(routes []route) *router {
	r := &router{exact: map[string]*endpoint{}, prefix: map[string]*endpoint{}}
	for k := range routes {
		rt := &routes[k]
		byPath := r.exact
		if strings.HasSuffix(rt.path, "/") {
			byPath = r.prefix
		}
		e := byPath[rt.path]
		if e == nil {
			e = &endpoint{path: rt.path, allow: []string{http.MethodOptions}}
			byPath[rt.path] = e
		}
		e.routes = append(e.routes, rt)
		e.allow[0] += "," + rt.method
	}
	return r
}

func (e *endpoint) route(method string) *route {
	for _, rt := range e.routes {
		if rt.method == method {
			return rt
		}
	}
	return nil
}

// find returns the endpoint for a URL and the id that its path ends in; nil if
// there is none. The longest prefix wins.
func (r *router) find(u *url.URL) (*endpoint, string, error) {
	raw, escaped := u.Path, false
	if u.RawPath != "" {
		// net/url keeps it only where decoding lost something, a %2F say.
		raw, escaped = u.RawPath, true
	}
	if e := r.exact[raw]; e != nil {
		return e, "", nil
	}
	e, rest := r.longest(raw)
	if e == nil || !escaped {
		return e, rest, nil
	}
	id, err := url.PathUnescape(rest)
	return e, id, err
}

// maxSegments is the largest number of slashes in the prefix of a route.
const maxSegments = 8

func (r *router) longest(path string) (*endpoint, string) {
	var slashes [maxSegments]int
	n := 0
	for k := 0; k < len(path) && n < maxSegments; k++ {
		if path[k] == '/' {
			slashes[n] = k + 1
			n++
		}
	}
	for _, end := range slices.Backward(slashes[:n]) {
		if e := r.prefix[path[:end]]; e != nil {
			return e, path[end:]
		}
	}
	return nil, ""
}
