package model

import "time"

// Ids that Consul's clients know by heart. Everything below the prefix is reserved:
// nobody may choose such an id.
const (
	AnonymousTokenID       = "00000000-0000-0000-0000-000000000002"
	AnonymousSecret        = "anonymous"
	GlobalManagementID     = "00000000-0000-0000-0000-000000000001"
	GlobalReadOnlyID       = "00000000-0000-0000-0000-000000000002"
	ReservedIDPrefix       = "00000000-0000-0000-0000-0000000000"
	GlobalManagementPolicy = "global-management"
	GlobalReadOnlyPolicy   = "builtin/global-read-only"
)

// Token is what a caller presents. Who knows the secret may do what its policies,
// roles and identities allow together. Immutable once in the state.
type Token struct {
	AccessorID        string // public
	SecretID          Secret
	Description       string
	Policies          []Link
	Roles             []Link
	ServiceIdentities []ServiceIdentity
	NodeIdentities    []NodeIdentity
	TemplatedPolicies []TemplatedPolicy
	Local             bool          // known in this datacenter only
	AuthMethod        string        // that it was made by; empty: by an operator
	ExpirationTTL     time.Duration // as given at creation; never stored
	ExpirationTime    time.Time     // zero: never
	CreateTime        time.Time
	Hash              []byte // of what an operator can set
	Indexes
}

// Expired tells whether the token has ended. The moment itself counts as after.
func (t *Token) Expired(now time.Time) bool {
	return !t.ExpirationTime.IsZero() && !now.Before(t.ExpirationTime)
}

// Link points to a policy or a role. The id decides, so that a new name breaks
// nothing.
type Link struct {
	ID   string
	Name string
}

// ServiceIdentity stands for the rules that an instance of a service and its proxy
// need.
type ServiceIdentity struct {
	ServiceName string
	Datacenters []string // where it counts; empty: everywhere
}

// NodeIdentity stands for the rules that an agent needs.
type NodeIdentity struct {
	NodeName   string
	Datacenter string // where it counts
}

// TemplatedPolicy stands for the rules of a template, with its variables filled in.
type TemplatedPolicy struct {
	TemplateID   string
	TemplateName string
	Variables    *TemplateVariables
	Datacenters  []string // where it counts; empty: everywhere
}

// TemplateVariables are what a template may ask for.
type TemplateVariables struct {
	Name string
}

// Policy is a named text of rules. Immutable once in the state.
type Policy struct {
	ID          string
	Name        string
	Description string
	Rules       string
	Datacenters []string // where it counts; empty: everywhere
	Hash        []byte   // of what an operator can set
	Indexes
}

// Role is a named bundle of policies and identities. Immutable once in the state.
type Role struct {
	ID                string
	Name              string
	Description       string
	Policies          []Link
	ServiceIdentities []ServiceIdentity
	NodeIdentities    []NodeIdentity
	TemplatedPolicies []TemplatedPolicy
	Hash              []byte // of what an operator can set
	Indexes
}

// BindType is what a binding rule gives to a token.
type BindType string

const (
	BindService         BindType = "service"
	BindNode            BindType = "node"
	BindRole            BindType = "role"
	BindPolicy          BindType = "policy"
	BindTemplatedPolicy BindType = "templated-policy"
)

// BindingRule says what a token gets at a login with an auth method. Immutable once
// in the state.
type BindingRule struct {
	ID          string
	Description string
	AuthMethod  string
	Selector    string // an expression about the identity; empty: every identity
	BindType    BindType
	BindName    string // may hold interpolations
	BindVars    *TemplateVariables
	Indexes
}

// Where the tokens of an auth method are known. Empty means local.
const (
	LocalityLocal  = "local"
	LocalityGlobal = "global"
)

// AuthMethod is a party outside whose word is taken for an identity at login.
// Immutable once in the state.
type AuthMethod struct {
	Name          string
	Type          string
	DisplayName   string
	Description   string
	MaxTokenTTL   time.Duration // 0: the tokens do not expire
	TokenLocality string
	Config        map[string]any // what the type asks for; may hold credentials
	Indexes
}
