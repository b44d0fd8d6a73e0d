package dnsapi

import (
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
)

// plan is a name and type with everything that can be known before the lookup.
// Plans are read-only and may outlive the settings they were made from.
type plan struct {
	target  target
	qtype   uint16
	hot     bool
	rcode   int // of names that need no lookup
	request lookup.Request
	ttl     uint32
	from    *settings
	ordered bool // records keep the order of the frame's items
}

// maxPlans bounds the plans of all UDP readers together, connPlans those of one
// TCP connection. A plan takes some 600 bytes with its key; the names that clients
// really ask for are few, and made-up ones are without number.
const (
	maxPlans  = 8192
	connPlans = 32
)

// plans keeps a worker's plans by wire name and type.
type plans struct {
	known map[string]*plan
	limit int
}

// find returns the plan for a key without allocating. A plan from other settings
// is as good as none.
func (ps *plans) find(key []byte, s *settings) *plan {
	p := ps.known[string(key)]
	if p == nil || p.from != s {
		return nil
	}
	return p
}

func (ps *plans) add(key []byte, p *plan) {
	if len(ps.known) >= ps.limit {
		for k := range ps.known { // any one
			delete(ps.known, k)
			break
		}
	}
	ps.known[string(key)] = p
}

// plan works out how to answer a name and type. An error is lookup's.
func (s *Server) plan(q *query, set *settings) (*plan, error) {
	p := &plan{target: s.zones.classify(q.name), qtype: q.qtype, from: set}
	address := q.qtype == typeA || q.qtype == typeAAAA
	switch p.target.kind {
	case kindNothing:
		p.rcode = rcodeNXDomain
		p.hot = address || q.qtype == typeSRV || q.qtype == typeTXT
	case kindEmpty:
		p.hot = address
	case kindService, kindConnect:
		p.hot = address || q.qtype == typeSRV
		p.target.branch = p.target.branch && address
	case kindNode, kindInstance:
		p.hot = address
	}
	if err := s.prepare(p); err != nil {
		return nil, err
	}
	// What needs no lookup needs no leader either.
	p.hot = p.hot && (set.AllowStale || p.request.Encoder == nil)
	p.request.AtOnce = p.hot
	return p, nil
}

// request is a lookup as far as the settings say, without a bound on staleness
// (see worker.lookup).
func (s *Server) request(set *settings) lookup.Request {
	r := lookup.Request{Token: set.Token, Mode: lookup.ModeDefault}
	if set.AllowStale {
		r.Mode = lookup.ModeStale
	}
	return r
}

// prepare fills in the plan's lookup.
func (s *Server) prepare(p *plan) error {
	set, t := p.from, &p.target
	p.request = s.request(set)
	p.request.Datacenter = t.dc
	switch t.kind {
	case kindService, kindConnect:
		topic := model.TopicService
		if t.kind == kindConnect {
			topic = model.TopicConnect
		}
		question := lookup.Question{Healthy: true, Passing: set.OnlyPassing}
		if t.tag != "" {
			question.Tags = []string{t.tag}
		}
		encoder := serviceEncoder
		if set.SRVInstance && p.qtype == typeSRV {
			encoder = instanceEncoder
		}
		v, err := s.lookup.Prepare(encoder, question)
		if err != nil {
			return err
		}
		p.request.Topic = model.NewTopic(topic, t.name)
		p.request.Encoder, p.request.Variant = encoder, v
		p.ttl = set.serviceTTL(t.name)
	case kindInstance:
		p.request.Topic = model.NewTopic(model.TopicService, t.name)
		p.request.Encoder = instanceEncoder
		p.ttl = set.serviceTTL(t.name)
	case kindNode:
		p.request.Topic = model.NewTopic(model.TopicNode, t.name)
		p.request.Encoder = nodeEncoder
		p.ttl = set.nodeTTL
	}
	return nil
}
