package fsm

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-discovery/muster/internal/model"
)

func genAutopilot(t *rapid.T) model.Autopilot {
	duration := func() time.Duration { return time.Duration(rapid.Int64().Draw(t, "duration")) }
	return model.Autopilot{CleanupDeadServers: rapid.Bool().Draw(t, "cleanup"), LastContactThreshold: duration(),
		MaxTrailingLogs: rapid.Uint64().Draw(t, "logs"), MinQuorum: rapid.Uint64().Draw(t, "quorum"),
		ServerStabilizationTime: duration(), RedundancyZoneTag: genString(t),
		DisableUpgradeMigration: rapid.Bool().Draw(t, "migration"), UpgradeVersionTag: genString(t), Indexes: genIndexes(t)}
}

func genAutopilotSet(t *rapid.T) *model.AutopilotSet {
	set := &model.AutopilotSet{Config: genAutopilot(t)}
	if rapid.Bool().Draw(t, "expect") {
		v := rapid.Uint64().Draw(t, "index")
		set.ExpectIndex = &v
	}
	return set
}

func sampleAutopilot() *model.AutopilotSet {
	none := uint64(0)
	set := &model.AutopilotSet{Config: model.DefaultAutopilot(), ExpectIndex: &none}
	set.Config.MinQuorum, set.Config.UpgradeVersionTag = 3, "v"
	return set
}

// TestGoldenAutopilot pins what was added to format 1 for autopilot.
func TestGoldenAutopilot(t *testing.T) {
	command := encode(t, &Command{Meta: sample(1).Meta, Op: sampleAutopilot()})
	golden(t, "testdata/command_1_autopilot.bin", command)
	f := newFixture()
	if r := f.Apply([][]byte{command}); r[0].Err != nil {
		t.Fatal(r[0].Err)
	}
	image := f.snapshot(t)
	golden(t, "testdata/snapshot_1_autopilot.bin", image)
	g := newFixture()
	if err := g.Restore(bytes.NewReader(image)); err != nil {
		t.Fatal(err)
	}
	got, want := g.store.Snapshot().Autopilot(), sampleAutopilot().Config
	want.Indexes = model.Indexes{Create: 2, Modify: 2}
	if got == nil || *got != want {
		t.Errorf("restored %+v, want %+v", got, want)
	}
	if !bytes.Equal(image, g.snapshot(t)) {
		t.Error("the snapshot of the restored state differs")
	}
}
