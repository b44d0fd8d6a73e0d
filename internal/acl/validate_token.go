package acl

import (
	"strings"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// minTokenTTL is the shortest life of a token.
const minTokenTTL = time.Minute

// ValidateToken checks a token that is to be stored. old is what is stored under its
// accessor; nil: nothing. Whether ids are taken and links lead somewhere is for the
// state to say.
func ValidateToken(t, old *model.Token) error {
	if old == nil {
		if err := chosenID("AccessorID", t.AccessorID); err != nil {
			return err
		}
		if err := chosenID("SecretID", string(t.SecretID)); err != nil {
			return err
		}
	} else if err := unchanged(t, old); err != nil {
		return err
	}
	return identities("token", t.Local, t.ServiceIdentities, t.NodeIdentities, t.TemplatedPolicies)
}

// chosenID checks an id that a caller may choose or leave empty.
func chosenID(field, id string) error {
	switch {
	case id == "":
	case !isUUID(id):
		return invalid(field, "Invalid Token: %s - not a valid UUID", field)
	case strings.HasPrefix(id, model.ReservedIDPrefix):
		return invalid(field, "Invalid Token: %s - UUIDs with the prefix %q are reserved", field, model.ReservedIDPrefix)
	}
	return nil
}

// unchanged checks what a token keeps for its life. Empty means: as it was.
func unchanged(t, old *model.Token) error {
	switch {
	case t.SecretID != "" && t.SecretID != old.SecretID:
		return invalid("SecretID", "Changing a token's SecretID is not permitted")
	case t.Local != old.Local:
		return invalid("Local", "Cannot toggle local mode of token %q", old.AccessorID)
	case t.AuthMethod != "" && t.AuthMethod != old.AuthMethod:
		return invalid("AuthMethod", "Cannot change AuthMethod of token %q", old.AccessorID)
	case !t.ExpirationTime.IsZero() && !t.ExpirationTime.Equal(old.ExpirationTime):
		return invalid("ExpirationTime", "Cannot change expiration time of token %q", old.AccessorID)
	}
	return nil
}

// ValidateTokenDeletion checks that a token may be removed.
func ValidateTokenDeletion(accessor string) error {
	switch {
	case !isUUID(accessor):
		return invalid("AccessorID", "Accessor ID is missing or an invalid UUID")
	case accessor == model.AnonymousTokenID:
		return invalid("AccessorID", "Delete operation not permitted on the anonymous token")
	}
	return nil
}

// SetExpiration makes of a new token's time to live, or its end, the end. created is
// when the token comes into being.
func SetExpiration(t *model.Token, created time.Time) error {
	switch {
	case t.ExpirationTTL < 0:
		return invalid("ExpirationTTL", "Token Expiration TTL '%s' should be > 0", t.ExpirationTTL)
	case t.ExpirationTTL != 0 && !t.ExpirationTime.IsZero():
		return invalid("ExpirationTTL", "Token Expiration TTL and Expiration Time cannot both be set")
	case t.ExpirationTTL != 0:
		t.ExpirationTime, t.ExpirationTTL = created.Add(t.ExpirationTTL), 0
	case t.ExpirationTime.IsZero():
		return nil
	}
	left := t.ExpirationTime.Sub(created)
	if left < 0 {
		return invalid("ExpirationTime", "ExpirationTime cannot be before CreateTime")
	}
	if left < minTokenTTL {
		return invalid("ExpirationTime", "ExpirationTime cannot be less than %s in the future (was %s)", minTokenTTL, left)
	}
	return nil
}

// identities checks those of a token or role, which the texts name.
func identities(of string, local bool, services []model.ServiceIdentity, nodes []model.NodeIdentity, policies []model.TemplatedPolicy) error {
	const characters = "has an invalid name. Only lowercase alphanumeric characters, '-' and '_' are allowed"
	for _, s := range services {
		switch {
		case s.ServiceName == "":
			return invalid("ServiceIdentities", "Service identity is missing the service name field on this %s", of)
		case local && len(s.Datacenters) > 0:
			return invalid("ServiceIdentities", "Service identity %q cannot specify a list of datacenters on a local token", s.ServiceName)
		case !identityName(s.ServiceName):
			return invalid("ServiceIdentities", "Service identity %q %s", s.ServiceName, characters)
		}
	}
	for _, n := range nodes {
		switch {
		case n.NodeName == "":
			return invalid("NodeIdentities", "Node identity is missing the node name field on this %s", of)
		case n.Datacenter == "":
			return invalid("NodeIdentities", "Node identity is missing the datacenter field on this %s", of)
		case !identityName(n.NodeName):
			return invalid("NodeIdentities", "Node identity %q %s", n.NodeName, characters)
		}
	}
	for _, p := range policies {
		t, ok := FindTemplate(p.TemplateName)
		if !ok {
			return noTemplate(p.TemplateName)
		}
		if local && len(p.Datacenters) > 0 {
			return invalid("TemplatedPolicies", "Templated policy %q cannot specify a list of datacenters on a local token", p.TemplateName)
		}
		if _, err := t.Fill(p.Variables); err != nil {
			return err
		}
	}
	return nil
}

// isUUID tells whether a text is a UUID in its usual form.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
				return false
			}
		}
	}
	return true
}
