package leader

import (
	"context"
	"slices"
	"testing"

	"github.com/muster-discovery/muster/internal/model"
)

// TestHistorySetting: the leader's setting becomes the cluster's, once.
func TestHistorySetting(t *testing.T) {
	w := newWorld()
	l := newLeader(w)
	for _, step := range []struct {
		set  model.KVHistory
		want []string
	}{
		{model.KVHistory{}, nil},
		{model.KVHistory{Revisions: 10, MaxBytes: 64}, []string{"history 10 64"}},
		{model.KVHistory{Revisions: 10, MaxBytes: 64}, nil},
		{model.KVHistory{Revisions: 10, MaxBytes: 32}, []string{"history 10 32"}},
		{model.KVHistory{}, []string{"history 0 0"}},
		{model.KVHistory{}, nil},
	} {
		w.writes, l.cfg.History = nil, step.set
		if err := l.ensureHistory(context.Background()); err != nil || !slices.Equal(w.writes, step.want) {
			t.Errorf("%+v: %v, wrote %q, want %q", step.set, err, w.writes, step.want)
		}
	}
	w.fail, l.cfg.History.Revisions = 1, 5
	if l.ensureHistory(context.Background()) == nil {
		t.Error("no error")
	}
}
