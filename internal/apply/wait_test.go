package apply

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/model"
)

// A write that waits for a leader goes on when there is one, not when its pause ends.
func TestNewLeaderEndsThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed := make(chan struct{})
		log := &fakeLog{}
		for range 8 { // by then the pauses are far longer than a millisecond
			log.errs = append(log.errs, kind(model.KindNoLeader))
		}
		a := newApply(log, &fakeForwarder{}, acl.AllowAll{})
		var last time.Time
		a.cfg.LeaderChanged = func() <-chan struct{} {
			last = time.Now()
			if len(log.commands) == 7 { // the eighth attempt
				time.AfterFunc(time.Millisecond, func() { close(changed) })
				return changed
			}
			return nil
		}
		if _, err := a.Register(t.Context(), Caller{}, node()); err != nil {
			t.Fatal(err)
		}
		if len(log.commands) != 9 || time.Since(last) != 0 {
			t.Errorf("%d attempts, the last %v ago", len(log.commands), time.Since(last))
		}
		start := time.Now()
		if !waitFor(t.Context(), changed, time.Minute) || time.Since(start) != 0 {
			t.Error("waited although the signal was there")
		}
	})
}

// A quorum that has long been lost is told at once; a leader that was lost just now is
// waited for.
func TestLostQuorumIsToldAtOnce(t *testing.T) {
	for _, tt := range []struct{ leaderless, took time.Duration }{
		{DefaultHold + time.Second, 0},
		{time.Second, DefaultHold},
	} {
		synctest.Test(t, func(t *testing.T) {
			log := &fakeLog{}
			for range 100 {
				log.errs = append(log.errs, kind(model.KindNoLeader))
			}
			a := newApply(log, &fakeForwarder{}, acl.AllowAll{})
			a.cfg.Leaderless = func() time.Duration { return tt.leaderless }
			start := time.Now()
			_, err := a.Register(t.Context(), Caller{}, node())
			if took := time.Since(start); model.KindOf(err) != model.KindNoLeader || took != tt.took {
				t.Errorf("leaderless for %s: %v after %s, want %s", tt.leaderless, err, took, tt.took)
			}
		})
	}
}

// What fails after an answer was lost does not make the write undone.
func TestDoubtRemains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &fakeLog{errs: []error{kind(model.KindUncertain)}}
		for range 100 {
			log.errs = append(log.errs, kind(model.KindNoLeader))
		}
		if _, err := newApply(log, &fakeForwarder{}, acl.AllowAll{}).Register(t.Context(), Caller{}, node()); model.KindOf(err) != model.KindUncertain {
			t.Errorf("%v", err)
		}
	})
}
