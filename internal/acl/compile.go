package acl

// Default is what counts where no rule speaks.
type Default uint8

const (
	DefaultDeny Default = iota
	DefaultAllow
)

func (d Default) String() string {
	if d == DefaultAllow {
		return "allow"
	}
	return "deny"
}

// level is what the default grants. Managing tokens and policies is never left to
// it: who could do that could do everything else under any other default.
func (d Default) level(r Resource) Level {
	if d == DefaultAllow && r != ACL {
		return MayWrite
	}
	return Deny
}

// Compiled are the decisions that follow from the rules of all policies of a token.
// It is immutable. A decision takes time in the length of the name, however many
// rules there are, and allocates nothing.
type Compiled struct {
	def   Default
	trees [resources]branch // by resource; rules without labels are prefixes of everything
}

// Compile puts policies together. Their order does not matter, except that of two
// equal rules Why names the first.
func Compile(def Default, policies ...*Rules) *Compiled {
	c := &Compiled{def: def}
	intentions := map[intentionKey]*grant{}
	for _, p := range policies {
		for i := range p.List {
			rule := &p.List[i]
			if !rule.Resource.known() || rule.Resource == Intention || rule.Level == Unset {
				continue // nothing that Parse makes
			}
			prefix := rule.Prefix || !rule.Resource.kind().labeled
			c.trees[rule.Resource].at(rule.Label, prefix).merge(rule.Level, rule)
			if rule.Resource == Service {
				key := intentionKey{rule.Label, prefix}
				if intentions[key] == nil {
					intentions[key] = &grant{}
				}
				intentions[key].merge(rule.Intentions, rule)
			}
		}
	}
	c.deriveIntentions(intentions)
	for r := range c.trees {
		c.trees[r].seal()
	}
	return c
}

type intentionKey struct {
	label  string
	prefix bool
}

// deriveIntentions makes the rules of intentions. Where none of a label's rules says
// anything about them, they follow from what these come to for the service: who may
// read or write it may read them.
func (c *Compiled) deriveIntentions(explicit map[intentionKey]*grant) {
	for key, g := range explicit {
		if g.level == Unset {
			service := c.trees[Service].at(key.label, key.prefix)
			g = &grant{intentionsOf(service.level), service.rule}
		}
		*c.trees[Intention].at(key.label, key.prefix) = *g
	}
}

func intentionsOf(service Level) Level {
	return min(service, MayRead)
}

// level is what the token has on a name, and the grant that says so, if any does.
func (c *Compiled) level(r Resource, name string) (Level, *grant) {
	if !r.known() {
		return Deny, nil
	}
	if g := c.trees[r].find(name); g != nil {
		return g.level, g
	}
	return c.def.level(r), nil
}

// Allowed implements Authorizer.
func (c *Compiled) Allowed(r Resource, name string, a Access) bool {
	level, _ := c.level(r, name)
	return level.includes(a)
}

// AllowsAll implements Authorizer. It is true only if there is no rule that could
// forbid anything of the class, for names that do not exist yet too.
func (c *Compiled) AllowsAll(r Resource, a Access) bool { return c.AllowsPrefix(r, "", a) }

// AllowsPrefix implements PrefixAuthorizer.
func (c *Compiled) AllowsPrefix(r Resource, prefix string, a Access) bool {
	if !r.known() {
		return false
	}
	level := c.def.level(r)
	cover, part := c.trees[r].below(prefix)
	if cover != nil {
		level = cover.level
	}
	return level.includes(a) && (part == nil || part.low.includes(a))
}
