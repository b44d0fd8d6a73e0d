package agent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/fsm"
	"github.com/muster-discovery/muster/internal/httpapi"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/snapshot"
	"github.com/muster-discovery/muster/internal/storage"
	"github.com/muster-discovery/muster/internal/telemetry"
	"github.com/muster-discovery/muster/internal/version"
	"github.com/muster-discovery/muster/internal/wire"
)

// snapshots saves and restores the cluster's state, as HTTP has it.
type snapshots struct {
	s       *server
	machine *fsm.Machine
	spool   spool
	metrics *snapshotMetrics
	log     *slog.Logger
	resolve func(token string) (acl.Authorizer, error)

	saves  gate
	checks gate // of archives that came: each builds a whole state
}

// gate bounds how many are at work; the others wait, as long as their context lasts.
type gate chan struct{}

func (g gate) enter(ctx context.Context) (leave func(), err error) {
	select {
	case g <- struct{}{}:
		return func() { <-g }, nil
	case <-ctx.Done():
		return nil, model.Errorf(model.KindUnavailable, "other snapshots are under way: %v", context.Cause(ctx))
	}
}

var _ httpapi.Snapshots = (*snapshots)(nil)

func newSnapshots(s *server, m *fsm.Machine, dir *storage.Dir, tel *telemetry.Telemetry) (*snapshots, error) {
	spool, err := openSpool(dir)
	if err != nil {
		return nil, err
	}
	return &snapshots{
		s: s, machine: m, spool: spool, resolve: allowAll,
		metrics: newSnapshotMetrics(tel.Registry()), log: tel.Logger("snapshot"),
		saves: make(gate, 2), checks: make(gate, 1),
	}, nil
}

// permit: a snapshot holds everything, secrets too, and a restore replaces it.
func (s *snapshots) permit(c apply.Caller) error {
	authz, err := s.resolve(c.Token)
	if err != nil {
		return err
	}
	if !authz.AllowsAll(acl.Operator, acl.Write) {
		return model.Errorf(model.KindDenied, "Permission denied: needs operator:write")
	}
	return nil
}

// Save implements httpapi.Snapshots. The archive was read back when it returns.
func (s *snapshots) Save(ctx context.Context, c apply.Caller, stale bool) (_ *httpapi.SavedSnapshot, err error) {
	if err := s.permit(c); err != nil {
		return nil, err
	}
	leave, err := s.saves.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if !stale {
		// From here on this server has all that was acknowledged before the call.
		if err := s.s.raft.ReadIndex(ctx); err != nil {
			return nil, err
		}
	}
	start := time.Now()
	defer func() { s.metrics.save(start, err) }()
	a, err := snapshot.Prepare(snapshot.Meta{
		Term: s.s.raft.Term(), Node: s.s.cfg.Node.Name, Datacenter: s.s.cfg.Node.Datacenter,
		Time: start, Muster: version.Muster,
	}, s.machine.Image())
	if err != nil {
		return nil, err
	}
	if err := s.spool.room(a.Meta.StateBytes); err != nil {
		return nil, err
	}
	f, err := s.spool.create()
	if err != nil {
		return nil, err
	}
	size, err := writeVerified(f, a)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.metrics.bytes.WithLabelValues("save").Add(float64(size))
	s.log.Info("saved a snapshot", "index", a.Meta.Index, "bytes", size, "duration", time.Since(start))
	return &httpapi.SavedSnapshot{
		ReadCloser: f, Size: size, Index: a.Meta.Index,
		KnownLeader: s.s.cluster.Known(), LastContact: s.s.cluster.LastContact(),
	}, nil
}

// writeVerified writes an archive and reads it back, up to its beginning.
func writeVerified(f *spoolFile, a *snapshot.Archive) (size int64, err error) {
	out := bufio.NewWriterSize(f, 1<<18)
	if size, err = a.WriteTo(out); err == nil {
		err = out.Flush()
	}
	if err != nil {
		return 0, fmt.Errorf("save a snapshot: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	if _, err := snapshot.Read(f, snapshot.Options{}); err != nil {
		return 0, fmt.Errorf("the snapshot that was just written can't be read back: %w", err)
	}
	_, err = f.Seek(0, io.SeekStart)
	return size, err
}

// Compare implements httpapi.Snapshots.
func (s *snapshots) Compare(ctx context.Context, c apply.Caller, archive io.Reader) (*wire.SnapshotComparison, error) {
	if err := s.permit(c); err != nil {
		return nil, err
	}
	if err := s.s.raft.RequireLeader(); err != nil {
		return nil, err
	}
	leave, err := s.checks.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	meta, err := snapshot.Read(archive, snapshot.Options{Build: true})
	if err != nil {
		return nil, archiveError(err)
	}
	now, err := s.machine.Image().Write(io.Discard)
	if err != nil {
		return nil, err
	}
	return compare(meta, now), nil
}

func compare(meta *snapshot.Meta, now fsm.Summary) *wire.SnapshotComparison {
	w := &wire.SnapshotComparison{
		ID: meta.ID, Index: meta.Index, Node: meta.Node, Datacenter: meta.Datacenter, Time: meta.Time,
		Muster: meta.Muster, CurrentIndex: now.Header.Index, Kinds: []*wire.SnapshotKind{},
	}
	kinds := map[string]*wire.SnapshotKind{}
	kind := func(name string) *wire.SnapshotKind {
		k := kinds[name]
		if k == nil {
			k = &wire.SnapshotKind{Kind: name}
			kinds[name], w.Kinds = k, append(w.Kinds, k)
		}
		return k
	}
	for _, k := range meta.Kinds {
		kind(k.Name).Archive = k.Count
	}
	for _, k := range now.Kinds {
		kind(k.Name).Current = k.Count
	}
	return w
}

// Restore implements httpapi.Snapshots.
func (s *snapshots) Restore(ctx context.Context, c apply.Caller, archive io.Reader) (err error) {
	if err := s.permit(c); err != nil {
		return err
	}
	if err := s.s.raft.RequireLeader(); err != nil {
		return err
	}
	leave, err := s.checks.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	start := time.Now()
	defer func() { s.metrics.restore(start, err) }()
	f, meta, err := s.receive(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	var before uint64
	err = s.s.raft.Restore(ctx, func() (io.Reader, int64, error) {
		known := s.s.store.Snapshot().Header()
		before = known.Index
		return fsm.Raised(f, meta.StateBytes, known, time.Now())
	})
	if err != nil {
		return err
	}
	s.metrics.bytes.WithLabelValues("restore").Add(float64(meta.StateBytes))
	s.log.Warn("restored a snapshot in the place of the state", "snapshot", meta.ID, "replaced_index", before,
		"index", s.s.store.Index(), "duration", time.Since(start))
	return nil
}

// receive spools the state of an archive that passed all checks, building it as a
// restore would among them: a state that can't be restored would stop every server.
func (s *snapshots) receive(archive io.Reader) (*spoolFile, *snapshot.Meta, error) {
	f, err := s.spool.create()
	if err != nil {
		return nil, nil, err
	}
	out := bufio.NewWriterSize(f, 1<<18)
	meta, err := snapshot.Read(archive, snapshot.Options{Build: true, Keep: func(_ *snapshot.Meta, size int64) (io.Writer, error) {
		return out, s.spool.room(2 * size) // here, and once more in Raft's snapshots
	}})
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return nil, nil, errors.Join(archiveError(err), f.Close())
	}
	return f, meta, nil
}

// archiveError tells the faults of an archive from others.
func archiveError(err error) error {
	var fault *snapshot.Error
	if errors.As(err, &fault) {
		return &model.Error{Kind: model.KindInvalid, Text: "restore snapshot: " + fault.Error()}
	}
	return err
}
