package view

import "github.com/muster-discovery/muster/internal/model"

// Content is what a topic held at one index. It never changes; only frames are
// added to it as they are asked for.
type Content struct {
	Topic model.Topic
	Index uint64 // never 0
	Items []*Item

	epoch  uint64 // the hub's count of restores when it was built
	frames frames
}

func newContent(t model.Topic, items []*Item, index, epoch uint64) *Content {
	return &Content{Topic: t, Index: max(index, 1), Items: items, epoch: epoch}
}

// NewContent makes a content outside of any hub, of values in the topic's order.
func NewContent(t model.Topic, values []any, index uint64) *Content {
	items, _ := reuse(nil, values)
	return newContent(t, items, index, 0)
}

// Frame is the content as the encoder assembled it, narrowed by the variant if it
// is not nil, with the number of items in it. It is made once for each encoder and
// variant key and shared, so it must not be modified. An error is the variant's.
func (c *Content) Frame(e *Encoder, v *Variant) (any, int, error) {
	return c.frames.get(e, v, c)
}

// make computes a frame for nobody else.
func (c *Content) make(e *Encoder, v *Variant) (any, int, error) {
	items := c.Items
	if v != nil && v.Select != nil {
		selected, err := v.Select(items)
		if err != nil {
			return nil, 0, err
		}
		items = selected
	}
	if v != nil && v.Sort != nil {
		items = append([]*Item(nil), items...)
		v.Sort(items)
	}
	return e.Assemble(items), len(items), nil
}

// dropFragments forgets what encoders made of the items: where no frame is asked for,
// a later one may well make them anew.
func (c *Content) dropFragments() {
	for _, item := range c.Items {
		item.fragments.Store(nil)
	}
}
