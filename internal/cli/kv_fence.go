package cli

import (
	"errors"
	"net/http"
	"strconv"
)

// fence is the guard that a write may carry: it is done only while the token is that
// of the latest acquisition of the key.
type fence struct{ token, key string }

// fence declares the flags of the guard, which "muster lock" gives its child in the
// environment.
func (f *flags) fence() *fence {
	g := &fence{}
	f.StringVar(&g.token, "fence", "", "Fencing `token`: write only if nobody took the lock of -fence-key after it.")
	f.StringVar(&g.key, "fence-key", "", "`Key` of the lock that -fence is of.")
	return g
}

// guard has the requests of a connection carry the guard, if one was given.
func (g *fence) guard(c *connection) error {
	switch {
	case g.token == "" && g.key == "":
		return nil
	case g.token == "" || g.key == "":
		return errors.New("-fence and -fence-key must be given together")
	}
	if _, err := strconv.ParseUint(g.token, 10, 64); err != nil {
		return errors.New("-fence is not a fencing token")
	}
	c.wrap = func(next http.RoundTripper) http.RoundTripper { return fenced{next, g} }
	return nil
}

// fenced adds the guard, for which the API client has no place.
type fenced struct {
	next http.RoundTripper
	*fence
}

func (f fenced) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	q := r.URL.Query()
	q.Set("fence", f.token)
	q.Set("fence-key", f.key)
	r.URL.RawQuery = q.Encode()
	return f.next.RoundTrip(r)
}
