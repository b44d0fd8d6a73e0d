package state

import (
	"maps"
	"slices"
	"sort"

	"github.com/muster-discovery/muster/internal/model"
)

// putCheck writes a check whose owner (node or instance) is known to exist and
// keeps the owners' lists.
func (c *change) putCheck(old, new *checkRow) {
	t := c.b.s.work
	c.remember(old, new)
	if old != nil {
		if new == nil {
			t.checks.Delete(old)
		}
		if old.Status != model.StatusPassing && (new == nil || new.Status != old.Status) {
			t.failing.Delete(old)
		}
		if new == nil || new.ServiceID != old.ServiceID {
			c.disown(&old.Check)
		}
	}
	if new != nil {
		t.checks.Set(new)
		if new.Status != model.StatusPassing {
			t.failing.Set(new)
		}
		c.own(&new.Check)
	}
}

// remember keeps what a check was before the command, which may write it twice.
func (c *change) remember(old, new *checkRow) {
	row := new
	if row == nil {
		row = old
	}
	if c.was == nil {
		c.was = make(map[string]*checkRow)
	}
	if _, again := c.was[row.ID]; !again {
		c.was[row.ID] = old
	}
}

// touchChecks reports the checks that came out different.
func (c *change) touchChecks() {
	for _, id := range slices.Sorted(maps.Keys(c.was)) {
		if old := c.was[id]; old != nil {
			c.touchCheck(&old.Check)
		}
		if now := c.b.s.work.check(c.key, id); now != nil {
			c.touchCheck(&now.Check)
		}
	}
}

func (c *change) touchCheck(check *model.Check) {
	c.b.touch(model.TopicChecks, "")
	c.b.touch(model.TopicNodeChecks, c.key)
	c.b.touch(model.TopicChecksState, check.Status)
	if check.ServiceID != "" {
		c.b.touch(model.TopicServiceCheck, model.Fold(check.ServiceName))
	}
}

// list is the list of its owner that a check belongs on; nil if the owner is gone.
func (c *change) list(serviceID string) *[]*model.Check {
	if serviceID == "" {
		c.all = true
		return &c.checks
	}
	w := c.instance(serviceID)
	if w == nil {
		return nil
	}
	w.dirty = true
	return &w.own
}

func (c *change) own(check *model.Check) {
	if list := c.list(check.ServiceID); list != nil {
		i, found := findCheck(*list, check.ID)
		if found {
			*list = slices.Clone(*list)
			(*list)[i] = check
			return
		}
		*list = insertCheck(*list, i, check)
	}
}

func (c *change) disown(check *model.Check) {
	if list := c.list(check.ServiceID); list != nil {
		if i, found := findCheck(*list, check.ID); found {
			*list = slices.Delete(slices.Clone(*list), i, i+1)
			if len(*list) == 0 {
				*list = nil
			}
		}
	}
}

func findCheck(list []*model.Check, id string) (int, bool) {
	i := sort.Search(len(list), func(i int) bool { return list[i].ID >= id })
	return i, i < len(list) && list[i].ID == id
}

// insertCheck makes a list of exact size: it is kept in the tables.
func insertCheck(list []*model.Check, i int, check *model.Check) []*model.Check {
	out := make([]*model.Check, 0, len(list)+1)
	out = append(out, list[:i]...)
	out = append(out, check)
	return append(out, list[i:]...)
}
