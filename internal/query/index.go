package query

import (
	"errors"
	"sync"

	"github.com/muster-discovery/muster/internal/model"
)

// Entry is a query with its template compiled when it is first needed.
type Entry struct {
	query    *model.Query
	template func() (*Template, error)
}

// NewEntry makes an entry.
func NewEntry(q *model.Query) *Entry {
	return &Entry{q, sync.OnceValues(func() (*Template, error) { return Compile(q) })}
}

// Index finds queries by what callers call them. It never changes.
type Index struct {
	ids       map[string]*Entry
	names     map[string]*Entry // folded
	templates map[string]*Entry // by folded prefix
	longest   int               // length of a prefix
	most      int               // length of an id or name
}

// NewIndex makes an index of all queries.
func NewIndex(entries []*Entry) *Index {
	x := &Index{ids: map[string]*Entry{}, names: map[string]*Entry{}, templates: map[string]*Entry{}}
	for _, e := range entries {
		name := model.Fold(e.query.Name)
		x.ids[model.Fold(e.query.ID)] = e
		x.most = max(x.most, len(e.query.ID), len(name))
		switch {
		case e.query.Template.Type != "":
			x.templates[name] = e
			x.longest = max(x.longest, len(name))
		case name != "":
			x.names[name] = e
		}
	}
	return x
}

// ErrTemplateID is for a template asked for by its id: it would not know what name
// to answer for.
var ErrTemplateID = errors.New("prepared query templates can only be resolved up by name, not by ID")

// Find is the query that an id or name means, nil if there is none: the one with that
// id, else that name, else the template with the longest prefix, rendered.
func (x *Index) Find(name string) (*model.Query, error) {
	if name == "" {
		return nil, errors.New("empty query")
	}
	// Names come from anybody and may be of any length.
	folded := model.Fold(name[:min(len(name), max(x.most, x.longest))])
	whole := len(folded) == len(name)
	if e := x.ids[folded]; whole && e != nil {
		if e.query.Template.Type != "" {
			return nil, ErrTemplateID
		}
		return e.query, nil
	}
	if e := x.names[folded]; whole && e != nil {
		return e.query, nil
	}
	for n := min(len(folded), x.longest); n >= 0; n-- {
		e := x.templates[folded[:n]]
		if e == nil {
			continue
		}
		t, err := e.template()
		if err != nil {
			return nil, err
		}
		return t.Render(name)
	}
	return nil, nil
}
