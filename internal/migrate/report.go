package migrate

import (
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
)

// Counts are what became of the things of one kind.
type Counts struct {
	Created   int `json:"created"`
	Updated   int `json:"updated"`
	Unchanged int `json:"unchanged"`
	Conflicts int `json:"conflicts"` // the target has something else, which stays
	Failed    int `json:"failed"`
}

// Finding is one thing that did not come along as it is.
type Finding struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Node   string `json:"node,omitempty"`
	Reason string `json:"reason"`
}

// Report is what a migration came to.
type Report struct {
	DryRun    bool      `json:"dry_run"`
	Resumed   bool      `json:"resumed"` // an earlier run's counts are in it
	Done      bool      `json:"done"`
	Nodes     Counts    `json:"nodes"`
	Services  Counts    `json:"services"`
	Checks    Counts    `json:"checks"`
	Queries   Counts    `json:"queries"`
	Keys      Counts    `json:"keys"`
	Locks     int       `json:"locks"` // keys that were held: they come without their holder
	Conflicts []Finding `json:"conflicts"`
	Failures  []Finding `json:"failures"`
	Left      []Left    `json:"left"`
	// Omitted is how many of the three lists were too much to list.
	Omitted int `json:"omitted,omitempty"`
}

// maxFindings bounds each list of a report: it is for people.
const maxFindings = 1000

// tally is a report that is being made. Calls may overlap.
type tally struct {
	mu sync.Mutex
	r  Report
}

func (t *tally) change(f func(r *Report)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.r)
}

func (t *tally) conflict(c *Counts, f Finding) {
	t.change(func(r *Report) {
		c.Conflicts++
		r.Conflicts = bounded(r, r.Conflicts, f)
	})
}

func (t *tally) fail(c *Counts, f Finding) {
	t.change(func(r *Report) {
		c.Failed++
		r.Failures = bounded(r, r.Failures, f)
	})
}

func bounded[T any](r *Report, list []T, v T) []T {
	if len(list) >= maxFindings {
		r.Omitted++
		return list
	}
	return append(list, v)
}

// snapshot copies the report.
func (t *tally) snapshot() Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.r
	r.Conflicts = append([]Finding{}, r.Conflicts...)
	r.Failures = append([]Finding{}, r.Failures...)
	r.Left = append([]Left{}, r.Left...)
	return r
}

// Clean reports whether everything came along that can.
func (r *Report) Clean() bool {
	for _, c := range []*Counts{&r.Nodes, &r.Services, &r.Checks, &r.Queries, &r.Keys} {
		if c.Conflicts+c.Failed > 0 {
			return false
		}
	}
	return r.Done
}

// WriteText writes the report for people. Name makes a name fit for a terminal.
func (r *Report) WriteText(to io.Writer, name func(string) string) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\tCreated\tUpdated\tUnchanged\tConflicts\tFailed\t\n")
	for _, k := range []struct {
		what string
		*Counts
	}{{"Nodes", &r.Nodes}, {"Services", &r.Services}, {"Checks", &r.Checks}, {"Queries", &r.Queries}, {"Keys", &r.Keys}} {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t\n", k.what, k.Created, k.Updated, k.Unchanged, k.Counts.Conflicts, k.Failed)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Locks > 0 {
		fmt.Fprintf(to, "\n%d keys were held as locks: they came without their holders.\n", r.Locks)
	}
	findings(to, "Conflicts: the target has something else, which stays (-overwrite replaces it)", r.Conflicts, name)
	findings(to, "Failures", r.Failures, name)
	if len(r.Left) > 0 {
		fmt.Fprintf(to, "\nNot carried over:\n")
	}
	for _, l := range r.Left {
		fmt.Fprintf(to, "  %s: %s\n", l.describe(name), l.Reason)
	}
	if r.Omitted > 0 {
		fmt.Fprintf(to, "\n%d more are not listed.\n", r.Omitted)
	}
	return nil
}

func findings(to io.Writer, title string, list []Finding, name func(string) string) {
	if len(list) > 0 {
		fmt.Fprintf(to, "\n%s:\n", title)
	}
	for _, f := range list {
		where := ""
		if f.Node != "" {
			where = " on node " + name(f.Node)
		}
		fmt.Fprintf(to, "  %s %s%s: %s\n", f.Kind, name(f.Name), where, f.Reason)
	}
}

func (l *Left) describe(name func(string) string) string {
	switch {
	case l.Count > 0:
		return fmt.Sprintf("%s (%d)", l.Kind, l.Count)
	case l.Node != "":
		return fmt.Sprintf("%s %s on node %s", l.Kind, name(l.Name), name(l.Node))
	case l.Name != "":
		return l.Kind + " " + name(l.Name)
	}
	return l.Kind
}
