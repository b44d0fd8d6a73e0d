package wire

import "time"

// Accusation is one agent that held another for dead.
type Accusation struct {
	Time          time.Time
	Accuser       string
	Accused       string
	Kind          string // suspected, declared-failed or refuted
	Confirmations int
	WAN           bool
}
