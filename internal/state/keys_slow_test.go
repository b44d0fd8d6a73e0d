package state

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// slowKeys is the obvious version of keys, sessions and transactions, on nodes that
// have nothing but checks. A transaction works on a copy of everything.
type slowKeys struct {
	index, fence uint64
	kv           map[string]model.KVEntry
	sessions     map[string]model.Session
	checks       map[string]map[string]string // status by node, id
	delays       map[string]model.LockDelay
}

func newSlowKeys() *slowKeys {
	return &slowKeys{index: 1, kv: map[string]model.KVEntry{}, sessions: map[string]model.Session{},
		checks: map[string]map[string]string{}, delays: map[string]model.LockDelay{}}
}

func (s *slowKeys) clone() *slowKeys {
	c := *s
	c.kv, c.sessions, c.delays = maps.Clone(s.kv), maps.Clone(s.sessions), maps.Clone(s.delays)
	c.checks = map[string]map[string]string{}
	for n, m := range s.checks {
		c.checks[n] = maps.Clone(m)
	}
	return &c
}

// apply runs a command and returns the code of its refusal, or one for each failed
// operation of a transaction.
func (s *slowKeys) apply(op any) string {
	s.index++
	switch op := op.(type) {
	case *model.Txn:
		c := s.clone()
		if code := c.fenced(op.Fence); code != "" {
			return code
		}
		codes := ""
		for i := range op.Ops {
			if code := c.step(&op.Ops[i]); code != "" {
				codes += fmt.Sprintf("%d %s,", i, code)
			}
		}
		if codes == "" {
			*s = *c
		}
		return codes
	case *model.KVOp:
		return s.write(op)
	case *model.SessionCreation:
		return s.create(op.Session)
	case *model.SessionDestruction:
		s.end(op.ID)
	case *model.Expiry:
		for _, id := range op.Sessions {
			s.end(id)
		}
		for _, d := range op.Delays {
			if s.delays[d.Key].Index == d.Index {
				delete(s.delays, d.Key)
			}
		}
	case *model.Registration:
		s.register(op.Node.Name, op.Checks)
	case *model.Deregistration:
		s.deregister(op.Node, op.CheckID)
	}
	return ""
}

func (s *slowKeys) step(op *model.TxnOp) string {
	switch {
	case op.KV != nil && op.KV.Verb.Reads():
		return s.read(op.KV)
	case op.KV != nil:
		return s.write(op.KV)
	case op.Node != nil && op.Node.Verb == model.CatalogSet:
		s.register(op.Node.Node.Name, nil)
	case op.Node != nil:
		s.deregister(op.Node.Node.Name, "")
	case op.Check != nil:
		n := op.Check.Check.Node
		if s.checks[n] == nil {
			return model.CodeMissingNode
		}
		if op.Check.Verb == model.CatalogSet {
			s.register(n, []*model.Check{&op.Check.Check})
		} else {
			s.deregister(n, op.Check.Check.ID)
		}
	case op.Session != nil:
		s.end(op.Session.ID)
	}
	return ""
}

func (s *slowKeys) register(node string, checks []*model.Check) {
	if s.checks[node] == nil {
		s.checks[node] = map[string]string{}
	}
	for _, c := range checks {
		s.checks[node][c.ID] = c.Status
	}
	s.settle()
}

func (s *slowKeys) deregister(node, check string) {
	if check == "" {
		delete(s.checks, node)
	} else if s.checks[node] != nil {
		delete(s.checks[node], check)
	}
	s.settle()
}

// settle ends every session that has lost what it hangs on.
func (s *slowKeys) settle() {
	for _, e := range s.sessions {
		checks, alive := s.checks[e.Node]
		for _, id := range e.NodeChecks {
			status, ok := checks[id]
			alive = alive && ok && status != "critical"
		}
		if !alive {
			s.end(e.ID)
		}
	}
}

func (s *slowKeys) create(e model.Session) string {
	checks, ok := s.checks[e.Node]
	if _, twice := s.sessions[e.ID]; twice {
		return model.CodeExists
	}
	if !ok {
		return model.CodeMissingNode
	}
	for _, id := range e.NodeChecks {
		if status, ok := checks[id]; !ok {
			return model.CodeMissingCheck
		} else if status == "critical" {
			return model.CodeCritical
		}
	}
	e.Create, e.Modify = s.index, s.index
	s.sessions[e.ID] = e
	return ""
}

func (s *slowKeys) end(id string) {
	e, ok := s.sessions[id]
	if !ok {
		return
	}
	delete(s.sessions, id)
	for key, entry := range s.kv {
		if entry.Session != id {
			continue
		}
		if e.LockDelay > 0 {
			s.delays[key] = model.LockDelay{Key: key, Delay: e.LockDelay, Index: s.index}
		}
		if e.Behavior == model.BehaviorDelete {
			delete(s.kv, key)
			continue
		}
		entry.Session, entry.Modify = "", s.index
		s.kv[key] = entry
	}
}

func (s *slowKeys) fenced(f *model.Fence) string {
	if f != nil && (s.kv[f.Key].Token != f.Token || f.Token == 0) {
		return model.CodeFenced
	}
	return ""
}

func (s *slowKeys) write(op *model.KVOp) string {
	if code := s.fenced(op.Fence); code != "" {
		return code
	}
	old, exists := s.kv[op.Key]
	next := old
	next.Key, next.Value, next.Flags, next.LockIndex, next.Modify = op.Key, op.Value, op.Flags, 0, s.index
	if !exists {
		next.Create = s.index
	}
	switch op.Verb {
	case model.KVDeleteTree:
		maps.DeleteFunc(s.kv, func(k string, _ model.KVEntry) bool { return strings.HasPrefix(k, op.Key) })
		return ""
	case model.KVDelete:
		delete(s.kv, op.Key)
		return ""
	case model.KVDeleteCAS:
		if exists && old.Modify != op.Index {
			return model.CodeStale
		}
		delete(s.kv, op.Key)
		return ""
	case model.KVCAS:
		if op.Index != old.Modify {
			return model.CodeStale
		}
	case model.KVUnlock:
		if op.Session == "" {
			return model.CodeSession
		}
		if old.Session != op.Session {
			return model.CodeNotHeld
		}
		next.Session, next.LockIndex = "", old.LockIndex
	case model.KVLock:
		if _, ok := s.sessions[op.Session]; !ok {
			return model.CodeSession
		}
		_, delayed := s.delays[op.Key]
		switch next.LockIndex = old.LockIndex; {
		case old.Session == op.Session:
		case old.Session != "":
			return model.CodeHeld
		case delayed:
			return model.CodeDelayed
		default:
			s.fence++
			next.Session, next.Token = op.Session, s.fence
			next.LockIndex++
		}
	}
	same := next
	same.Modify = old.Modify
	if !exists || fmt.Sprintf("%#v", same) != fmt.Sprintf("%#v", old) {
		s.kv[op.Key] = next
	}
	return ""
}

func (s *slowKeys) read(op *model.KVOp) string {
	if code := s.fenced(op.Fence); code != "" {
		return code
	}
	e, exists := s.kv[op.Key]
	switch {
	case op.Verb == model.KVCheckNotExists && exists:
		return model.CodeExists
	case op.Verb == model.KVGetOrEmpty, op.Verb == model.KVGetTree, op.Verb == model.KVCheckNotExists:
	case !exists:
		return model.CodeNotFound
	case op.Verb == model.KVCheckIndex && e.Modify != op.Index:
		return model.CodeStale
	case op.Verb == model.KVCheckSession && e.Session != op.Session:
		return model.CodeOtherSession
	}
	return ""
}

// items answers a topic by looking at everything.
func (s *slowKeys) items(t model.Topic) (texts []string) {
	for _, key := range slices.Sorted(maps.Keys(s.kv)) {
		e := s.kv[key]
		if t.Kind == model.TopicKVKey && key == t.Name || t.Kind == model.TopicKVPrefix && strings.HasPrefix(key, t.Name) {
			texts = append(texts, fmt.Sprintf("%#v", e))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.sessions)) {
		e := s.sessions[id]
		switch {
		case t.Kind == model.TopicSessions, t.Kind == model.TopicSession && id == t.Name,
			t.Kind == model.TopicNodeSessions && e.Node == t.Name, t.Kind == model.TopicTimers && e.TTL != "":
			texts = append(texts, fmt.Sprintf("%#v", e))
		}
	}
	if t.Kind == model.TopicTimers {
		for _, key := range slices.Sorted(maps.Keys(s.delays)) {
			texts = append(texts, fmt.Sprintf("%#v", s.delays[key]))
		}
	}
	return texts
}
