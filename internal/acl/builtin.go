package acl

import (
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// Builtins are the policies that every cluster has, without their indexes. Nobody
// can change what they grant or remove them.
func Builtins() []model.Policy {
	all := []model.Policy{
		{
			ID: model.GlobalManagementID, Name: model.GlobalManagementPolicy, Rules: everything(MayWrite),
			Description: "A built-in policy that grants read and write access to all Consul features",
		},
		{
			ID: model.GlobalReadOnlyID, Name: model.GlobalReadOnlyPolicy, Rules: everything(MayRead),
			Description: "A built-in policy that grants read-only access to all Consul features",
		},
	}
	for i := range all {
		all[i].Hash = HashPolicy(&all[i])
	}
	return all
}

// builtinPolicy finds a built-in policy by its id.
func builtinPolicy(id string) (model.Policy, bool) {
	for _, p := range Builtins() {
		if p.ID == id {
			return p, true
		}
	}
	return model.Policy{}, false
}

// everything are rules for all there is. Clients compare the text, so it is Consul's
// to the letter, as seen in its answers.
func everything(l Level) string {
	// In this order only; it is neither that of the alphabet nor that of kinds.
	order := []Resource{ACL, Agent, UserEvent, Key, Keyring, Node, Operator, Mesh, Peering, Query, Service, Session}
	var b strings.Builder
	for _, r := range order {
		b.WriteByte('\n')
		k := r.kind()
		if !k.labeled {
			b.WriteString(k.name + ` = "` + l.String() + `"`)
			continue
		}
		b.WriteString(k.name + prefixEnding + " \"\" {\n\tpolicy = \"" + l.String() + "\"\n")
		if r == Service {
			b.WriteString("\tintentions = \"" + l.String() + "\"\n")
		}
		b.WriteByte('}')
	}
	return b.String()
}

// AgentRecovery is what an agent's own recovery token may do, also when no server
// can be reached: everything with this agent, and reading nodes.
func AgentRecovery(node string) *Compiled {
	const policy = "agent recovery token"
	return Compile(DefaultDeny, &Rules{Policy: policy, List: []Rule{
		{Policy: policy, Resource: Agent, Label: node, Level: MayWrite},
		{Policy: policy, Resource: Node, Prefix: true, Level: MayRead},
	}})
}
