package view

import "slices"

// Change is what happened to a topic between two of its contents, as one step: the
// items that are new or different, and those that they took the place of or that are
// gone. It never changes; only frames are added to it.
type Change struct {
	To uint64 // the index of the content after it

	now    []*Item // in order
	before []*Item // in order; what now replaces, and what is gone
	frames frames
}

func (c *Change) empty() bool { return len(c.now)+len(c.before) == 0 }

// Frame is the change as the encoder's Changes made it, narrowed by the variant if
// it is not nil, with the number of items and removals in it: for some variants
// nothing may have changed. It is shared and kept as Content.Frame's are.
func (c *Change) Frame(e *Encoder, v *Variant) (any, int, error) {
	return c.frames.get(e, v, c)
}

func (c *Change) make(e *Encoder, v *Variant) (any, int, error) {
	upsert, remove, err := c.Split(v, nil)
	if err != nil {
		return nil, 0, err
	}
	return e.Changes(upsert, remove), len(upsert) + len(remove), nil
}

// Split is what the change is to somebody who sees the variant's items, and of these
// only what permit returns, if it is not nil: the items to put in place, and those
// to remove, which are as they were before. An item that the variant does not select
// any more is one to remove.
func (c *Change) Split(v *Variant, permit func(*Item) *Item) (upsert, remove []*Item, err error) {
	if upsert, err = pick(c.now, v, permit); err != nil {
		return nil, nil, err
	}
	before, err := pick(c.before, v, permit)
	if err != nil {
		return nil, nil, err
	}
	i := 0
	for _, old := range before {
		for i < len(upsert) && order(upsert[i].Value, old.Value) < 0 {
			i++
		}
		if i == len(upsert) || !sameKey(upsert[i].Value, old.Value) {
			remove = append(remove, old)
		}
	}
	return upsert, remove, nil
}

func pick(items []*Item, v *Variant, permit func(*Item) *Item) ([]*Item, error) {
	if v != nil && v.Select != nil && len(items) > 0 {
		var err error
		if items, err = v.Select(items); err != nil {
			return nil, err
		}
	}
	if permit == nil {
		return items, nil
	}
	permitted := make([]*Item, 0, len(items))
	for _, i := range items {
		if i = permit(i); i != nil {
			permitted = append(permitted, i)
		}
	}
	return permitted, nil
}

// merge makes one change of the touches of successive steps: per key, what was there
// first and what is there in the end.
func merge(touches []touch, end *Content) *Change {
	touches = slices.Clone(touches)
	slices.SortStableFunc(touches, func(a, b touch) int { return order(a.key, b.key) })
	c := &Change{To: end.Index}
	for k, t := range touches {
		if k > 0 && order(touches[k-1].key, t.key) == 0 {
			continue // touched before: that is what was there first
		}
		at, found := slices.BinarySearchFunc(end.Items, t.key, func(i *Item, key any) int { return order(i.Value, key) })
		if found && t.was != nil && same(t.was, end.Items[at].Value) {
			continue // it is what it was
		}
		if found {
			c.now = append(c.now, end.Items[at])
		}
		if t.was != nil {
			c.before = append(c.before, NewItem(t.was))
		}
	}
	return c
}
