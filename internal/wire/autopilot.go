package wire

import (
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// autopilotJSON is the configuration of autopilot, in bodies as in answers.
type autopilotJSON struct {
	CleanupDeadServers      bool
	LastContactThreshold    readable
	MaxTrailingLogs         uint64
	MinQuorum               uint64
	ServerStabilizationTime readable
	RedundancyZoneTag       string
	DisableUpgradeMigration bool
	UpgradeVersionTag       string
	CreateIndex             uint64
	ModifyIndex             uint64
}

// AutopilotJSON is the configuration as clients know it.
func AutopilotJSON(c *model.Autopilot) any {
	return autopilotJSON{
		CleanupDeadServers: c.CleanupDeadServers, LastContactThreshold: readable(c.LastContactThreshold),
		MaxTrailingLogs: c.MaxTrailingLogs, MinQuorum: c.MinQuorum, ServerStabilizationTime: readable(c.ServerStabilizationTime),
		RedundancyZoneTag: c.RedundancyZoneTag, DisableUpgradeMigration: c.DisableUpgradeMigration,
		UpgradeVersionTag: c.UpgradeVersionTag, CreateIndex: c.Create, ModifyIndex: c.Modify,
	}
}

// DecodeAutopilot reads a configuration; what is left out has its default. Fields that
// it does not know are skipped, as clients of later versions have them.
func DecodeAutopilot(data []byte) (*model.Autopilot, error) {
	d := model.DefaultAutopilot()
	body := struct {
		CleanupDeadServers                            bool
		LastContactThreshold, ServerStabilizationTime time.Duration
		MaxTrailingLogs, MinQuorum                    int
		RedundancyZoneTag, UpgradeVersionTag          string
		DisableUpgradeMigration                       bool
	}{CleanupDeadServers: d.CleanupDeadServers, LastContactThreshold: d.LastContactThreshold,
		ServerStabilizationTime: d.ServerStabilizationTime, MaxTrailingLogs: int(d.MaxTrailingLogs)}
	if err := decode(data, &body, looseBody); err != nil {
		return nil, model.Errorf(model.KindInvalid, "Error parsing autopilot config: %v", err)
	}
	if min(int(body.LastContactThreshold), int(body.ServerStabilizationTime), body.MaxTrailingLogs, body.MinQuorum) < 0 {
		return nil, model.Errorf(model.KindInvalid, "Error parsing autopilot config: a number or duration is negative")
	}
	return &model.Autopilot{
		CleanupDeadServers: body.CleanupDeadServers, LastContactThreshold: body.LastContactThreshold,
		MaxTrailingLogs: uint64(body.MaxTrailingLogs), MinQuorum: uint64(body.MinQuorum), ServerStabilizationTime: body.ServerStabilizationTime,
		RedundancyZoneTag: body.RedundancyZoneTag, DisableUpgradeMigration: body.DisableUpgradeMigration,
		UpgradeVersionTag: body.UpgradeVersionTag,
	}, nil
}

// AutopilotHealth is whether the servers are healthy.
type AutopilotHealth struct {
	Healthy          bool
	FailureTolerance int
	Servers          []ServerHealth
}

// ServerHealth is one server's.
type ServerHealth struct {
	ID          string
	Name        string
	Address     string
	SerfStatus  string
	Version     string
	Leader      bool
	LastContact ReadableDuration
	LastTerm    uint64
	LastIndex   uint64
	Healthy     bool
	Voter       bool
	StableSince time.Time
}

// AutopilotState is what autopilot knows about the servers.
type AutopilotState struct {
	Healthy                    bool
	FailureTolerance           int
	OptimisticFailureTolerance int // with redundancy zones, of which there are none
	Servers                    map[string]AutopilotServer
	Leader                     string
	Voters                     []string
	ReadReplicas               []string `json:",omitempty"`
}

// AutopilotServer is one server of the state.
type AutopilotServer struct {
	ID          string
	Name        string
	Address     string
	NodeStatus  string
	Version     string
	LastContact ReadableDuration
	LastTerm    uint64
	LastIndex   uint64
	Healthy     bool
	StableSince time.Time
	ReadReplica bool
	Status      string
	Meta        map[string]string
	NodeType    string
}

// ReadableDuration is written as Go writes durations.
type ReadableDuration = readable
