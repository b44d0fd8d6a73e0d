package state

import (
	"slices"

	"github.com/muster-discovery/muster/internal/model"
)

// SetCARoots replaces the set of mesh roots. With ExpectIndex it is refused unless
// the index of the set's topic is still that one; 0 expects that there is none.
func (b *Batch) SetCARoots(meta *model.CommandMeta, set *model.CARootSet) (uint64, error) {
	index := b.begin(meta)
	t := b.s.work
	if e := set.ExpectIndex; e != nil && *e != t.static[staticCARoots] && (*e != 0 || len(t.roots) > 0) {
		return index, model.Errorf(model.KindConflict, "the CA roots changed at index %d, not at %d as expected",
			t.static[staticCARoots], *e)
	}
	roots := make([]*model.CARoot, 0, len(set.Roots))
	for _, in := range set.Roots {
		roots = append(roots, t.nextRoot(in))
	}
	if t.clusterID == set.ClusterID && slices.Equal(roots, t.roots) {
		return index, nil
	}
	t.roots, t.clusterID = roots, set.ClusterID
	b.touch(model.TopicCARoots, "")
	b.end()
	return index, nil
}

// nextRoot is the stored root if it is the same, else a new value for it.
func (t *tables) nextRoot(in *model.CARoot) *model.CARoot {
	root := *in
	root.Indexes = model.Indexes{Create: t.index, Modify: t.index}
	for _, old := range t.roots {
		if old.ID != root.ID {
			continue
		}
		root.Indexes = old.Indexes
		if equalRoot(&root, old) {
			return old
		}
		root.Modify = t.index
	}
	return &root
}
