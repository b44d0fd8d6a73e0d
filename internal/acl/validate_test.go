package acl

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// check compares an error's text. An empty want is no error; one that ends in ... is
// a beginning.
func check(t *testing.T, name string, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
		if model.KindOf(err) != model.KindInvalid {
			t.Errorf("%s: the kind of %q is %v", name, got, model.KindOf(err))
		}
	}
	if begin, ok := strings.CutSuffix(want, "..."); ok && strings.HasPrefix(got, begin) {
		return
	}
	if got != want {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}

// TestValidatePolicy has the texts of scenarios acl/policy-crud and acl/policy-builtin.
func TestValidatePolicy(t *testing.T) {
	builtins := Builtins()
	changed, moved, renamed := builtins[0], builtins[1], builtins[0]
	changed.Rules, moved.Datacenters, renamed.Name = `key "x" { policy = "read" }`, []string{"dc1"}, "root"
	for _, c := range []struct {
		name   string
		policy model.Policy
		want   string
	}{
		{"good", model.Policy{Name: "Ops_1-x/y", Rules: `operator = "read"`}, ""},
		{"no name", model.Policy{}, "Invalid Policy: no Name is set"},
		{"characters", model.Policy{Name: "bad name!"}, "Invalid Policy: invalid Name. Only alphanumeric characters, a single '/', '-' and '_' are allowed"},
		{"two slashes", model.Policy{Name: "a/b/c"}, "Invalid Policy: invalid Name. Only alphanumeric characters, a single '/', '-' and '_' are allowed"},
		{"length", model.Policy{Name: strings.Repeat("x", 129)}, "Invalid Policy: invalid Name. Length must be greater than 0 and less than 128"},
		{"reserved", model.Policy{Name: "builtin/mine"}, `Invalid Policy: names that begin with "builtin/" are reserved`},
		{"rules", model.Policy{Name: "x", Rules: `operator = "bogus"`}, `Invalid operator policy: "bogus"`},
		{"builtin's rules", changed, "Changing the Rules for the builtin global-management policy is not permitted"},
		{"builtin's datacenters", moved, "Changing the Datacenters of the builtin builtin/global-read-only policy is not permitted"},
		{"builtin's name", renamed, ""},
	} {
		var old *model.Policy
		for i := range builtins {
			if builtins[i].ID == c.policy.ID {
				old = &builtins[i]
			}
		}
		_, err := ValidatePolicy(&c.policy, old)
		check(t, c.name, err, c.want)
	}
	check(t, "deletion", ValidatePolicyDeletion("b5a4d3c2-0000-4000-8000-000000000001"), "")
	check(t, "deletion", ValidatePolicyDeletion(model.GlobalManagementID), "Delete operation not permitted on the builtin global-management policy")
	check(t, "deletion", ValidatePolicyDeletion(model.GlobalReadOnlyID), "Delete operation not permitted on the builtin builtin/global-read-only policy")
}

// TestValidateRole has the texts of scenario acl/role-crud.
func TestValidateRole(t *testing.T) {
	for want, role := range map[string]model.Role{
		"":                             {Name: "a-b_C"},
		"Invalid Role: no Name is set": {},
		"Invalid Role: invalid Name. Only alphanumeric characters, '-' and '_' are allowed": {Name: "a/b"},
		"Service identity is missing the service name field on this role":                   {Name: "a", ServiceIdentities: []model.ServiceIdentity{{}}},
	} {
		check(t, role.Name, ValidateRole(&role), want)
	}
}

// TestValidateToken has the texts of scenarios acl/token-chosen-ids,
// acl/service-identity and acl/templated-policies.
func TestValidateToken(t *testing.T) {
	type token = model.Token
	service := func(names ...string) (all []model.ServiceIdentity) {
		for _, n := range names {
			all = append(all, model.ServiceIdentity{ServiceName: n})
		}
		return all
	}
	for _, c := range []struct {
		token token
		want  string
	}{
		{token{}, ""},
		{token{AccessorID: "7c0a54d2-1111-4a4a-9999-000000000001", SecretID: "7c0a54d2-2222-4a4a-9999-00000000000A"}, ""},
		{token{AccessorID: "bad"}, "Invalid Token: AccessorID - not a valid UUID"},
		{token{SecretID: "7c0a54d2x2222-4a4a-9999-000000000001"}, "Invalid Token: SecretID - not a valid UUID"},
		{token{SecretID: "7c0a54d2-2222-4a4a-9999-00000000000g"}, "Invalid Token: SecretID - not a valid UUID"},
		{token{SecretID: "00000000-0000-0000-0000-0000000000aa"}, `Invalid Token: SecretID - UUIDs with the prefix "00000000-0000-0000-0000-0000000000" are reserved`},
		{token{ServiceIdentities: service("a", "a-b_1")}, ""},
		{token{ServiceIdentities: service("a", "")}, "Service identity is missing the service name field on this token"},
		{token{ServiceIdentities: service("Bad Name")}, `Service identity "Bad Name" has an invalid name. Only lowercase alphanumeric characters, '-' and '_' are allowed`},
		{token{ServiceIdentities: service("a-")}, `Service identity "a-" has an invalid name. Only lowercase alphanumeric characters, '-' and '_' are allowed`},
		{token{Local: true, ServiceIdentities: []model.ServiceIdentity{{ServiceName: "x", Datacenters: []string{"dc1"}}}}, `Service identity "x" cannot specify a list of datacenters on a local token`},
		{token{NodeIdentities: []model.NodeIdentity{{NodeName: "n", Datacenter: "dc1"}}}, ""},
		{token{NodeIdentities: []model.NodeIdentity{{Datacenter: "dc1"}}}, "Node identity is missing the node name field on this token"},
		{token{NodeIdentities: []model.NodeIdentity{{NodeName: "n"}}}, "Node identity is missing the datacenter field on this token"},
		{token{NodeIdentities: []model.NodeIdentity{{NodeName: "N", Datacenter: "dc1"}}}, `Node identity "N" has an invalid name. Only lowercase alphanumeric characters, '-' and '_' are allowed`},
		{token{TemplatedPolicies: []model.TemplatedPolicy{{TemplateName: TemplateDNS}}}, ""},
		{token{TemplatedPolicies: []model.TemplatedPolicy{{TemplateName: "builtin/none"}}}, `no such ACL templated policy with Name "builtin/none"`},
		{token{TemplatedPolicies: []model.TemplatedPolicy{{TemplateName: TemplateService}}}, `validation error for templated policy "builtin/service": ...`},
		{token{Local: true, TemplatedPolicies: []model.TemplatedPolicy{{TemplateName: TemplateDNS, Datacenters: []string{"d"}}}}, `Templated policy "builtin/dns" cannot specify a list of datacenters on a local token`},
	} {
		check(t, c.want, ValidateToken(&c.token, nil), c.want)
	}
	at := time.Unix(1e9, 0)
	old := &token{AccessorID: "a", SecretID: "s", AuthMethod: "m", ExpirationTime: at}
	for _, c := range []struct {
		token token
		want  string
	}{
		{token{}, ""},
		{token{SecretID: "s", AuthMethod: "m", ExpirationTime: at.UTC()}, ""},
		{token{SecretID: "other"}, "Changing a token's SecretID is not permitted"},
		{token{Local: true}, `Cannot toggle local mode of token "a"`},
		{token{AuthMethod: "other"}, `Cannot change AuthMethod of token "a"`},
		{token{ExpirationTime: at.Add(1)}, `Cannot change expiration time of token "a"`},
		{token{ServiceIdentities: service("")}, "Service identity is missing the service name field on this token"},
	} {
		check(t, c.want, ValidateToken(&c.token, old), c.want)
	}
	check(t, "deletion", ValidateTokenDeletion("7c0a54d2-1111-4a4a-9999-000000000001"), "")
	check(t, "deletion", ValidateTokenDeletion("not-a-uuid"), "Accessor ID is missing or an invalid UUID")
	check(t, "deletion", ValidateTokenDeletion(model.AnonymousTokenID), "Delete operation not permitted on the anonymous token")
}

// TestSetExpiration has the texts of scenario acl/token-expiration.
func TestSetExpiration(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		ttl  time.Duration
		at   time.Time
		left time.Duration // after which the token ends; 0: never
		want string
	}{
		{0, time.Time{}, 0, ""},
		{time.Hour, time.Time{}, time.Hour, ""},
		{1000 * time.Hour, time.Time{}, 1000 * time.Hour, ""},
		{time.Minute, time.Time{}, time.Minute, ""},
		{0, now.Add(time.Hour), time.Hour, ""},
		{2 * time.Second, time.Time{}, 0, "ExpirationTime cannot be less than 1m0s in the future (was 2s)"},
		{-time.Hour, time.Time{}, 0, "Token Expiration TTL '-1h0m0s' should be > 0"},
		{time.Hour, now.Add(time.Hour), 0, "Token Expiration TTL and Expiration Time cannot both be set"},
		{0, now.Add(-time.Hour), 0, "ExpirationTime cannot be before CreateTime"},
	} {
		token := &model.Token{ExpirationTTL: c.ttl, ExpirationTime: c.at}
		err := SetExpiration(token, now)
		check(t, c.want, err, c.want)
		if err != nil {
			continue
		}
		if token.ExpirationTTL != 0 || token.ExpirationTime.IsZero() != (c.left == 0) || c.left != 0 && token.ExpirationTime.Sub(now) != c.left {
			t.Errorf("%v, %v: ends %v", c.ttl, c.at, token.ExpirationTime)
		}
	}
}

func TestValidateAuth(t *testing.T) {
	types := []string{"jwt", "kubernetes"}
	for want, m := range map[string]model.AuthMethod{
		"":                                    {Name: "m", Type: "jwt", MaxTokenTTL: time.Minute, TokenLocality: "global"},
		"Invalid Auth Method: no Name is set": {Type: "jwt"},
		"Invalid Auth Method: invalid Name. Only alphanumeric characters, '-' and '_' are allowed": {Name: "a b"},
		"Invalid Auth Method: Type should be one of: jwt, kubernetes":                              {Name: "x", Type: "nonsense"},
		"Invalid Auth Method: MaxTokenTTL cannot be less than 1m0s":                                {Name: "x", Type: "jwt", MaxTokenTTL: 1},
		"Invalid Auth Method: TokenLocality should be one of 'local' or 'global'":                  {Name: "x", Type: "jwt", TokenLocality: "x"},
	} {
		check(t, want, ValidateAuthMethod(&m, types), want)
	}
	for want, r := range map[string]model.BindingRule{
		"": {BindType: model.BindTemplatedPolicy, BindName: TemplateService, BindVars: &model.TemplateVariables{Name: "${x}"}},
		"Invalid Binding Rule: unknown BindType \"x\"; valid are \"service\", \"node\", \"role\", \"policy\" and \"templated-policy\"": {BindType: "x", BindName: "y"},
		"Invalid Binding Rule: no BindName is set":                                      {BindType: model.BindRole},
		"Invalid Binding Rule: BindVars are for the BindType \"templated-policy\" only": {BindType: model.BindRole, BindName: "x", BindVars: &model.TemplateVariables{}},
		"no such ACL templated policy with Name \"x\"":                                  {BindType: model.BindTemplatedPolicy, BindName: "x"},
	} {
		check(t, want, ValidateBindingRule(&r), want)
	}
}
