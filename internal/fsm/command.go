package fsm

import "github.com/muster-discovery/muster/internal/model"

// Command is one write on its way through the log.
type Command struct {
	Meta model.CommandMeta
	// Op is a *model.Registration, *model.Deregistration or *model.CARootSet.
	Op any
}

// Result is what one command came to. Err is nil or a *model.Error; Index is the
// state's index of the command, also of one that failed.
type Result struct {
	Index uint64
	Err   error
}
