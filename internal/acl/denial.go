package acl

import (
	"fmt"

	"github.com/muster-discovery/muster/internal/model"
)

// Denied is the error of a refused request, in Consul's words. accessor names the
// token; that of the anonymous one is explained, since many who see it did not know
// that they sent none.
func Denied(accessor string, r Resource, name string, a Access) error {
	on := ""
	if r.kind().labeled {
		on = fmt.Sprintf(" on %q", name)
	}
	permission := fmt.Sprintf("lacks permission '%s:%s'%s", r, a, on)
	text := fmt.Sprintf("Permission denied: token with AccessorID '%s' %s", accessor, permission)
	if accessor == model.AnonymousTokenID {
		text = "Permission denied: anonymous token " + permission +
			". The anonymous token is used implicitly when a request does not specify a token."
	}
	return &model.Error{Kind: model.KindDenied, Text: text}
}
