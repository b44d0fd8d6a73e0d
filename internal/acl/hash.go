package acl

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/muster-discovery/muster/internal/model"
)

// Hashes tell clients and replicas whether anything that an operator can set has
// changed. How they are made is nobody's business but ours.

type hasher struct{ h hash.Hash }

func newHasher() hasher { return hasher{sha256.New()} }

// text adds texts with their lengths, so that no two lists of texts are the same.
func (h hasher) text(texts ...string) {
	h.count(len(texts))
	for _, t := range texts {
		h.count(len(t))
		h.h.Write([]byte(t))
	}
}

func (h hasher) count(n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	h.h.Write(b[:])
}

func (h hasher) links(links []model.Link) {
	h.count(len(links))
	for _, l := range links {
		h.text(l.ID) // the name is the target's
	}
}

func (h hasher) identities(services []model.ServiceIdentity, nodes []model.NodeIdentity, policies []model.TemplatedPolicy) {
	h.count(len(services))
	for _, s := range services {
		h.text(s.ServiceName)
		h.text(s.Datacenters...)
	}
	h.count(len(nodes))
	for _, n := range nodes {
		h.text(n.NodeName, n.Datacenter)
	}
	h.count(len(policies))
	for _, p := range policies {
		h.text(p.TemplateName)
		if p.Variables != nil {
			h.text(p.Variables.Name)
		}
		h.text(p.Datacenters...)
	}
}

func (h hasher) sum() []byte { return h.h.Sum(nil) }

// HashPolicy is the hash of a policy.
func HashPolicy(p *model.Policy) []byte {
	h := newHasher()
	h.text(p.Name, p.Description, p.Rules)
	h.text(p.Datacenters...)
	return h.sum()
}

// HashRole is the hash of a role.
func HashRole(r *model.Role) []byte {
	h := newHasher()
	h.text(r.Name, r.Description)
	h.links(r.Policies)
	h.identities(r.ServiceIdentities, r.NodeIdentities, r.TemplatedPolicies)
	return h.sum()
}

// HashToken is the hash of a token. Its secret is no part of it.
func HashToken(t *model.Token) []byte {
	h := newHasher()
	h.text(t.Description)
	h.links(t.Policies)
	h.links(t.Roles)
	h.identities(t.ServiceIdentities, t.NodeIdentities, t.TemplatedPolicies)
	return h.sum()
}
