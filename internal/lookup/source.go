package lookup

import (
	"context"
	"time"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/trace"
	"github.com/muster-discovery/muster/internal/view"
)

// source returns the content to answer from, as new as the request's mode asks
// for, and how old it may be. Data comes from the local view; the leader is asked
// for the index that the view must have reached, and for what is in the topic where
// it has not.
func (l *Lookup) source(ctx context.Context, r *Request, rec *trace.Recorder) (*view.Content, time.Duration, error) {
	if r.Mode == ModeStale {
		contact := l.config.Leader.LastContact()
		if r.MaxStale <= 0 || contact <= r.MaxStale {
			if rec != nil {
				rec.Addf("source", "local view, stale reads allowed, leader heard %s ago", contact)
			}
			return l.config.Hub.Content(r.Topic), contact, nil
		}
		rec.Add("source", "local view is too old, asking the leader")
	}
	if r.Mode != ModeConsistent && l.config.Leader.IsLeader() {
		rec.Add("source", "local view, as leader with a lease")
		return l.config.Hub.Content(r.Topic), 0, nil
	}
	have := l.config.Hub.Content(r.Topic)
	t, err := l.readTopic(ctx, r.Topic, have.Index, r.Mode == ModeConsistent)
	if err != nil {
		if rec != nil {
			rec.Addf("source", "leader: %s", err)
		}
		return nil, 0, err
	}
	if have.Index < t.Index {
		have = l.config.Hub.Content(r.Topic) // it may have come in the meantime
	}
	if have.Index < t.Index && t.Whole {
		if rec != nil {
			rec.Addf("source", "the leader's items at index %d, local view has %d", t.Index, have.Index)
		}
		return view.NewContent(r.Topic, t.Items, t.Index), 0, nil
	}
	if rec != nil {
		rec.Addf("source", "local view, at the leader's index %d", t.Index)
	}
	content, err := l.catchUp(ctx, r.Topic, t.Index)
	return content, 0, err
}

// firstPause is how long an election is given before the first new try. Failover
// takes 25 to 40 ms where it goes fast (prototypes.md 1).
const firstPause = 10 * time.Millisecond

// readTopic asks the leader, and holds the caller over an election: readers should
// not notice one. When the leader has been gone for longer than that, everybody
// is told at once.
func (l *Lookup) readTopic(ctx context.Context, t model.Topic, have uint64, consistent bool) (TopicState, error) {
	leader := l.config.Leader
	deadline := time.Now().Add(l.config.Hold)
	for pause := firstPause; ; pause = min(2*pause, 20*firstPause) {
		var state TopicState
		err := model.Errorf(model.KindNoLeader, "No cluster leader")
		changed := l.leaderChanged()
		known := leader.Known()
		if known {
			state, err = leader.ReadTopic(ctx, t, have, consistent)
		}
		if err == nil || !passing(err) {
			return state, err
		}
		pause += l.jitter(pause / 2)
		if !known && leader.LastContact() > l.config.Hold || time.Now().Add(pause).After(deadline) {
			return state, err
		}
		if !await(ctx, changed, pause) {
			return state, err
		}
	}
}

// passing tells errors that an election brings about and ends.
func passing(err error) bool {
	switch model.KindOf(err) {
	case model.KindNotLeader, model.KindNoLeader, model.KindUnavailable:
		return true
	}
	return false
}

// leaderChanged is the signal on which to try again before the pause is over.
func (l *Lookup) leaderChanged() <-chan struct{} {
	if l.config.LeaderChanged == nil {
		return nil
	}
	return l.config.LeaderChanged()
}

func sleep(ctx context.Context, d time.Duration) bool { return await(ctx, nil, d) }

// await sleeps until a signal.
func await(ctx context.Context, signal <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-signal:
		return true
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// recheck is how often a topic's index is looked up while waiting for it, since the
// index of things that don't exist rises without waking anybody.
const recheck = 20 * time.Millisecond

// catchUp waits until the local state has the topic's index, which the leader has.
func (l *Lookup) catchUp(ctx context.Context, t model.Topic, index uint64) (*view.Content, error) {
	hub := l.config.Hub
	content := hub.Content(t)
	if content.Index >= index {
		return content, nil
	}
	for deadline := time.Now().Add(l.config.CatchUp); ; {
		if content = hub.Refresh(t); content.Index >= index {
			return content, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, model.Errorf(model.KindUnavailable, "read canceled: %s", err)
		}
		if !time.Now().Before(deadline) {
			return nil, model.Errorf(model.KindUnavailable,
				"This server did not reach index %d of the leader within %s; retry, or allow stale reads", index, l.config.CatchUp)
		}
		hub.WaitFor(ctx, t, index-1, recheck)
	}
}
