package lookup

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

func TestSource(t *testing.T) {
	tests := []struct {
		name    string
		leader  *leader
		request Request
		asked   []string
		contact time.Duration
	}{
		{"stale asks nobody", &leader{contact: time.Hour}, Request{Mode: ModeStale}, nil, time.Hour},
		{"stale within its bound", &leader{known: true, contact: time.Second}, Request{Mode: ModeStale, MaxStale: time.Second}, nil, time.Second},
		{"stale past its bound", &leader{known: true, contact: 2 * time.Second, index: 10}, Request{Mode: ModeStale, MaxStale: time.Second}, []string{"web false"}, 0},
		{"default at the leader", &leader{known: true, self: true}, Request{}, nil, 0},
		{"default at a follower", &leader{known: true, contact: time.Second, index: 10}, Request{}, []string{"web false"}, 0},
		{"consistent at the leader", &leader{known: true, self: true, index: 10}, Request{Mode: ModeConsistent}, []string{"web true"}, 0},
		{"consistent at a follower", &leader{known: true, contact: time.Second, index: 9}, Request{Mode: ModeConsistent}, []string{"web true"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(func(c *Config) { c.Leader = tt.leader })
			tt.request.Topic = web
			a := mustDo(t, f, tt.request)
			if !slices.Equal(tt.leader.asked, tt.asked) {
				t.Errorf("asked %q, want %q", tt.leader.asked, tt.asked)
			}
			if a.LastContact != tt.contact || a.KnownLeader != tt.leader.known || a.Index != 10 {
				t.Errorf("got %+v", a)
			}
		})
	}
}

// A follower that lags waits until it has what the leader has.
func TestCatchUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.leader.self, f.leader.index = false, 11
		start := time.Now()
		go func() {
			time.Sleep(25 * time.Millisecond)
			f.store.set(web, 11)
			f.publish(web)
		}()
		a := mustDo(t, f, Request{Topic: web})
		if d := time.Since(start); d != 25*time.Millisecond || a.Index != 11 || a.Count != 0 {
			t.Errorf("after %s: %+v", d, a)
		}
	})
}

// A follower that lags answers with what the leader sent.
func TestLeaderSendsItems(t *testing.T) {
	f := newFixture()
	f.leader.self, f.leader.index = false, 11
	f.leader.items = f.store.topics[web].values[1:2]
	v, err := f.Prepare(plain, Question{Tags: []string{"v1"}})
	if err != nil {
		t.Fatal(err)
	}
	a := mustDo(t, f, Request{Topic: web})
	if a.Frame != "web-2" || a.Index != 11 {
		t.Errorf("got %+v", a)
	}
	f.leader.items = []any{}
	if a = mustDo(t, f, Request{Topic: web, Variant: v}); a.Count != 0 || a.Index != 11 {
		t.Errorf("got %+v", a)
	}
}

// The index of what doesn't exist rises without waking anybody.
func TestCatchUpWithoutWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		ghost := model.Topic{Kind: model.TopicService, Name: "ghost"}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go f.Do(ctx, &Request{Topic: ghost, Encoder: plain, MinIndex: 100}) // keeps a view alive
		synctest.Wait()
		f.leader.self, f.leader.index = false, 50
		go func() {
			time.Sleep(time.Second)
			f.store.mu.Lock()
			f.store.floor = 50
			f.store.mu.Unlock()
		}()
		if a := mustDo(t, f, Request{Topic: ghost}); a.Index != 50 {
			t.Errorf("got %+v", a)
		}
	})
}

func TestCatchUpEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.leader.self, f.leader.index = false, 11
		start := time.Now()
		_, err := f.Do(t.Context(), &Request{Topic: web, Encoder: plain})
		wantError(t, err, model.KindUnavailable, "")
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("gave up after %s", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = f.Do(ctx, &Request{Topic: web, Encoder: plain})
		wantError(t, err, model.KindUnavailable, "")
		if d := time.Since(start); d != 6*time.Second {
			t.Errorf("went on for %s without a caller", d)
		}
	})
}

// Readers don't notice an election.
func TestElectionIsHeldOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.leader.self, f.leader.known, f.leader.index = false, false, 10
		f.leader.errs = []error{model.Errorf(model.KindNotLeader, "stepped down"), model.Errorf(model.KindUnavailable, "reset")}
		start := time.Now()
		go func() {
			time.Sleep(40 * time.Millisecond)
			f.leader.set(true)
		}()
		if a := mustDo(t, f, Request{Topic: web}); a.Count != 3 {
			t.Errorf("got %+v", a)
		}
		if d := time.Since(start); d > time.Second {
			t.Errorf("took %s", d)
		}
	})
}

func TestNoLeader(t *testing.T) {
	tests := []struct {
		name    string
		contact time.Duration
		errs    []error
		kind    model.ErrorKind
		atLeast time.Duration
		atMost  time.Duration
	}{
		{"just lost", 0, nil, model.KindNoLeader, 2 * time.Second, 3 * time.Second},
		{"lost for long", time.Minute, nil, model.KindNoLeader, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture()
				f.leader.self, f.leader.known, f.leader.contact = false, false, tt.contact
				for _, mode := range []Mode{ModeDefault, ModeConsistent} {
					start := time.Now()
					_, err := f.Do(t.Context(), &Request{Topic: web, Encoder: plain, Mode: mode})
					wantError(t, err, tt.kind, "No cluster leader")
					if d := time.Since(start); d < tt.atLeast || d > tt.atMost {
						t.Errorf("told after %s", d)
					}
				}
			})
		})
	}
}

// Errors that time does not cure are told at once.
func TestLeaderRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.leader.self = false
		f.leader.errs = []error{model.Errorf(model.KindLimit, "too many")}
		_, err := f.Do(t.Context(), &Request{Topic: web, Encoder: plain})
		wantError(t, err, model.KindLimit, "too many")
	})
}

// A blocking query asks the leader once, then waits here, also when the leader is
// lost meanwhile.
func TestBlockingAsksTheLeaderOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.leader.self, f.leader.index = false, 10
		go func() {
			time.Sleep(time.Second)
			f.leader.set(false)
			f.store.set(web, 11)
			f.publish(web)
			time.Sleep(time.Second)
			f.store.set(web, 12)
			f.publish(web)
		}()
		a := mustDo(t, f, Request{Topic: web, MinIndex: 11})
		if a.Index != 12 || a.KnownLeader || len(f.leader.asked) != 1 {
			t.Errorf("got %+v, asked %q", a, f.leader.asked)
		}
	})
}

// Who waits for a leader asks again when there is one, not when the pause ends.
func TestNewLeaderEndsThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.leader.self, f.leader.known, f.leader.index = false, false, 10
		changed := make(chan struct{})
		f.Lookup.config.LeaderChanged = func() <-chan struct{} { return changed }
		start := time.Now()
		go func() {
			time.Sleep(time.Second) // by then the pauses are 200 ms and more
			f.leader.set(true)
			close(changed)
		}()
		if a := mustDo(t, f, Request{Topic: web}); a.Count != 3 {
			t.Errorf("got %+v", a)
		}
		if d := time.Since(start); d != time.Second {
			t.Errorf("took %s", d)
		}
	})
}
