package model

import "time"

// Autopilot is how the leader decides which servers vote: the replicated
// configuration of autopilot.
type Autopilot struct {
	CleanupDeadServers      bool
	LastContactThreshold    time.Duration // a server silent for longer is unhealthy
	MaxTrailingLogs         uint64        // a server further behind is unhealthy
	MinQuorum               uint64        // dead servers are not removed below this number of voters
	ServerStabilizationTime time.Duration // a new server votes after having been healthy for this long

	// Kept for clients that send them; features of Consul's paid edition.
	RedundancyZoneTag       string
	DisableUpgradeMigration bool
	UpgradeVersionTag       string

	Indexes
}

// DefaultAutopilot is what counts where nothing else was set, and for the fields that
// a client leaves out.
func DefaultAutopilot() Autopilot {
	return Autopilot{
		CleanupDeadServers:      true,
		LastContactThreshold:    200 * time.Millisecond,
		MaxTrailingLogs:         250,
		ServerStabilizationTime: 10 * time.Second,
	}
}

// AutopilotSet replaces autopilot's configuration. If ExpectIndex is not nil the write
// is refused with KindConflict unless the configuration's index is that one; 0 expects
// that there is none.
type AutopilotSet struct {
	Config      Autopilot
	ExpectIndex *uint64
}
