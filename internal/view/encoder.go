package view

// Encoder turns a content into what an edge sends: a JSON body, packed DNS
// records. Edges make theirs with NewEncoder at start-up.
type Encoder struct {
	Name string
	// Fragment encodes one item's value; the result is kept with the item. Nil
	// if Assemble works on the values. Assemble gets it by Item.Fragment.
	Fragment func(value any) any
	// Assemble makes the frame, once for each content and variant. The result is
	// shared by all callers and must not be modified. It must not keep items.
	Assemble func(items []*Item) any
	// Changes makes the frame of a change: of the items to put in place and those to
	// remove, which are as they were before. Nil: the encoder's topics are not
	// streamed. The result is shared as Assemble's is.
	Changes func(upsert, remove []*Item) any
	// FilterValue gives the shape that filter expressions are evaluated on. Nil:
	// the encoder's answers can't be filtered. For the list of services (items of
	// type *model.ServiceSummary) the argument is each *model.Instance of the
	// service in turn: the filter keeps instances, and the summary that is left has
	// their tags only.
	FilterValue func(value any) any
	// Narrow, if set, applies a filter inside one item (the services of a node):
	// it returns the value reduced to what match accepts, and whether the item
	// stays. Match takes what FilterValue takes or returns.
	Narrow func(value any, match func(any) (bool, error)) (any, bool, error)
	// FilterZero is a zero value of the type that FilterValue returns, so that
	// expressions can be checked where there is nothing to evaluate them on.
	// Selectors are its exported fields by their Go name, another name given by
	// the tag `bexpr:"name"` ("-" hides), or else their JSON name.
	FilterZero any
}

// NewEncoder makes an encoder. It panics if functions are missing that belong
// together, since that is a mistake in the program. The result must not be
// changed; contents keep frames by its address.
func NewEncoder(e Encoder) *Encoder {
	switch {
	case e.Name == "":
		panic("view: encoder without a name")
	case e.Assemble == nil:
		panic("view: encoder " + e.Name + " has no Assemble")
	case (e.FilterValue == nil) != (e.FilterZero == nil):
		panic("view: encoder " + e.Name + " needs both or none of FilterValue and FilterZero")
	case e.Narrow != nil && e.FilterValue == nil:
		panic("view: encoder " + e.Name + " has Narrow without FilterValue")
	}
	return &e
}
