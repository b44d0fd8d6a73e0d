package acl

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/muster-discovery/muster/internal/model"
)

func filled(t *testing.T, name, variable string) string {
	t.Helper()
	tpl, ok := FindTemplate(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	text, err := tpl.Fill(&model.TemplateVariables{Name: variable})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestTemplates has the rules as documented (acl-roles, "Service Identities", "Node
// Identities"; api-docs acl/templated-policies). Every byte counts for those whose
// ids are known.
func TestTemplates(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{TemplateService, "\nservice \"api\" {\n\tpolicy = \"write\"\n}\nservice \"api-sidecar-proxy\" {\n\tpolicy = \"write\"\n}\nservice_prefix \"\" {\n\tpolicy = \"read\"\n}\nnode_prefix \"\" {\n\tpolicy = \"read\"\n}"},
		{TemplateNode, "\nnode \"api\" {\n\tpolicy = \"write\"\n}\nservice_prefix \"\" {\n\tpolicy = \"read\"\n}"},
		{TemplateDNS, "\nnode_prefix \"\" {\n\tpolicy = \"read\"\n}\nservice_prefix \"\" {\n\tpolicy = \"read\"\n}\nquery_prefix \"\" {\n\tpolicy = \"read\"\n}"},
		{TemplateNomadServer, "\nacl = \"write\"\nagent_prefix \"\" {\n  policy = \"read\"\n}\nnode_prefix \"\" {\n  policy = \"read\"\n}\nservice_prefix \"\" {\n  policy = \"write\"\n}"},
	} {
		if got := filled(t, c.name, "api"); got != c.text {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	for name, tpl := range Templates() {
		rules := parsed(t, name, filled(t, name, "api"))
		if err := rules.Strict(); err != nil || len(rules.List) == 0 {
			t.Errorf("%s: %v", name, err)
		}
		if !isUUID(tpl.ID) || tpl.Description == "" || tpl.Name != name || strings.Contains(tpl.Text, nameVariable) != (tpl.Schema != "") {
			t.Errorf("%s is incomplete: %+v", name, tpl)
		}
	}
	if len(Templates()) != 6 {
		t.Errorf("%d templates", len(Templates()))
	}
}

// TestPreview has the ids that a real Consul gave (scenario acl/templated-policies).
func TestPreview(t *testing.T) {
	for name, id := range map[string]string{
		TemplateService: "0a73657276696365202261706922207b0a09706f6c696379203d20227772697465220a7d0a7365727669636520226170692d736964656361722d70726f787922207b0a09706f6c696379203d20227772697465220a7d0a736572766963655f707265666978202222207b0a09706f6c696379203d202272656164220a7d0a6e6f64655f707265666978202222207b0a09706f6c696379203d202272656164220a7d6c62272e07bb014262b821756295c58d",
		TemplateDNS:     "0a6e6f64655f707265666978202222207b0a09706f6c696379203d202272656164220a7d0a736572766963655f707265666978202222207b0a09706f6c696379203d202272656164220a7d0a71756572795f707265666978202222207b0a09706f6c696379203d202272656164220a7d6c62272e07bb014262b821756295c58d",
	} {
		tpl, _ := FindTemplate(name)
		p, err := tpl.Preview(&model.TemplateVariables{Name: "api"}, []string{"dc1"})
		if err != nil {
			t.Fatal(err)
		}
		if p.ID != id || p.Name != "synthetic-policy-"+id || len(p.Hash) == 0 || p.Datacenters[0] != "dc1" ||
			p.Description != "synthetic policy generated from templated policy: "+name {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestFillRefuses(t *testing.T) {
	tpl, _ := FindTemplate(TemplateService)
	for _, name := range []string{"", "Web", "-web", `x" { policy = "deny" } acl = "write" #`, strings.Repeat("x", 257)} {
		text, err := tpl.Fill(&model.TemplateVariables{Name: name})
		if err == nil || !strings.HasPrefix(err.Error(), `validation error for templated policy "builtin/service": `) {
			t.Errorf("%q: %s, %v", name, text, err)
		}
	}
	if _, err := tpl.Fill(nil); err == nil {
		t.Error("no variables were taken")
	}
	if _, err := tpl.Preview(nil, nil); err == nil {
		t.Error("no variables were taken")
	}
}

func TestExpand(t *testing.T) {
	token := &model.Token{
		ServiceIdentities: []model.ServiceIdentity{{ServiceName: "web"}, {ServiceName: "far", Datacenters: []string{"dc2", "dc3"}}},
		NodeIdentities:    []model.NodeIdentity{{NodeName: "n1", Datacenter: "dc1"}, {NodeName: "n2", Datacenter: "dc2"}},
		TemplatedPolicies: []model.TemplatedPolicy{
			{TemplateName: TemplateService, Variables: &model.TemplateVariables{Name: "web"}}, // there already
			{TemplateName: TemplateDNS},
			{TemplateName: TemplateNomadServer, Datacenters: []string{"dc9"}},
		},
	}
	role := &model.Role{Name: "db", ServiceIdentities: []model.ServiceIdentity{{ServiceName: "db", Datacenters: []string{"dc1"}}}}
	for dc, want := range map[string]string{
		"dc1": "service identity web, node identity n1, templated policy builtin/dns, service identity db of role db",
		"dc2": "service identity web, service identity far, node identity n2, templated policy builtin/dns",
	} {
		all, err := Expand(dc, token, role)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, r := range all {
			names = append(names, r.Policy)
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("%s: %s\nwant %s", dc, got, want)
		}
	}
	all, _ := Expand("dc1", token, role)
	why := Compile(DefaultDeny, all...).Why(Service, "db-sidecar-proxy", Write)
	if want := `service:write on "db-sidecar-proxy" is allowed by policy "service identity db of role db", line 5: service "db-sidecar-proxy" { policy = "write" }`; why.String() != want {
		t.Errorf("%s\nwant %s", why, want)
	}
}

// TestExpandRefuses: an identity that should never have been stored grants nothing.
func TestExpandRefuses(t *testing.T) {
	for _, token := range []*model.Token{
		{ServiceIdentities: []model.ServiceIdentity{{ServiceName: "Bad Name"}, {ServiceName: "web"}}},
		{TemplatedPolicies: []model.TemplatedPolicy{{TemplateName: "builtin/none"}}},
	} {
		all, err := Expand("dc1", token)
		var e *model.Error
		if !errors.As(err, &e) || len(all) != 0 {
			t.Errorf("%+v: %v, %v", token, all, err)
		}
	}
}

// TestUniqueServices has what scenario acl/service-identity shows.
func TestUniqueServices(t *testing.T) {
	got := UniqueServices([]model.ServiceIdentity{
		{ServiceName: "dup"}, {ServiceName: "web"}, {ServiceName: "dup", Datacenters: []string{"dc9"}}, {ServiceName: "dup", Datacenters: []string{"dc9", "dc1"}},
	})
	if len(got) != 2 || got[0].ServiceName != "dup" || strings.Join(got[0].Datacenters, ",") != "dc9,dc1" || got[1].Datacenters != nil {
		t.Errorf("%+v", got)
	}
}

// TestHashes: every field that an operator can set changes the hash, the others do
// not.
func TestHashes(t *testing.T) {
	tokens := []model.Token{
		{}, {Description: "d"}, {Policies: []model.Link{{ID: "d"}}}, {Roles: []model.Link{{ID: "d"}}},
		{ServiceIdentities: []model.ServiceIdentity{{ServiceName: "d"}}}, {NodeIdentities: []model.NodeIdentity{{NodeName: "d"}}},
		{NodeIdentities: []model.NodeIdentity{{Datacenter: "d"}}}, {TemplatedPolicies: []model.TemplatedPolicy{{TemplateName: "d"}}},
		{TemplatedPolicies: []model.TemplatedPolicy{{Variables: &model.TemplateVariables{Name: "d"}}}},
		{TemplatedPolicies: []model.TemplatedPolicy{{Datacenters: []string{"d"}}}},
		{ServiceIdentities: []model.ServiceIdentity{{Datacenters: []string{"d"}}}},
	}
	seen := map[string]int{}
	for i := range tokens {
		h := string(HashToken(&tokens[i]))
		if j, ok := seen[h]; ok {
			t.Errorf("tokens %d and %d have the same hash", i, j)
		}
		seen[h] = i
		with := tokens[i]
		with.SecretID, with.AccessorID, with.Modify = "s", "a", 7
		if string(HashToken(&with)) != h {
			t.Errorf("token %d: the hash depends on more", i)
		}
	}
	a, b := &model.Policy{Name: "ab", Rules: "c"}, &model.Policy{Name: "a", Rules: "bc"}
	if bytes.Equal(HashPolicy(a), HashPolicy(b)) || !bytes.Equal(HashPolicy(a), HashPolicy(&model.Policy{Name: "ab", Rules: "c", ID: "x"})) {
		t.Error("policies: hashes do not tell what they should")
	}
	if bytes.Equal(HashRole(&model.Role{Name: "a"}), HashRole(&model.Role{Description: "a"})) {
		t.Error("roles: hashes do not tell what they should")
	}
}
