package lookup

import (
	"context"
	"time"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/trace"
	"github.com/muster-discovery/muster/internal/view"
)

// Remote is where a client agent, which has no state, has its answers from. Calls
// may overlap.
type Remote interface {
	// Read has a server answer the request's question: it waits, selects and hides
	// there. Wait is the request's, bounded.
	Read(ctx context.Context, r *Request, wait time.Duration) (*RemoteAnswer, error)
	// Follow has the hub's source keep a topic current from now on, and returns once
	// its content is there, at once if it is already. False: it can't be followed, or
	// no server has sent it yet.
	Follow(ctx context.Context, t model.Topic) bool
	// Age is how long ago a server last confirmed what the source has of the topic, and
	// whether that server knew a leader.
	Age(t model.Topic) (age time.Duration, known bool)
}

// ErrNotHere is for requests that can't be answered at once.
var ErrNotHere error = &model.Error{Kind: model.KindUnavailable, Text: "The agent has to ask a server first"}

// RemoteAnswer is what a server found.
type RemoteAnswer struct {
	Items       []any
	Index       uint64
	KnownLeader bool
	LastContact time.Duration
}

// remote answers on a client agent: from its own view where the mode allows, else
// from a server, and from the view after all where no server answers.
func (l *Lookup) remote(ctx context.Context, r *Request, rec *trace.Recorder) (found, error) {
	if r.AtOnce {
		if !l.config.Remote.Follow(stopped, r.Topic) {
			return found{}, ErrNotHere
		}
		return l.fromView(ctx, r, rec), nil
	}
	if l.viewWillDo(r) && l.config.Remote.Follow(ctx, r.Topic) {
		if f := l.fromView(ctx, r, rec); r.Mode != ModeStale || r.MaxStale <= 0 || f.contact <= r.MaxStale {
			return f, nil
		}
		rec.Add("source", "own view is too old, asking a server")
	}
	answer, err := l.askServer(ctx, r)
	if err == nil {
		rec.Add("source", "a server's answer")
		return found{
			content: view.NewContent(r.Topic, answer.Items, answer.Index),
			contact: answer.LastContact, known: answer.KnownLeader, selected: true,
		}, nil
	}
	if rec != nil {
		rec.Addf("source", "server: %s", err)
	}
	if r.Mode != ModeConsistent && passing(err) && l.config.Remote.Follow(stopped, r.Topic) {
		rec.Add("source", "last known-good view")
		return l.fromView(ctx, r, rec), nil
	}
	if passing(err) {
		err = model.Errorf(model.KindUnavailable, "Agent has not synchronized with the servers: %v", err)
	}
	return found{}, err
}

// viewWillDo tells whether the mode allows an answer that may be a moment old. Who
// waits for a change is told of it as soon as this agent is.
func (l *Lookup) viewWillDo(r *Request) bool {
	return r.Mode == ModeStale || r.Mode == ModeDefault && (r.Cached || r.MinIndex > 0)
}

// stopped asks for what is there without waiting for it.
var stopped = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func (l *Lookup) fromView(ctx context.Context, r *Request, rec *trace.Recorder) found {
	f := found{content: l.config.Hub.Content(r.Topic), cached: true}
	if r.MinIndex > 0 && f.content.Index <= r.MinIndex {
		f.content = l.wait(ctx, r, rec)
	}
	f.contact, f.known = l.config.Remote.Age(r.Topic)
	if rec != nil {
		rec.Addf("source", "own view, confirmed %s ago", f.contact)
	}
	return f
}

// askServer holds the caller over a change of servers or of the leader.
func (l *Lookup) askServer(ctx context.Context, r *Request) (*RemoteAnswer, error) {
	wait := time.Duration(0)
	if r.MinIndex > 0 {
		wait = l.waitTime(r.Wait)
	}
	deadline := time.Now().Add(l.config.Hold)
	for pause := firstPause; ; pause = min(2*pause, 20*firstPause) {
		answer, err := l.config.Remote.Read(ctx, r, wait)
		if err == nil || !passing(err) {
			return answer, err
		}
		pause += l.jitter(pause / 2)
		if time.Now().Add(pause).After(deadline) || !sleep(ctx, pause) {
			return nil, err
		}
	}
}
