package query

import (
	"slices"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// Fits reports whether a query chooses an instance.
func Fits(s *model.QueryService, i *model.Instance) bool {
	return healthy(s, i) && hasPairs(i.Node.Meta, s.NodeMeta) && hasPairs(i.Service.Meta, s.ServiceMeta) &&
		hasTags(i.Service.Tags, s.Tags)
}

// healthy: no critical check counts, and with OnlyPassing none that is not passing.
func healthy(s *model.QueryService, i *model.Instance) bool {
	for _, c := range i.Checks {
		if slices.Contains(s.IgnoreCheckIDs, c.ID) {
			continue
		}
		if c.Status == model.StatusCritical || s.OnlyPassing && c.Status != model.StatusPassing {
			return false
		}
	}
	return true
}

func hasPairs(meta, wanted map[string]string) bool {
	for k, v := range wanted {
		if got, ok := meta[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// hasTags: all wanted tags are there, in any case of their letters, and none with "!".
func hasTags(tags, wanted []string) bool {
	for _, w := range wanted {
		name, not := strings.CutPrefix(w, "!")
		if slices.ContainsFunc(tags, func(t string) bool { return strings.EqualFold(t, name) }) == not {
			return false
		}
	}
	return true
}

// Targets are the places to ask in turn when nothing was found here: the nearest
// datacenters first, then the listed ones. Others are the other datacenters that can
// be reached, the nearest first; what is not among them is left out.
func Targets(f *model.QueryFailover, others []string) []model.QueryTarget {
	var out []model.QueryTarget
	add := func(dc string) {
		t := model.QueryTarget{Datacenter: dc}
		if slices.Contains(others, dc) && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	for _, dc := range others[:min(f.NearestN, len(others))] {
		add(dc)
	}
	for _, dc := range f.Datacenters {
		add(dc)
	}
	for _, t := range f.Targets {
		if t.Peer == "" {
			add(t.Datacenter)
		}
	}
	return out
}
