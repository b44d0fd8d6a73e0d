package linear

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// register is the model of one key. Its state is the value; as no value is written twice,
// "cas at the index at which x was read" is "cas if the value is x".
var register = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		return stepRegister(state.(string), input.(*Op))
	},
	DescribeOperation: describe,
	DescribeState:     func(state any) string { return fmt.Sprintf("%q", state) },
}

func stepRegister(value string, op *Op) (ok bool, next string) {
	switch op.Kind {
	case Get:
		return op.Value == value, value
	case Put:
		return op.Result != No, op.Value
	case Delete:
		return op.Result != No, ""
	case CAS:
		return conditional(op.Result, op.Expect == value, op.Value, value)
	case DeleteCAS:
		// Nothing to delete is as good as deleted, whatever the index.
		return conditional(op.Result, op.Expect == value || value == "", "", value)
	}
	return false, value
}

// conditional is a step that changes the state only if a condition holds, and whose
// answer tells whether it did.
func conditional[S any](answer Result, holds bool, changed, same S) (bool, S) {
	next := same
	if holds {
		next = changed
	}
	return answer == Unknown || holds == (answer == Yes), next
}

func describe(input, _ any) string {
	op := input.(*Op)
	text := string(op.Kind)
	if op.Expect != "" || op.Kind == CAS {
		text += fmt.Sprintf(" expecting %q", op.Expect)
	}
	if op.Session != "" {
		text += " by " + op.Session[:min(8, len(op.Session))]
	}
	if op.Token != 0 {
		text += fmt.Sprintf(" token %d", op.Token)
	}
	if op.Value != "" || op.Kind == Get || op.Kind == Look {
		text += fmt.Sprintf(" %q", op.Value)
	}
	if op.Index != 0 {
		text += fmt.Sprintf(" at %d", op.Index)
	}
	return fmt.Sprintf("%s: %s (%s)", text, op.Result, op.Via)
}
