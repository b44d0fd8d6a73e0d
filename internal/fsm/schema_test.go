package fsm

import (
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"
)

type (
	protoField = protoreflect.FieldDescriptor
	protoValue = protoreflect.Value
)

// known fails if a message holds fields that the schema does not name.
func known(t *rapid.T, f protoField, v protoValue) bool {
	visit := func(m protoreflect.Message) {
		if u := m.GetUnknown(); len(u) > 0 {
			t.Fatalf("%s: unknown fields %x", m.Descriptor().FullName(), u)
		}
		m.Range(func(f protoField, v protoValue) bool { return known(t, f, v) })
	}
	switch {
	case f.IsMap():
		if f.MapValue().Message() != nil {
			v.Map().Range(func(_ protoreflect.MapKey, v protoValue) bool { visit(v.Message()); return true })
		}
	case f.Message() == nil:
	case f.IsList():
		for i := range v.List().Len() {
			visit(v.List().Get(i).Message())
		}
	default:
		visit(v.Message())
	}
	return true
}
