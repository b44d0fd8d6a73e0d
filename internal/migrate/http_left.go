package migrate

import (
	"context"
	"fmt"
)

// leftover is a list of something that is not carried over.
type leftover struct{ kind, path, reason string }

const notYet = "not carried over yet"

// leftoverLists are asked only to be told of.
var leftoverLists = []leftover{
	{"session", "/v1/session/list", reasonSession},
	{"ACL policy", "/v1/acl/policies", notYet},
	{"ACL role", "/v1/acl/roles", notYet},
	{"ACL token", "/v1/acl/tokens", notYet},
	{"ACL auth method", "/v1/acl/auth-methods", notYet},
	{"ACL binding rule", "/v1/acl/binding-rules", notYet},
	{"intention", "/v1/connect/intentions", notYet},
	{"peering", "/v1/peerings", notYet},
}

// entryKinds are the kinds of config entries; they can only be listed one by one.
var entryKinds = []string{"service-defaults", "proxy-defaults", "service-router", "service-resolver",
	"service-splitter", "ingress-gateway", "terminating-gateway", "mesh", "exported-services", "api-gateway",
	"http-route", "tcp-route", "inline-certificate", "file-system-certificate", "jwt-provider",
	"sameness-group", "control-plane-request-limit"}

func (s *HTTPSource) leftovers(ctx context.Context, to Sink) error {
	lists := leftoverLists
	for _, kind := range entryKinds {
		lists = append(lists, leftover{"config entry " + kind, "/v1/config/" + kind, notYet})
	}
	for _, l := range lists {
		var found []Object
		if err := s.From.get(ctx, l.path, "", &found); err != nil {
			if statusOf(err) == 0 {
				return fmt.Errorf("list what is not carried over: %w", err)
			}
			// Most registries lack some of it, and say so in their own ways.
			if statusOf(err) == 403 {
				if err := to.Left(Left{Kind: l.kind, Reason: "can't be listed: " + err.Error()}); err != nil {
					return err
				}
			}
			continue
		}
		if len(found) > 0 {
			if err := to.Left(Left{Kind: l.kind, Count: len(found), Reason: l.reason}); err != nil {
				return err
			}
		}
	}
	return nil
}
