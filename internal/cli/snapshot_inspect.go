package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/snapshot"
)

var snapshotInspectCommand = &command{
	name:  "snapshot inspect",
	args:  "FILE",
	short: "Show what is in a saved state",
	long: `
Shows what a file holds: kinds of things with their number and size, and with
-kvdetails which keys take how much. A file named state.bin is read as it lies
in a server's data dir. No agent is needed.

    muster snapshot inspect backup.snap
    muster snapshot inspect -kvdetails -kvdepth=3 -kvfilter=app/ backup.snap`,
	setup: func(f *flags) func([]string) int {
		i := &snapshotInspect{f: f}
		f.BoolVar(&i.keys, "kvdetails", false, "Show the size of keys, too.")
		f.IntVar(&i.depth, "kvdepth", 2, "With -kvdetails: the `number` of parts by which keys are grouped. Default: 2.")
		f.StringVar(&i.filter, "kvfilter", "", "With -kvdetails: only keys with this `prefix`.")
		f.StringVar(&i.format, "format", "pretty", "`Format` of the output: pretty or json.")
		return i.run
	},
}

type snapshotInspect struct {
	f              *flags
	keys           bool
	depth          int
	filter, format string
}

// inspected is the result, in the form that Consul's command has as JSON.
type inspected struct {
	Meta struct {
		ID      string
		Size    int64
		Index   uint64
		Term    uint64
		Version int
	}
	Stats       []*share
	StatsKV     []*share `json:",omitempty"`
	TotalSize   uint64
	TotalSizeKV uint64 `json:",omitempty"`
}

// share is what some kind or some keys take.
type share struct {
	Name  string
	Sum   uint64
	Count uint64
}

func (i *snapshotInspect) run(args []string) int {
	path, err := oneFile(args)
	switch {
	case err != nil:
	case i.format != "pretty" && i.format != "json":
		err = fmt.Errorf("-format=%s: want pretty or json", i.format)
	case !i.keys && (i.filter != "" || i.depth != 2):
		err = fmt.Errorf("-kvdepth and -kvfilter need -kvdetails")
	case i.depth < 1:
		err = fmt.Errorf("-kvdepth must be at least 1")
	}
	if err != nil {
		return i.f.fail("muster snapshot inspect: %v.", err)
	}
	found, err := i.inspect(path)
	if err != nil {
		return i.f.fail("Error reading %s: %v", path, err)
	}
	if i.format == "json" {
		data, err := json.MarshalIndent(found, "", "   ")
		if err != nil {
			return i.f.fail("encode the result: %v", err)
		}
		fmt.Fprintf(i.f.stdout, "%s\n", data)
		return 0
	}
	found.print(i.f.stdout)
	return 0
}

func (i *snapshotInspect) inspect(path string) (*inspected, error) {
	found, groups := &inspected{}, map[string]*share{}
	o := snapshot.Options{}
	if i.keys {
		o.Visit = func(v any, bytes int) error {
			if e, ok := v.(*model.KVEntry); ok && strings.HasPrefix(e.Key, i.filter) {
				count(groups, keyGroup(e.Key, i.depth), 1, uint64(bytes))
			}
			return nil
		}
	}
	meta, err := readSnapshot(path, o)
	if err != nil {
		return nil, err
	}
	m := &found.Meta
	m.ID, m.Index, m.Term, m.Version = meta.ID, meta.Index, meta.Term, meta.Version
	if info, err := os.Stat(path); err == nil {
		m.Size = info.Size()
	}
	kinds := map[string]*share{}
	for _, k := range meta.Kinds {
		count(kinds, k.Name, k.Count, k.Bytes)
	}
	found.Stats, found.TotalSize = largest(kinds)
	found.StatsKV, found.TotalSizeKV = largest(groups)
	return found, nil
}

// keyGroup is the beginning of a key, cut off after so many slashes.
func keyGroup(key string, depth int) string {
	return strings.Join(strings.SplitN(key, "/", depth+1)[:min(depth, strings.Count(key, "/")+1)], "/")
}

func count(groups map[string]*share, name string, n, bytes uint64) {
	g := groups[name]
	if g == nil {
		g = &share{Name: name}
		groups[name] = g
	}
	g.Count += n
	g.Sum += bytes
}

// largest sorts by size, and adds the sizes up.
func largest(groups map[string]*share) (list []*share, total uint64) {
	for _, name := range sortedNames(groups) {
		list = append(list, groups[name])
		total += groups[name].Sum
	}
	slices.SortStableFunc(list, func(a, b *share) int {
		switch {
		case a.Sum > b.Sum:
			return -1
		case a.Sum < b.Sum:
			return 1
		}
		return 0
	})
	return list, total
}

func (r *inspected) print(w io.Writer) {
	m := &r.Meta
	columns(w, [][]string{
		{"ID", m.ID}, {"Size", fmt.Sprint(m.Size)}, {"Index", fmt.Sprint(m.Index)},
		{"Term", fmt.Sprint(m.Term)}, {"Version", fmt.Sprint(m.Version)},
	})
	printShares(w, "Type", r.Stats, r.TotalSize)
	if r.StatsKV != nil {
		printShares(w, "Key Name", r.StatsKV, r.TotalSizeKV)
	}
}

func printShares(w io.Writer, title string, list []*share, total uint64) {
	line := []string{"----", "----", "----"}
	rows := [][]string{{title, "Count", "Size"}, line}
	for _, s := range list {
		rows = append(rows, []string{shown(s.Name), fmt.Sprint(s.Count), byteSize(s.Sum)})
	}
	fmt.Fprintln(w)
	columns(w, append(rows, line, []string{"Total", "", byteSize(total)}))
}

// byteSize is a size for people, as Consul prints it.
func byteSize(n uint64) string {
	units := []string{"B", "KB", "MB", "GB", "TB"}
	f, u := float64(n), 0
	for f >= 1024 && u < len(units)-1 {
		f, u = f/1024, u+1
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") + units[u]
}
