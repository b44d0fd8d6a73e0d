package agent

import (
	"context"
	"fmt"
	"io"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/httpapi"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/snapshot"
	"github.com/muster-discovery/muster/internal/wire"
)

// Merge implements httpapi.Snapshots. Each transaction is a write like any other,
// with the caller's permissions; together they are not one.
func (s *snapshots) Merge(ctx context.Context, c apply.Caller, archive io.Reader, o httpapi.MergeOptions) (*wire.SnapshotMerge, error) {
	if err := s.permit(c); err != nil {
		return nil, err
	}
	leave, err := s.checks.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := s.s.raft.ReadIndex(ctx); err != nil {
		return nil, err
	}
	f, meta, err := s.receive(archive)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	items, _ := s.s.store.Snapshot().Items(model.Topic{Kind: model.TopicKVPrefix, Name: o.Prefix})
	m := snapshot.Merge{Prefix: o.Prefix, Delete: o.Delete, Present: make([]*model.KVEntry, len(items))}
	for i, v := range items {
		m.Present[i] = v.(*model.KVEntry)
	}
	if !o.DryRun {
		m.Write = func(ops []model.TxnOp) error { return s.transact(ctx, c, ops) }
	}
	if err := m.Run(io.NewSectionReader(f, 0, meta.StateBytes)); err != nil {
		return nil, fmt.Errorf("%w (restored in part, in %d transactions: give the same snapshot again to go on)", err, m.Transactions)
	}
	if !o.DryRun {
		s.log.Info("restored keys from a snapshot", "snapshot", meta.ID, "key", o.Prefix, "count", m.Created+m.Updated+m.Deleted)
	}
	return &wire.SnapshotMerge{
		ID: meta.ID, Index: meta.Index, Prefix: o.Prefix, DryRun: o.DryRun,
		Created: m.Created, Updated: m.Updated, Unchanged: m.Unchanged, Deleted: m.Deleted, Kept: m.Kept,
		Transactions: m.Transactions,
	}, nil
}

func (s *snapshots) transact(ctx context.Context, c apply.Caller, ops []model.TxnOp) error {
	c.Source = "snapshot" // for the keys' history
	out, err := s.s.apply.Transact(ctx, c, "", &model.Txn{Ops: ops})
	if err != nil {
		return err
	}
	for _, e := range out.Errors {
		return model.Errorf(model.KindConflict, "key %q: %s", ops[e.Op].KV.Key, e.Text)
	}
	return nil
}
