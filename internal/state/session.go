package state

import (
	"slices"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// nodeSession is a session under the folded name of its node.
type nodeSession struct {
	node    string
	session *model.Session
}

func lessNodeSession(a, b nodeSession) bool {
	if c := strings.Compare(a.node, b.node); c != 0 {
		return c < 0
	}
	return a.session.ID < b.session.ID
}

// lock is a key that a session holds.
type lock struct{ session, key string }

func lessLock(a, b lock) bool {
	if c := strings.Compare(a.session, b.session); c != 0 {
		return c < 0
	}
	return a.key < b.key
}

// bound is a session that ends with a check of a node.
type bound struct{ node, check, session string }

func lessBound(a, b bound) bool {
	if c := strings.Compare(a.node, b.node); c != 0 {
		return c < 0
	}
	if c := strings.Compare(a.check, b.check); c != 0 {
		return c < 0
	}
	return a.session < b.session
}

func (t *tables) session(id string) *model.Session {
	s, _ := t.sessions.Get(&model.Session{ID: id})
	return s
}

func (t *tables) eachSessionOf(node string, f func(*model.Session) bool) {
	t.nodeSessions.Ascend(nodeSession{node, &model.Session{}}, func(r nodeSession) bool {
		return r.node == node && f(r.session)
	})
}

// timers are what the leader ends by its clock.
func (t *tables) timers() (items []any) {
	t.sessions.Scan(func(s *model.Session) bool {
		if s.Lifetime() > 0 {
			items = append(items, s)
		}
		return true
	})
	t.delays.Scan(func(d *model.LockDelay) bool { items = append(items, d); return true })
	return items
}

// CreateSession makes a session. Its node must be registered, and its checks exist
// and not be critical.
func (b *Batch) CreateSession(meta *model.CommandMeta, c *model.SessionCreation) (uint64, error) {
	index := b.begin(meta)
	s := c.Session
	if err := b.checkSession(&s); err != nil {
		return index, err
	}
	s.Node = b.s.work.node(model.Fold(s.Node)).node.Name
	s.Indexes = model.Indexes{Create: index, Modify: index}
	b.addSession(&s)
	b.touchSession(&s)
	b.end()
	return index, nil
}

func (b *Batch) checkSession(s *model.Session) error {
	t := b.s.work
	invalid := func(code, format string, args ...any) error {
		return refuse(model.KindInvalid, code, format, args...)
	}
	if s.Behavior == "" {
		s.Behavior = model.BehaviorRelease
	}
	switch {
	case s.ID == "":
		return invalid(model.CodeInvalid, "Must provide ID")
	case s.Node == "":
		return invalid(model.CodeInvalid, "Must provide Node")
	case s.Behavior != model.BehaviorRelease && s.Behavior != model.BehaviorDelete:
		return invalid(model.CodeInvalid, "Invalid Behavior setting '%s'", s.Behavior)
	case t.session(s.ID) != nil:
		return refuse(model.KindConflict, model.CodeExists, "session %q exists", s.ID)
	}
	node := model.Fold(s.Node)
	if t.node(node) == nil {
		return invalid(model.CodeMissingNode, "Missing node registration")
	}
	for _, id := range checksOfSession(s) {
		check := t.check(node, id)
		if check == nil {
			return invalid(model.CodeMissingCheck, "Missing check '%s' registration", id)
		}
		if check.Status == model.StatusCritical {
			return invalid(model.CodeCritical, "Check '%s' is in critical state", id)
		}
	}
	return nil
}

// checksOfSession are the ids of all checks that a session hangs on.
func checksOfSession(s *model.Session) []string {
	ids := slices.Clone(s.NodeChecks)
	for _, c := range s.ServiceChecks {
		ids = append(ids, c.ID)
	}
	return ids
}

// addSession enters a session into the tables.
func (b *Batch) addSession(s *model.Session) { b.s.addSession(s) }

func (s *Store) addSession(e *model.Session) {
	node := model.Fold(e.Node)
	s.work.sessions.Set(e)
	s.work.nodeSessions.Set(nodeSession{node, e})
	for _, id := range checksOfSession(e) {
		s.bound.Set(bound{node, id, e.ID})
	}
}

func (b *Batch) touchSession(s *model.Session) {
	b.touch(model.TopicSession, s.ID)
	b.touch(model.TopicSessions, "")
	b.touch(model.TopicNodeSessions, model.Fold(s.Node))
	if s.Lifetime() > 0 {
		b.touch(model.TopicTimers, "")
	}
}

// DestroySession ends a session on request. One that is not there is no error.
func (b *Batch) DestroySession(meta *model.CommandMeta, d *model.SessionDestruction) (uint64, error) {
	index := b.begin(meta)
	b.endSession(d.ID)
	b.end()
	return index, nil
}

// Expire ends sessions and lock delays whose time has passed.
func (b *Batch) Expire(meta *model.CommandMeta, e *model.Expiry) (uint64, error) {
	index := b.begin(meta)
	for _, id := range e.Sessions {
		b.endSession(id)
	}
	for _, d := range e.Delays {
		if row, ok := b.s.work.delays.Get(&model.LockDelay{Key: d.Key}); ok && row.Index == d.Index {
			b.s.work.delays.Delete(row)
			b.touch(model.TopicTimers, "")
		}
	}
	b.end()
	return index, nil
}

// endSession takes a session away, then gives its locks back or deletes them, in the
// order of keys: the topics are reported in this order too, all under one index, so
// that nobody sees the one without the other.
func (b *Batch) endSession(id string) {
	t := b.s.work
	s := t.session(id)
	if s == nil {
		return
	}
	node := model.Fold(s.Node)
	t.sessions.Delete(s)
	t.nodeSessions.Delete(nodeSession{node, s})
	for _, check := range checksOfSession(s) {
		b.s.bound.Delete(bound{node, check, id})
	}
	b.touchSession(s)
	b.endQueries(id)
	var keys []string
	b.s.locks.Ascend(lock{session: id}, func(l lock) bool {
		if l.session == id {
			keys = append(keys, l.key)
		}
		return l.session == id
	})
	b.kind = model.RevisionSessionEnd
	for _, key := range keys {
		b.freeLock(s, t.key(key))
	}
}

// freeLock takes a key from a session that has ended.
func (b *Batch) freeLock(s *model.Session, old *model.KVEntry) {
	t := b.s.work
	if s.LockDelay > 0 {
		t.delays.Set(&model.LockDelay{Key: old.Key, Delay: s.LockDelay, Index: t.index})
		b.touch(model.TopicTimers, "")
	}
	if s.Behavior == model.BehaviorDelete {
		b.write(old, nil)
		return
	}
	e := *old
	e.Session, e.Modify = "", t.index
	b.write(old, &e)
}

// endSessions ends what hangs on the node, or on a check that went or turned
// critical.
func (c *change) endSessions() {
	t := c.b.s.work
	if t.sessions.Len() == 0 {
		return
	}
	var ids []string
	if c.node == nil {
		t.eachSessionOf(c.key, func(s *model.Session) bool { ids = append(ids, s.ID); return true })
	} else {
		ids = c.boundToWritten()
	}
	for _, id := range ids {
		c.b.endSession(id)
	}
}

// boundToWritten are the sessions on checks that the command took away or made
// critical, by check and id.
func (c *change) boundToWritten() (ids []string) {
	if c.b.s.bound.Len() == 0 {
		return nil
	}
	written := make([]string, 0, len(c.was))
	for id := range c.was {
		written = append(written, id)
	}
	slices.Sort(written)
	for _, check := range written {
		if row := c.b.s.work.check(c.key, check); row != nil && row.Status != model.StatusCritical {
			continue
		}
		c.b.s.bound.Ascend(bound{node: c.key, check: check}, func(r bound) bool {
			if r.node != c.key || r.check != check {
				return false
			}
			ids = append(ids, r.session)
			return true
		})
	}
	return ids
}
