package fsm

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/muster-discovery/muster/internal/model"
)

// The codec of autopilot's configuration. The numbers are those of pb/log.proto.

func (w *writer) autopilotSet(o *model.AutopilotSet) {
	w.embed(1, func() { w.autopilot(&o.Config) })
	if o.ExpectIndex != nil { // 0 has a meaning
		w.buf = protowire.AppendTag(w.buf, 2, protowire.VarintType)
		w.buf = protowire.AppendVarint(w.buf, *o.ExpectIndex)
	}
}

func (r *reader) autopilotSet(o *model.AutopilotSet) {
	for r.next() {
		switch r.num {
		case 1:
			r.embedded(func(m *reader) { m.autopilot(&o.Config) })
		case 2:
			v := r.uint()
			o.ExpectIndex = &v
		default:
			r.unknown("AutopilotSet")
		}
	}
}

func (w *writer) autopilot(c *model.Autopilot) {
	w.bool(1, c.CleanupDeadServers)
	w.int(2, int(c.LastContactThreshold))
	w.uint(3, c.MaxTrailingLogs)
	w.uint(4, c.MinQuorum)
	w.int(5, int(c.ServerStabilizationTime))
	w.string(6, c.RedundancyZoneTag)
	w.bool(7, c.DisableUpgradeMigration)
	w.string(8, c.UpgradeVersionTag)
	w.uint(9, c.Create)
	w.uint(10, c.Modify)
}

func (r *reader) autopilot(c *model.Autopilot) {
	for r.next() {
		switch r.num {
		case 1:
			c.CleanupDeadServers = r.bool()
		case 2:
			c.LastContactThreshold = time.Duration(r.int())
		case 3:
			c.MaxTrailingLogs = r.uint()
		case 4:
			c.MinQuorum = r.uint()
		case 5:
			c.ServerStabilizationTime = time.Duration(r.int())
		case 6:
			c.RedundancyZoneTag = r.string()
		case 7:
			c.DisableUpgradeMigration = r.bool()
		case 8:
			c.UpgradeVersionTag = r.string()
		case 9:
			c.Create = r.uint()
		case 10:
			c.Modify = r.uint()
		default:
			r.unknown("Autopilot")
		}
	}
}
