package fsm

import "github.com/muster-discovery/muster/internal/model"

// Command is one write on its way through the log.
type Command struct {
	Meta model.CommandMeta
	// Op is a *model.Registration, *model.Deregistration, *model.CARootSet,
	// *model.KVOp, *model.SessionCreation, *model.SessionDestruction, *model.Expiry,
	// *model.Txn, *model.QuerySet, *model.QueryDeletion, *model.CoordinateUpdate,
	// *model.AutopilotSet or *model.KVHistorySet; between servers also a
	// *model.SessionRenewal.
	Op any
}

// Result is what one command came to. Err is nil or a *model.Error; Index is the
// state's index of the command, also of one that failed.
type Result struct {
	Index uint64
	Err   error
	// Data is an encoded model.Outcome, nil if there is nothing to tell beyond
	// success. DecodeOutcome reads it.
	Data []byte
}
