package migrate

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"time"
)

// The layout is specified in docs/format/export.md.
const exportFormat = 1

// record is one line of an export. Kind says which fields it has.
type record struct {
	Kind string `json:"kind"`

	// header
	Format     int    `json:"format,omitempty"`
	Time       string `json:"time,omitempty"`
	Datacenter string `json:"datacenter,omitempty"`

	Node     Object    `json:"node,omitempty"`
	NodeName string    `json:"node_name,omitempty"` // of a service or check
	Service  Object    `json:"service,omitempty"`
	Check    Object    `json:"check,omitempty"`
	Query    Object    `json:"query,omitempty"`
	Key      *keyField `json:"key,omitempty"`
	Left     *Left     `json:"left,omitempty"`

	Records *int `json:"records,omitempty"` // of the end
}

type keyField struct {
	Key   string `json:"key"`
	Flags uint64 `json:"flags,omitempty"`
	Value []byte `json:"value"` // base64
	Lock  bool   `json:"lock,omitempty"`
}

// Kinds of records.
const (
	kindHeader  = "export"
	kindNode    = "node"
	kindService = "service"
	kindCheck   = "check"
	kindQuery   = "query"
	kindKey     = "key"
	kindLeft    = "left"
	kindEnd     = "end"
)

// FileWriter is the Sink that writes an export. Close it after the walk: an export
// without its end is not read as a whole one.
type FileWriter struct {
	out     *bufio.Writer
	lines   *json.Encoder
	records int
	Counts  map[string]int // by kind
}

// NewFileWriter begins an export.
func NewFileWriter(to io.Writer, datacenter string, now time.Time) (*FileWriter, error) {
	w := &FileWriter{out: bufio.NewWriterSize(to, 256<<10), Counts: map[string]int{}}
	w.lines = json.NewEncoder(w.out)
	w.lines.SetEscapeHTML(false)
	return w, w.lines.Encode(record{Kind: kindHeader, Format: exportFormat, Time: now.UTC().Format(time.RFC3339), Datacenter: datacenter})
}

func (w *FileWriter) write(r record) error {
	w.records++
	w.Counts[r.Kind]++
	return w.lines.Encode(r)
}

// Close writes the end.
func (w *FileWriter) Close() error {
	if err := w.lines.Encode(record{Kind: kindEnd, Records: &w.records}); err != nil {
		return err
	}
	return w.out.Flush()
}

// Begin and End implement Sink.
func (w *FileWriter) Begin(string, int) {}

func (w *FileWriter) End(context.Context, string) error { return nil }

// Node implements Sink.
func (w *FileWriter) Node(_ context.Context, n *Node) error {
	if err := w.write(record{Kind: kindNode, Node: n.Node}); err != nil {
		return err
	}
	for _, s := range n.Services {
		if err := w.write(record{Kind: kindService, NodeName: n.Name(), Service: s}); err != nil {
			return err
		}
	}
	for _, c := range n.Checks {
		if err := w.write(record{Kind: kindCheck, NodeName: n.Name(), Check: c}); err != nil {
			return err
		}
	}
	return nil
}

// Query implements Sink.
func (w *FileWriter) Query(_ context.Context, q Object) error {
	return w.write(record{Kind: kindQuery, Query: q})
}

// Keys implements Sink.
func (w *FileWriter) Keys(ctx context.Context, b *Batch) error {
	pairs, gone, err := b.Load(ctx)
	if err != nil {
		return err
	}
	for _, p := range pairs {
		k := &keyField{Key: p.Key, Flags: p.Flags, Value: append([]byte{}, p.Value...), Lock: p.Locked}
		if err := w.write(record{Kind: kindKey, Key: k}); err != nil {
			return err
		}
	}
	for _, key := range gone {
		if oddName(key) {
			if err := w.Left(Left{Kind: "key", Name: key, Reason: reasonOdd}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Left implements Sink.
func (w *FileWriter) Left(l Left) error { return w.write(record{Kind: kindLeft, Left: &l}) }
