package state

import (
	"fmt"

	"github.com/muster-discovery/muster/internal/model"
)

// query is the prepared query with that id, or nil.
func (t *tables) query(id string) *model.Query {
	q, _ := t.queries.Get(&model.Query{ID: id})
	return q
}

// SetQuery creates or replaces a prepared query. Queries are few and rarely written:
// conflicts of names are found by looking at all of them.
func (b *Batch) SetQuery(meta *model.CommandMeta, op *model.QuerySet) (uint64, error) {
	index := b.begin(meta)
	q := op.Query
	if err := b.checkQuery(&q, op.Update); err != nil {
		return index, err
	}
	q.Indexes = model.Indexes{Create: index, Modify: index}
	if old := b.s.work.query(q.ID); old != nil {
		q.Create = old.Create
	}
	b.s.work.queries.Set(&q)
	b.touch(model.TopicQueries, "")
	b.end()
	return index, nil
}

// checkQuery: a query is found by id or name, so a name may be neither that of
// another query nor look like its id.
func (b *Batch) checkQuery(q *model.Query, update bool) error {
	t := b.s.work
	switch exists := t.query(q.ID) != nil; {
	case q.ID == "":
		return refuse(model.KindInvalid, model.CodeInvalid, "Must provide ID")
	case update && !exists:
		return refuse(model.KindInvalid, model.CodeNotFound, "Cannot modify non-existent prepared query: '%s'", q.ID)
	case !update && exists:
		return refuse(model.KindConflict, model.CodeExists, "query %q exists", q.ID)
	case q.Session != "" && t.session(q.Session) == nil:
		return refuse(model.KindConflict, model.CodeSession, "invalid session")
	}
	var err error
	name := model.Fold(q.Name)
	t.queries.Scan(func(o *model.Query) bool {
		switch {
		case o.ID == q.ID:
		case name != "" && model.Fold(o.Name) == name:
			err = refuse(model.KindConflict, model.CodeExists, "name '%s' aliases an existing query name", q.Name)
		case name == "" && q.Template.Type != "" && o.Name == "" && o.Template.Type != "":
			err = refuse(model.KindConflict, model.CodeExists, "a query template with an empty name already exists")
		case name != "" && model.Fold(o.ID) == name:
			err = refuse(model.KindConflict, model.CodeExists, "name '%s' aliases an existing query ID", q.Name)
		}
		return err == nil
	})
	return err
}

// DeleteQuery removes a prepared query.
func (b *Batch) DeleteQuery(meta *model.CommandMeta, op *model.QueryDeletion) (uint64, error) {
	index := b.begin(meta)
	old := b.s.work.query(op.ID)
	if old == nil {
		return index, refuse(model.KindInvalid, model.CodeNotFound, "Cannot modify non-existent prepared query: '%s'", op.ID)
	}
	b.s.work.queries.Delete(old)
	b.touch(model.TopicQueries, "")
	b.end()
	return index, nil
}

// endQueries removes the queries that go with a session.
func (b *Batch) endQueries(session string) {
	t := b.s.work
	if t.queries.Len() == 0 {
		return
	}
	var gone []*model.Query
	t.queries.Scan(func(q *model.Query) bool {
		if q.Session == session {
			gone = append(gone, q)
		}
		return true
	})
	for _, q := range gone {
		t.queries.Delete(q)
		b.touch(model.TopicQueries, "")
	}
}

func (r *Restorer) addQuery(q *model.Query) error {
	t := r.s.work
	if q.ID == "" || t.query(q.ID) != nil || q.Session != "" && t.session(q.Session) == nil {
		return fmt.Errorf("query %q: no id, twice, or of a session that is not there", q.ID)
	}
	t.queries.Load(q)
	return nil
}
