package lookup

import (
	"context"
	"time"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/model"
)

// HistoryAnswer is what was found of a key's history.
type HistoryAnswer struct {
	Revisions   []*model.Revision // newest first; shared, read-only
	Index       uint64            // of the key's last change
	KnownLeader bool
	LastContact time.Duration
}

// KeyHistory answers with the revisions of a key, at most limit of them; 0 is no limit.
// Of the request Datacenter, Token, Mode, MaxStale, MinIndex and Wait count. Revisions
// that only age out wake nobody.
func (l *Lookup) KeyHistory(ctx context.Context, r *Request, key string, limit int) (*HistoryAnswer, error) {
	if r.Datacenter != "" && r.Datacenter != l.config.Datacenter {
		return nil, model.Errorf(model.KindNoPath, "No path to datacenter")
	}
	auth, err := l.config.Resolve(r.Token)
	if err != nil {
		return nil, err
	}
	if !auth.Allowed(acl.Key, key, acl.Read) {
		return nil, model.Errorf(model.KindDenied, "Permission denied: needs key:read on %q", key)
	}
	contact, err := l.reach(ctx, r)
	if err != nil {
		return nil, err
	}
	a := &HistoryAnswer{LastContact: contact}
	a.Revisions, a.Index = l.config.Reader.KeyHistory(key, limit)
	if r.MinIndex > 0 && a.Index <= r.MinIndex {
		topic := model.Topic{Kind: model.TopicKVKey, Name: key}
		l.config.Hub.WaitFor(ctx, topic, r.MinIndex, l.waitTime(r.Wait))
		a.Revisions, a.Index = l.config.Reader.KeyHistory(key, limit)
		a.LastContact = l.config.Leader.LastContact()
	}
	a.KnownLeader = l.config.Leader.Known()
	return a, nil
}
