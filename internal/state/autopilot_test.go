package state

import (
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// TestAutopilot: who sets the configuration on a condition is refused unless it holds.
func TestAutopilot(t *testing.T) {
	s := New()
	if s.Snapshot().Autopilot() != nil {
		t.Fatal("a new store has a configuration")
	}
	at := func(index uint64) *uint64 { return &index }
	for _, c := range []struct {
		name   string
		expect *uint64
		logs   uint64
		kind   model.ErrorKind
		create uint64 // afterwards
		modify uint64
	}{
		{"expects one, there is none", at(1), 1, model.KindConflict, 0, 0},
		{"expects none", at(0), 2, 0, 3, 3},
		{"expects none, there is one", at(0), 3, model.KindConflict, 3, 3},
		{"without condition", nil, 4, 0, 3, 5},
		{"expects an older one", at(3), 5, model.KindConflict, 3, 5},
		{"expects the present one", at(5), 6, 0, 3, 7},
	} {
		b := s.Batch()
		_, err := b.SetAutopilot(&model.CommandMeta{}, &model.AutopilotSet{ExpectIndex: c.expect,
			Config: model.Autopilot{MaxTrailingLogs: c.logs, ServerStabilizationTime: time.Second}})
		b.Commit()
		if (err != nil) != (c.kind != 0) || err != nil && model.KindOf(err) != c.kind {
			t.Errorf("%s: %v", c.name, err)
		}
		got := s.Snapshot().Autopilot()
		switch {
		case c.create == 0:
			if got != nil {
				t.Errorf("%s: it was set", c.name)
			}
		case got.Create != c.create || got.Modify != c.modify || err == nil && got.MaxTrailingLogs != c.logs:
			t.Errorf("%s: now %+v", c.name, got)
		}
	}
}
