package wire

import (
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
)

// The agent's own lists are not views, but their filters work as those of views
// do: these encoders have shapes to filter on and make no frames.
var (
	AgentServicesFilter = filterOnly("agent services", func(v any) any { return serviceFilterOf(v.(*model.Service)) }, serviceFilter{})
	AgentChecksFilter   = filterOnly("agent checks", func(v any) any { return checkFilterOf(v.(*model.Check)) }, checkFilter{})
	AgentMembersFilter  = filterOnly("agent members", func(v any) any { return v.(*Member) }, Member{})
)

func filterOnly(name string, value func(any) any, zero any) *view.Encoder {
	return view.NewEncoder(view.Encoder{
		Name:        name,
		Assemble:    func([]*view.Item) any { return nil },
		FilterValue: value,
		FilterZero:  zero,
	})
}
