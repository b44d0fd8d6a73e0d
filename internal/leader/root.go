package leader

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/muster-discovery/muster/internal/ca"
	"github.com/muster-discovery/muster/internal/model"
)

// ensureRoot makes the mesh's first root. The write is conditional on there being
// none, so that two leaders in a row don't both make one.
func (l *Leader) ensureRoot(ctx context.Context) error {
	if !l.cfg.Mesh {
		return nil
	}
	if l.cfg.Catalog.HasCARoots() {
		return nil
	}
	id := l.cfg.ClusterID
	if id == "" {
		id = uuid.NewString()
	}
	root, err := ca.NewRoot(id, 1, time.Now())
	if err != nil {
		return err
	}
	l.cfg.Logger.Info("made the mesh's root certificate", "id", root.ID)
	return l.cfg.Writer.SetCARoots(ctx, &model.CARootSet{ClusterID: id, Roots: []*model.CARoot{root}, ExpectIndex: new(uint64)})
}
