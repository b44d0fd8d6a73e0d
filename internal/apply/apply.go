package apply

import (
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
	Forward(ctx context.Context, token, source string, command []byte) (index uint64, err error)
}

// Config joins the write path to the server's other parts.
type Config struct {
	Committer  Committer
	Forwarder  Forwarder
	Resolve    func(token string) (acl.Authorizer, error)
	Datacenter string
	// Hold bounds how long a write waits for a leader: an election on a LAN takes
	// well under it, a lost quorum should be told soon.
	Hold time.Duration
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
	return &Apply{cfg: cfg}
}

// Register creates or updates a node with a service and checks. The returned
// index is the one that the state gave the write.
func (a *Apply) Register(ctx context.Context, who Caller, r *model.Registration) (uint64, error) {
	if err := completeRegistration(r); err != nil {
		return 0, err
	}
	return a.write(ctx, who, r.Datacenter, r)
}

// Deregister removes a check, a service or a node.
func (a *Apply) Deregister(ctx context.Context, who Caller, d *model.Deregistration) (uint64, error) {
	if d.Node == "" {
		return 0, &model.Error{Kind: model.KindInvalid, Field: "Node", Text: "Must provide node"}
	}
	return a.write(ctx, who, d.Datacenter, d)
}

// SetCARoots replaces the mesh's roots.
func (a *Apply) SetCARoots(ctx context.Context, who Caller, s *model.CARootSet) (uint64, error) {
	return a.write(ctx, who, "", s)
}

// ForwardedApply commits a command that another server's apply has encoded and sent
// here because this server leads. Its permission is decided again: the sender's
// word is not taken for it.
func (a *Apply) ForwardedApply(ctx context.Context, token string, command []byte) (uint64, error) {
	cmd, err := fsm.Decode(command)
	if err != nil {
		return 0, model.Errorf(model.KindInvalid, "forwarded command: %v", err)
	}
	if err := a.authorize(token, cmd.Op); err != nil {
		return 0, err
	}
	return a.commit(ctx, command)
}

func (a *Apply) write(ctx context.Context, who Caller, dc string, op any) (uint64, error) {
	if dc != "" && dc != a.cfg.Datacenter {
		return 0, model.Errorf(model.KindNoPath, "No path to datacenter")
	}
	if err := a.authorize(who.Token, op); err != nil {
		return 0, err
	}
	cmd := fsm.Command{Op: op, Meta: model.CommandMeta{
		Time:       time.Now(),
		Datacenter: a.cfg.Datacenter,
		Source:     who.Source,
	}}
	rand.Read(cmd.Meta.RequestID[:]) // never fails: it ends the program instead
	data, err := fsm.Encode(&cmd)
	if err != nil {
		return 0, model.Errorf(model.KindInvalid, "encode command: %v", err)
	}

	ctx, cancel := context.WithTimeout(ctx, a.cfg.Hold)
	defer cancel()
	backoff := retry.Backoff{Min: 10 * time.Millisecond, Max: 250 * time.Millisecond, Jitter: 0.5}
	for {
		index, err := a.commit(ctx, data)
		if model.KindOf(err) == model.KindNotLeader {
			index, err = a.cfg.Forwarder.Forward(ctx, who.Token, who.Source, data)
		}
		if !repeatable(err) {
			return index, err
		}
		if !backoff.Wait(ctx) {
			return 0, err
		}
	}
}

func (a *Apply) commit(ctx context.Context, command []byte) (uint64, error) {
	res, err := a.cfg.Committer.Commit(ctx, command)
	if err != nil {
		return 0, err
	}
	return res.Index, res.Err
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
