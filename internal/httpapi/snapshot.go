package httpapi

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/wire"
)

// Snapshots are archives of the cluster's whole state. What only the leader can do
// fails with KindNotLeader elsewhere. Calls may overlap.
type Snapshots interface {
	// Save makes an archive with everything that was acknowledged before the call,
	// or, stale, one of what this server has. The caller closes it.
	Save(ctx context.Context, c apply.Caller, stale bool) (*SavedSnapshot, error)
	// Compare reads an archive to its end and tells what a restore would replace.
	Compare(ctx context.Context, c apply.Caller, archive io.Reader) (*wire.SnapshotComparison, error)
	// Restore replaces the state by an archive's, on all servers. Nothing changes
	// unless the whole archive is right.
	Restore(ctx context.Context, c apply.Caller, archive io.Reader) error
	// Merge writes an archive's keys below a prefix into the present state.
	Merge(ctx context.Context, c apply.Caller, archive io.Reader, o MergeOptions) (*wire.SnapshotMerge, error)
}

// SavedSnapshot is an archive that is ready to be sent.
type SavedSnapshot struct {
	io.ReadCloser
	Size        int64
	Index       uint64
	KnownLeader bool
	LastContact time.Duration
}

// MergeOptions say which keys are restored.
type MergeOptions struct {
	Prefix string
	Delete bool // keys below the prefix that the archive does not have
	DryRun bool // only count
}

var contentArchive = []string{"application/x-gzip"}

func snapshotSave(c *call) error {
	if err := c.ownDatacenter(); err != nil {
		return err
	}
	c.unhurried()
	saved, err := c.s.cfg.Snapshots.Save(c.r.Context(), c.caller(), c.stale)
	if err != nil {
		return rpc(err)
	}
	defer saved.Close()
	h := c.w.Header()
	h["Content-Type"] = contentArchive
	h["Content-Length"] = []string{strconv.FormatInt(saved.Size, 10)}
	h["X-Consul-Index"] = []string{strconv.FormatUint(saved.Index, 10)}
	h["X-Consul-Knownleader"] = []string{strconv.FormatBool(saved.KnownLeader)}
	h["X-Consul-Lastcontact"] = []string{strconv.FormatInt(saved.LastContact.Milliseconds(), 10)}
	c.writeHeader(http.StatusOK)
	// The client sees by the length if it ends too early.
	if _, err := io.Copy(steady{c}, saved); err != nil {
		c.s.cfg.Logger.Debug("snapshot was not sent to its end", "err", err)
	}
	return nil
}

func snapshotRestore(c *call) error {
	if err := c.ownDatacenter(); err != nil {
		return err
	}
	c.unhurried()
	if err := c.s.cfg.Snapshots.Restore(c.r.Context(), c.caller(), steady{c}); err != nil {
		return rpc(err)
	}
	return c.nothing()
}

func snapshotCompare(c *call) error {
	if err := c.ownDatacenter(); err != nil {
		return err
	}
	c.unhurried()
	found, err := c.s.cfg.Snapshots.Compare(c.r.Context(), c.caller(), steady{c})
	if err != nil {
		return rpc(err)
	}
	return c.json(found)
}

// snapshotKeys wants the prefix to be named, also the empty one: it is all keys.
func snapshotKeys(c *call) error {
	if err := c.ownDatacenter(); err != nil {
		return err
	}
	o := MergeOptions{Delete: c.has("delete"), DryRun: c.has("dry-run")}
	var ok bool
	if o.Prefix, ok = c.get("prefix"); !ok {
		return model.Errorf(model.KindInvalid, "Missing prefix: give ?prefix=app/, or ?prefix= for all keys")
	}
	c.unhurried()
	done, err := c.s.cfg.Snapshots.Merge(c.r.Context(), c.caller(), steady{c}, o)
	if err != nil {
		return rpc(err)
	}
	return c.json(done)
}

// unhurried lifts the bound on the whole answer: how long a snapshot takes depends on
// its size. Steady bounds each of its parts instead.
func (c *call) unhurried() {
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Time{}) // recorders have none
}

// steady reads the request's body, and writes the answer's, with a bound on every
// part: a client may be slow, but not silent.
type steady struct{ c *call }

func (s steady) Read(p []byte) (int, error) {
	rc := http.NewResponseController(s.c.w)
	if rc.SetReadDeadline(time.Now().Add(s.c.s.cfg.BodyTimeout)) == nil {
		defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	}
	return s.c.r.Body.Read(p)
}

func (s steady) Write(p []byte) (int, error) {
	rc := http.NewResponseController(s.c.w)
	_ = rc.SetWriteDeadline(time.Now().Add(s.c.s.cfg.BodyTimeout))
	return s.c.w.Write(p)
}
