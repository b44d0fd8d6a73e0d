package leader

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

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
		id = newUUID()
	}
	root, err := ca.NewRoot(id, 1, time.Now())
	if err != nil {
		return err
	}
	l.cfg.Logger.Info("made the mesh's root certificate", "id", root.ID)
	return l.cfg.Writer.SetCARoots(ctx, &model.CARootSet{ClusterID: id, Roots: []*model.CARoot{root}, ExpectIndex: new(uint64)})
}

// newUUID makes a random UUID (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
