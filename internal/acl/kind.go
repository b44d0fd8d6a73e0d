package acl

import (
	"strconv"
	"strings"
)

// Level is what a rule grants. Of two levels the higher one includes the lower.
type Level uint8

const (
	Unset Level = iota // only where a rule says nothing, as of intentions
	Deny
	MayRead
	MayList // of keys: read, and read whole trees at once
	MayWrite
)

var levels = [...]string{Deny: "deny", MayRead: "read", MayList: "list", MayWrite: "write"}

func (l Level) String() string {
	if int(l) < len(levels) {
		return levels[l]
	}
	return ""
}

// parseLevel finds a level by its name in rules.
func parseLevel(text string) Level {
	for l, name := range levels {
		if name == text && name != "" {
			return Level(l)
		}
	}
	return Unset
}

// beats tells whether a level wins over another one of the same rule in another
// policy: deny over write, write over list, list over read.
func (l Level) beats(other Level) bool {
	if l == Deny || other == Deny {
		return l == Deny && other != Deny
	}
	return l > other
}

// includes tells whether a level suffices for an access.
func (l Level) includes(a Access) bool { return l != Unset && l >= needed(a) }

// needed is the lowest level that suffices for an access; unknown ones need a level
// that nobody has.
func needed(a Access) Level {
	switch a {
	case Read:
		return MayRead
	case List:
		return MayList
	case Write:
		return MayWrite
	}
	return MayWrite + 1
}

func (a Access) String() string { return needed(a).String() }

// kind is a word that begins a rule.
type kind struct {
	resource Resource
	name     string // as in rules, without _prefix
	labeled  bool   // has a label, and a variant for prefixes
}

// kinds is the list of all, in the order of the documentation.
var kinds = []kind{
	{ACL, "acl", false},
	{Agent, "agent", true},
	{UserEvent, "event", true},
	{Key, "key", true},
	{Keyring, "keyring", false},
	{Mesh, "mesh", false},
	{Node, "node", true},
	{Operator, "operator", false},
	{Peering, "peering", false},
	{Query, "query", true},
	{Service, "service", true},
	{Session, "session", true},
}

const prefixEnding = "_prefix"

// findKind finds the kind of a rule by its first word. HCL's own decoder does not
// distinguish case, so neither does this.
func findKind(word string) (k kind, prefix, ok bool) {
	word = strings.ToLower(word)
	base, prefix := strings.CutSuffix(word, prefixEnding)
	for _, k := range kinds {
		if k.name == base && (k.labeled || !prefix) {
			return k, prefix, true
		}
	}
	return kind{}, false, false
}

// accepts tells whether a level may be given to things of this kind.
func (k kind) accepts(l Level) bool {
	return Unset < l && l <= MayWrite && (l != MayList || k.resource == Key)
}

func (k kind) levels() string {
	if k.resource == Key {
		return `"deny", "read", "list" and "write"`
	}
	return `"deny", "read" and "write"`
}

// String is the resource as permissions are named in messages.
func (r Resource) String() string {
	if r == Intention {
		return "intention"
	}
	return r.kind().name
}

func (r Resource) known() bool { return 0 < r && r < resources }

func (r Resource) kind() kind {
	if r == Intention {
		r = Service
	}
	for _, k := range kinds {
		if k.resource == r {
			return k
		}
	}
	return kind{}
}

// Rule is one rule of a policy.
type Rule struct {
	Policy     string
	Resource   Resource
	Label      string // empty where the kind has none
	Prefix     bool   // for everything that begins with Label
	Level      Level
	Intentions Level // of services only; Unset: as it follows from Level
	Line       int   // 0: unknown
	Column     int
}

// String is the rule as HCL, on one line.
func (r *Rule) String() string {
	k := r.Resource.kind()
	if !k.labeled {
		return k.name + ` = "` + r.Level.String() + `"`
	}
	word := k.name
	if r.Prefix {
		word += prefixEnding
	}
	text := word + " " + quote(r.Label) + ` { policy = "` + r.Level.String() + `"`
	if r.Intentions != Unset {
		text += ` intentions = "` + r.Intentions.String() + `"`
	}
	return text + " }"
}

// quote makes a text of HCL. What would begin an interpolation is escaped, since
// HCL leaves those as they are.
func quote(label string) string {
	return strings.ReplaceAll(strconv.Quote(label), "${", `\u0024{`)
}
