package acl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// Lengths of names.
const (
	maxPolicyName   = 128
	maxName         = 256 // of roles and auth methods
	maxIdentityName = 256
)

// invalid is an error whose text clients compare.
func invalid(field, format string, args ...any) error {
	return &model.Error{Kind: model.KindInvalid, Field: field, Text: fmt.Sprintf(format, args...)}
}

// ValidatePolicy checks a policy that is to be stored and parses its rules. old is
// what is stored under its id; nil: nothing. Whether the name is taken is for the
// state to say.
func ValidatePolicy(p, old *model.Policy) (*Rules, error) {
	if err := policyName(p, old); err != nil {
		return nil, err
	}
	if b, ok := builtinPolicy(p.ID); ok {
		if p.Rules != b.Rules {
			return nil, invalid("Rules", "Changing the Rules for the builtin %s policy is not permitted", b.Name)
		}
		if len(p.Datacenters) > 0 {
			return nil, invalid("Datacenters", "Changing the Datacenters of the builtin %s policy is not permitted", b.Name)
		}
	}
	return Parse(p.Name, p.Rules)
}

func policyName(p, old *model.Policy) error {
	rest := strings.Replace(p.Name, "/", "", 1)
	switch {
	case p.Name == "":
		return invalid("Name", "Invalid Policy: no Name is set")
	case len(p.Name) > maxPolicyName:
		return invalid("Name", "Invalid Policy: invalid Name. Length must be greater than 0 and less than 128")
	case rest == "" || !only(rest, plain):
		return invalid("Name", "Invalid Policy: invalid Name. Only alphanumeric characters, a single '/', '-' and '_' are allowed")
	case strings.HasPrefix(p.Name, "builtin/") && (old == nil || old.Name != p.Name):
		return invalid("Name", "Invalid Policy: names that begin with \"builtin/\" are reserved")
	}
	return nil
}

// ValidatePolicyDeletion checks that a policy may be removed.
func ValidatePolicyDeletion(id string) error {
	if b, ok := builtinPolicy(id); ok {
		return invalid("ID", "Delete operation not permitted on the builtin %s policy", b.Name)
	}
	return nil
}

// ValidateRole checks a role that is to be stored. Whether the name is taken and
// links lead somewhere is for the state to say.
func ValidateRole(r *model.Role) error {
	switch {
	case r.Name == "":
		return invalid("Name", "Invalid Role: no Name is set")
	case len(r.Name) > maxName || !only(r.Name, plain):
		return invalid("Name", "Invalid Role: invalid Name. Only alphanumeric characters, '-' and '_' are allowed")
	}
	return identities("role", false, r.ServiceIdentities, r.NodeIdentities, r.TemplatedPolicies)
}

// ValidateAuthMethod checks an auth method that is to be stored. types are the ones
// that this server can use.
func ValidateAuthMethod(m *model.AuthMethod, types []string) error {
	switch {
	case m.Name == "":
		return invalid("Name", "Invalid Auth Method: no Name is set")
	case len(m.Name) > maxName || !only(m.Name, plain):
		return invalid("Name", "Invalid Auth Method: invalid Name. Only alphanumeric characters, '-' and '_' are allowed")
	case !slices.Contains(types, m.Type):
		return invalid("Type", "Invalid Auth Method: Type should be one of: %s", strings.Join(types, ", "))
	case m.MaxTokenTTL != 0 && m.MaxTokenTTL < minTokenTTL:
		return invalid("MaxTokenTTL", "Invalid Auth Method: MaxTokenTTL cannot be less than %s", minTokenTTL)
	case m.TokenLocality != "" && m.TokenLocality != model.LocalityLocal && m.TokenLocality != model.LocalityGlobal:
		return invalid("TokenLocality", "Invalid Auth Method: TokenLocality should be one of 'local' or 'global'")
	}
	return nil
}

// ValidateBindingRule checks a binding rule that is to be stored. Whether there is
// such an auth method, and what the selector means to it, is for others to say.
func ValidateBindingRule(r *model.BindingRule) error {
	switch r.BindType {
	case model.BindService, model.BindNode, model.BindRole, model.BindPolicy:
	case model.BindTemplatedPolicy:
		if _, ok := FindTemplate(r.BindName); !ok {
			return noTemplate(r.BindName)
		}
	default:
		return invalid("BindType", "Invalid Binding Rule: unknown BindType %q; valid are %q, %q, %q, %q and %q", r.BindType,
			model.BindService, model.BindNode, model.BindRole, model.BindPolicy, model.BindTemplatedPolicy)
	}
	if r.BindName == "" {
		return invalid("BindName", "Invalid Binding Rule: no BindName is set")
	}
	if r.BindVars != nil && r.BindType != model.BindTemplatedPolicy {
		return invalid("BindVars", "Invalid Binding Rule: BindVars are for the BindType %q only", model.BindTemplatedPolicy)
	}
	return nil
}

func noTemplate(name string) error {
	return invalid("TemplateName", "no such ACL templated policy with Name %q", name)
}

// plain are the characters of most names.
func plain(c byte) bool {
	return lower(c) || 'A' <= c && c <= 'Z' || c == '-' || c == '_'
}

func lower(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

func only(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}

// identityName tells whether a name may stand in an identity.
func identityName(s string) bool {
	return s != "" && len(s) <= maxIdentityName && lower(s[0]) && lower(s[len(s)-1]) &&
		only(s, func(c byte) bool { return lower(c) || c == '-' || c == '_' })
}
