package lookup

import (
	"slices"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
)

// selection is a compiled question. What does not apply to a type of item is
// ignored: a node has no tags to ask for.
type selection struct {
	encoder *view.Encoder
	catalog Catalog
	passing bool
	healthy bool
	tags    []string // in lower case
	meta    map[string]string
	filter  *expression // nil: none
}

func (l *Lookup) compile(enc *view.Encoder, q *Question) (*selection, error) {
	s := &selection{
		encoder: enc,
		catalog: l.config.Catalog,
		passing: q.Passing,
		healthy: q.Healthy,
		tags:    foldTags(q.Tags),
		meta:    cloneMeta(q.NodeMeta),
	}
	if q.Filter == "" {
		return s, nil
	}
	if enc.FilterValue == nil {
		return nil, model.Errorf(model.KindInvalid, "This list can't be filtered")
	}
	var err error
	s.filter, err = compileExpression(q.Filter, enc.FilterZero)
	return s, err
}

func cloneMeta(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	c := make(map[string]string, len(m))
	for k, v := range m {
		c[strings.Clone(k)] = strings.Clone(v)
	}
	return c
}

// apply is the variant's Select.
func (s *selection) apply(items []*view.Item) ([]*view.Item, error) {
	kept := make([]*view.Item, 0, len(items))
	for _, item := range items {
		item, err := s.narrow(item)
		if err != nil {
			return nil, err
		}
		if item != nil {
			kept = append(kept, item)
		}
	}
	return kept, nil
}

// narrow returns the item as the question asks for it, or nil.
func (s *selection) narrow(item *view.Item) (*view.Item, error) {
	keep := true
	switch v := item.Value.(type) {
	case *model.Instance:
		keep = s.fit(v) && hasTags(v.Service.Tags, s.tags) && hasMeta(v.Node.Meta, s.meta)
	case *model.Service:
		keep = hasTags(v.Tags, s.tags)
	case *model.Node:
		keep = hasMeta(v.Meta, s.meta)
	case *model.NodeServices:
		keep = hasMeta(v.Node.Meta, s.meta)
	case *model.Check:
		keep = len(s.meta) == 0 || s.catalog != nil && hasMeta(s.catalog.NodeMeta(v.Node), s.meta)
	case *model.ServiceSummary:
		return s.summarize(v, item)
	}
	if !keep {
		return nil, nil
	}
	if s.filter == nil {
		return item, nil
	}
	if s.encoder.Narrow != nil {
		value, stays, err := s.encoder.Narrow(item.Value, s.match)
		switch {
		case err != nil || !stays:
			return nil, err
		case value == item.Value:
			return item, nil
		}
		return view.NewItem(value), nil
	}
	if matched, err := s.match(item.Value); err != nil || !matched {
		return nil, err
	}
	return item, nil
}

func (s *selection) fit(i *model.Instance) bool {
	switch {
	case s.passing:
		return i.Status() == model.StatusPassing
	case s.healthy:
		return i.Status() != model.StatusCritical
	}
	return true
}

// match evaluates the filter on a value that FilterValue takes or has returned.
func (s *selection) match(value any) (bool, error) {
	if s.filter.takes(value) {
		return s.filter.match(value)
	}
	return s.filter.match(s.encoder.FilterValue(value))
}

// summarize reduces an entry of the list of services to the instances that the
// question asks for: the entry stays if there is one, with the tags of those.
func (s *selection) summarize(v *model.ServiceSummary, item *view.Item) (*view.Item, error) {
	if len(s.meta) == 0 && s.filter == nil {
		return item, nil
	}
	if s.catalog == nil {
		return nil, nil
	}
	tags := []string{}
	found := false
	for _, instance := range s.catalog.Instances(v.Name) {
		if !hasMeta(instance.Node.Meta, s.meta) {
			continue
		}
		if s.filter != nil {
			if matched, err := s.match(instance); err != nil {
				return nil, err
			} else if !matched {
				continue
			}
		}
		found = true
		tags = append(tags, instance.Service.Tags...)
	}
	if !found {
		return nil, nil
	}
	slices.Sort(tags)
	tags = slices.Compact(tags)
	if slices.Equal(tags, v.Tags) {
		return item, nil
	}
	return view.NewItem(&model.ServiceSummary{Name: v.Name, Tags: tags}), nil
}

// hasTags reports whether all wanted tags are there; case is ignored.
func hasTags(tags, wanted []string) bool {
	for _, w := range wanted {
		if !slices.ContainsFunc(tags, func(t string) bool { return strings.EqualFold(t, w) }) {
			return false
		}
	}
	return true
}

func hasMeta(meta, wanted map[string]string) bool {
	for k, v := range wanted {
		if got, ok := meta[k]; !ok || got != v {
			return false
		}
	}
	return true
}
