package lookup

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/trace"
	"github.com/muster-discovery/muster/internal/view"
)

// Config is what a Lookup works with. Hub, Leader and Resolve are needed; zero
// durations stand for the defaults.
type Config struct {
	Hub    *view.Hub
	Leader LeaderInfo
	// LeaderChanged returns a channel that is closed when another leader, or none, is
	// known than at the call: who waits for a leader asks again at once. Nil: now and then.
	LeaderChanged func() <-chan struct{}
	Resolve       func(token string) (acl.Authorizer, error)
	Datacenter    string
	Node          string  // the own node: what near=_agent means
	Catalog       Catalog // nil: node metadata of checks, and services by instance, can't be asked for

	// Reader is for transactions and the history of keys; nil where none are asked for.
	Reader Reader

	// Remote answers what this agent has no state for; nil on servers.
	Remote Remote
	// Distance is the estimated round-trip time between two nodes, false if it is
	// not known. Nil: never known.
	Distance func(from, to string) (time.Duration, bool)

	DefaultWait time.Duration // of blocking queries
	MaxWait     time.Duration
	CatchUp     time.Duration // how long the local state may take to reach the leader's index
	Hold        time.Duration // how long an election may take before readers are turned away
}

// DefaultConfig has the durations that Consul's clients expect. CatchUp is far above
// what replication takes; Hold covers the loss of a leader that falls silent.
func DefaultConfig() Config {
	return Config{
		DefaultWait: 5 * time.Minute,
		MaxWait:     10 * time.Minute,
		CatchUp:     5 * time.Second,
		Hold:        3 * time.Second,
	}
}

// LeaderInfo is what lookup needs to know of the cluster. Calls may overlap.
type LeaderInfo interface {
	// Known reports whether a leader is known.
	Known() bool
	// IsLeader reports whether this server may answer for the cluster: it leads, its
	// lease holds, and its state has everything committed before its term.
	IsLeader() bool
	// LastContact is the age of the last word from the leader, 0 on the leader.
	LastContact() time.Duration
	// ReadTopic asks the leader for a topic of which this server has the index have;
	// consistent makes the leader verify that it is one with a majority first. Failures
	// that another try may cure have the kinds NotLeader, NoLeader or Unavailable.
	ReadTopic(ctx context.Context, t model.Topic, have uint64, consistent bool) (TopicState, error)
}

// TopicState is a topic at the leader.
type TopicState struct {
	Index uint64
	// Items are what is in it, if Whole is set: the leader leaves out what the asker
	// has already or what is too much to send.
	Items []any
	Whole bool
}

// Catalog answers what items alone don't tell.
type Catalog interface {
	NodeMeta(node string) map[string]string
	Instances(service string) []*model.Instance
}

// Lookup answers requests. Its methods may be called from any goroutine.
type Lookup struct {
	config   Config
	prepared cache
	rounds   rounds
	jitter   func(limit time.Duration) time.Duration // replaced by tests
}

// New makes a Lookup.
func New(c Config) *Lookup {
	d := DefaultConfig()
	for _, p := range []struct{ set, otherwise *time.Duration }{
		{&c.DefaultWait, &d.DefaultWait}, {&c.MaxWait, &d.MaxWait}, {&c.CatchUp, &d.CatchUp}, {&c.Hold, &d.Hold},
	} {
		if *p.set <= 0 {
			*p.set = *p.otherwise
		}
	}
	return &Lookup{config: c, jitter: func(limit time.Duration) time.Duration { return rand.N(limit + 1) }}
}

// Do answers a request. The request is not kept.
func (l *Lookup) Do(ctx context.Context, r *Request) (*Answer, error) {
	a := new(Answer)
	if err := l.Find(ctx, r, a); err != nil {
		return nil, err
	}
	return a, nil
}

// Find is Do for callers with an Answer to fill, such as the DNS hot path.
func (l *Lookup) Find(ctx context.Context, r *Request, a *Answer) error {
	rec := trace.From(ctx)
	if r.Datacenter != "" && r.Datacenter != l.config.Datacenter {
		rec.Add("source", "no path to datacenter")
		return model.Errorf(model.KindNoPath, "No path to datacenter")
	}
	auth, err := l.config.Resolve(r.Token)
	if err != nil {
		rec.Add("permission", "token refused")
		return err
	}
	shared := r.all || allowsAll(auth, r.Topic.Kind)
	if rec != nil {
		rec.Addf("permission", "everything of the topic: %t", shared)
	}

	f, err := l.newest(ctx, r, rec)
	if err != nil {
		return err
	}
	if err := l.frame(&f, r, auth, shared, a); err != nil {
		return err // its text is for the client as it is
	}
	if rec != nil {
		rec.Addf("frame", "%d items by %s, shared: %t", a.Count, r.Encoder.Name, !f.selected && shared && keepable(r.Topic.Kind, r.Variant))
	}
	a.Index, a.KnownLeader, a.LastContact, a.Cached = f.content.Index, f.known, f.contact, f.cached
	return nil
}

// found is what a request is answered from.
type found struct {
	content *view.Content
	contact time.Duration // how old it may be
	known   bool          // whoever had it knows a leader
	cached  bool          // a client agent had it
	// selected contents were made for this request: they hold only what its question
	// asks for and its token may see.
	selected bool
}

// newest finds the content that the request's mode asks for, once its index has
// passed the one to wait for.
func (l *Lookup) newest(ctx context.Context, r *Request, rec *trace.Recorder) (found, error) {
	if l.config.Remote != nil {
		return l.remote(ctx, r, rec)
	}
	var f found
	var err error
	if f.content, f.contact, err = l.source(ctx, r, rec); err != nil {
		return f, err
	}
	if r.MinIndex > 0 && f.content.Index <= r.MinIndex {
		f.content = l.wait(ctx, r, rec)
		f.contact = l.config.Leader.LastContact() // as old as that it may be now
	}
	f.known = l.config.Leader.Known()
	return f, nil
}

// frame fills in the answer's frame.
func (l *Lookup) frame(f *found, r *Request, auth acl.Authorizer, shared bool, a *Answer) (err error) {
	v := r.Variant
	if f.selected && v != nil {
		v = &view.Variant{Private: true, Sort: v.Sort} // the rest was done where it was found
	}
	if shared && keepable(r.Topic.Kind, v) {
		a.Frame, a.Count, err = f.content.Frame(r.Encoder, v)
		return err
	}
	a.Frame, a.Count, err = l.private(f.content, r.Encoder, v, auth)
	return err
}

// wait lets a blocking query wait on the local view.
func (l *Lookup) wait(ctx context.Context, r *Request, rec *trace.Recorder) *view.Content {
	d := l.waitTime(r.Wait)
	if rec != nil {
		rec.Addf("wait", "for an index above %d, at most %s", r.MinIndex, d)
	}
	content := l.config.Hub.WaitFor(ctx, r.Topic, r.MinIndex, d)
	if rec != nil {
		rec.Addf("wait", "ended with index %d", content.Index)
	}
	return content
}

// waitTime bounds a wait and lengthens it by up to a sixteenth, so that callers
// that were woken together don't come back together.
func (l *Lookup) waitTime(d time.Duration) time.Duration {
	if d <= 0 {
		d = l.config.DefaultWait
	}
	d = min(d, l.config.MaxWait)
	return d + l.jitter(d/16)
}
