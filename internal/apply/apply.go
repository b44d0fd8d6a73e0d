package apply

import (
	"cmp"
	"context"
	"crypto/rand"
	"time"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/fsm"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/retry"
)

// Committer is this server's end of the replicated log.
type Committer interface {
	// Commit replicates an encoded command and returns what the state machine
	// answered. It fails with KindNotLeader where another server leads.
	Commit(ctx context.Context, command []byte) (fsm.Result, error)
}

// Forwarder hands a command to the leader's apply. It fails with KindNoLeader
// while none is known, with KindUnavailable when nothing was sent and with
// KindUncertain when the answer got lost.
type Forwarder interface {
	Forward(ctx context.Context, token, source string, command []byte) (index uint64, data []byte, err error)
}

// Config joins the write path to the server's other parts.
type Config struct {
	Committer Committer
	Forwarder Forwarder
	// LeaderChanged returns a channel that is closed when another leader, or none, is
	// known than at the call: a write that waits for a leader tries again at once. Nil:
	// it tries now and then.
	LeaderChanged func() <-chan struct{}
	// Leaderless is for how long no leader has been known. A write does not wait for one
	// where that is longer than Hold already. Nil: it always waits.
	Leaderless func() time.Duration
	Resolve    func(token string) (acl.Authorizer, error)
	Datacenter string
	// Hold bounds how long a write waits for a leader: an election on a LAN takes
	// well under it, a lost quorum should be told soon.
	Hold time.Duration
	// Renew starts a session's time to live anew, on the leader; nil where nothing
	// ends sessions. It answers once this server is known to lead still.
	Renew func(ctx context.Context, id string) (*model.Session, error)
	// SessionNode names the node of a session that this server knows. Nil: then
	// sessions are ended and renewed only by who may write all of them.
	SessionNode func(id string) (node string, ok bool)
	// QueryName is the name of a prepared query that this server knows. Nil: then queries
	// are removed only by who may write all of them.
	QueryName func(id string) (name string, ok bool)
	// SessionTTLMin is the shortest time to live of a session. 0: the default.
	SessionTTLMin time.Duration
	// Space refuses writes when there is no room for them; nil: there always is.
	Space Space
	// Registered reports whether all that a registration names is registered already. Nil:
	// nobody knows, and without space each is refused.
	Registered func(r *model.Registration) bool
}

// DefaultHold covers a lost leader that only its timeout tells, twice over.
const DefaultHold = 5 * time.Second

// Caller says who writes and through what.
type Caller struct {
	Token  string // secret as the caller sent it, may be empty
	Source string // edge or duty, for history and audit: "http", "anti-entropy", "leader"
}

// Apply is the write path of one server.
type Apply struct {
	cfg Config
}

// New makes the write path.
func New(cfg Config) *Apply {
	if cfg.Hold == 0 {
		cfg.Hold = DefaultHold
	}
	if cfg.SessionTTLMin == 0 {
		cfg.SessionTTLMin = DefaultSessionTTLMin
	}
	return &Apply{cfg: cfg}
}

// Register creates or updates a node with a service and checks. The returned
// index is the one that the state gave the write.
func (a *Apply) Register(ctx context.Context, who Caller, r *model.Registration) (uint64, error) {
	if err := completeRegistration(r); err != nil {
		return 0, err
	}
	index, _, err := a.write(ctx, who, r.Datacenter, r)
	return index, err
}

// Deregister removes a check, a service or a node.
func (a *Apply) Deregister(ctx context.Context, who Caller, d *model.Deregistration) (uint64, error) {
	if d.Node == "" {
		return 0, &model.Error{Kind: model.KindInvalid, Field: "Node", Text: "Must provide node"}
	}
	index, _, err := a.write(ctx, who, d.Datacenter, d)
	return index, err
}

// SetCARoots replaces the mesh's roots.
func (a *Apply) SetCARoots(ctx context.Context, who Caller, s *model.CARootSet) (uint64, error) {
	index, _, err := a.write(ctx, who, "", s)
	return index, err
}

// SetAutopilot replaces the configuration of autopilot.
func (a *Apply) SetAutopilot(ctx context.Context, who Caller, s *model.AutopilotSet) error {
	_, _, err := a.write(ctx, who, "", s)
	return err
}

// SetHistory says how much history of keys is kept: the leader's duty.
func (a *Apply) SetHistory(ctx context.Context, who Caller, s *model.KVHistorySet) error {
	_, _, err := a.write(ctx, who, "", s)
	return err
}

// ForwardedApply commits a command that another server's apply has encoded and sent
// here because this server leads. Its permission is decided again: the sender's
// word is not taken for it. Data is the encoded outcome.
func (a *Apply) ForwardedApply(ctx context.Context, token string, command []byte) (index uint64, data []byte, err error) {
	cmd, err := fsm.Decode(command)
	if err != nil {
		return 0, nil, model.Errorf(model.KindInvalid, "forwarded command: %v", err)
	}
	if err := a.authorize(token, cmd.Op); err != nil {
		return 0, nil, err
	}
	return a.commit(ctx, cmd.Op, "", command) // its word on its source is not taken either
}

// RelayedApply is ForwardedApply for client agents, which don't know who leads: if
// this server does not, it asks the one that does, once. Permission is decided where
// the command is committed.
func (a *Apply) RelayedApply(ctx context.Context, token string, command []byte) (index uint64, data []byte, err error) {
	index, data, err = a.ForwardedApply(ctx, token, command)
	if model.KindOf(err) == model.KindNotLeader {
		return a.cfg.Forwarder.Forward(ctx, token, "", command)
	}
	return index, data, err
}

func (a *Apply) write(ctx context.Context, who Caller, dc string, op any) (index uint64, data []byte, err error) {
	if dc != "" && dc != a.cfg.Datacenter {
		return 0, nil, model.Errorf(model.KindNoPath, "No path to datacenter")
	}
	if err := a.authorize(who.Token, op); err != nil {
		return 0, nil, err
	}
	cmd := fsm.Command{Op: op, Meta: model.CommandMeta{
		Time:       time.Now(),
		Datacenter: a.cfg.Datacenter,
		Source:     who.Source,
	}}
	rand.Read(cmd.Meta.RequestID[:]) // never fails: it ends the program instead
	command, err := fsm.Encode(&cmd)
	if err != nil {
		return 0, nil, model.Errorf(model.KindInvalid, "encode command: %v", err)
	}

	ctx, cancel := context.WithTimeout(ctx, a.cfg.Hold)
	defer cancel()
	backoff := retry.Backoff{Min: 10 * time.Millisecond, Max: 250 * time.Millisecond, Jitter: 0.5}
	var doubt error // an attempt whose answer was lost: what fails later does not undo it
	for {
		changed := a.leaderChanged()
		index, data, err := a.commit(ctx, op, who.Source, command)
		if model.KindOf(err) == model.KindNotLeader {
			index, data, err = a.cfg.Forwarder.Forward(ctx, who.Token, who.Source, command)
		}
		if !repeatable(err) {
			return index, data, err
		}
		if model.KindOf(err) == model.KindUncertain {
			doubt = err
		}
		if a.leaderGone(err) || !waitFor(ctx, changed, backoff.Next()) {
			return 0, nil, cmp.Or(doubt, err)
		}
	}
}

// leaderGone tells whether to wait for a leader is in vain: a quorum is lost, and an
// election would have ended long ago.
func (a *Apply) leaderGone(err error) bool {
	return model.KindOf(err) == model.KindNoLeader && a.cfg.Leaderless != nil && a.cfg.Leaderless() > a.cfg.Hold
}

func (a *Apply) leaderChanged() <-chan struct{} {
	if a.cfg.LeaderChanged == nil {
		return nil
	}
	return a.cfg.LeaderChanged()
}

// waitFor waits for the signal, but no longer than a pause; false if ctx ends first.
func waitFor(ctx context.Context, signal <-chan struct{}, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-signal:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// commit has an operation done here, which only the leader can.
func (a *Apply) commit(ctx context.Context, op any, source string, command []byte) (uint64, []byte, error) {
	if r, ok := op.(*model.SessionRenewal); ok {
		return a.renewHere(ctx, r)
	}
	if err := a.admit(op, source, len(command)); err != nil {
		return 0, nil, err
	}
	res, err := a.cfg.Committer.Commit(ctx, command)
	if err != nil {
		return 0, nil, err
	}
	return res.Index, res.Data, res.Err
}

// repeatable tells errors that an election or a lost connection explains. The
// request id makes the repetition safe also when the first try was committed.
func repeatable(err error) bool {
	if err == nil {
		return false
	}
	switch model.KindOf(err) {
	case model.KindNotLeader, model.KindNoLeader, model.KindUncertain, model.KindUnavailable:
		return true
	}
	return false
}
