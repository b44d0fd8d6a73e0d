package migrate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// FileSource is an export. It is read once, as a stream.
type FileSource struct {
	From  io.Reader
	Batch int // keys at once; 0: 64

	line    int
	records int
	node    *Node // whose services and checks follow
	batch   []Pair
	bytes   int
	skip    int // keys that an earlier run has done
	stage   string
}

// maxLine bounds a line: values are smaller by far on any server, and a file without
// line ends must not ask for all memory. maxOnNode bounds what is on one node.
const (
	maxLine   = 64 << 20
	maxOnNode = 100_000
	maxBatch  = 4 << 20 // bytes of values that are read ahead
)

// Walk implements Source.
func (s *FileSource) Walk(ctx context.Context, from Position, to Sink) error {
	s.skip = from.Keys
	if s.Batch == 0 {
		s.Batch = defaultBatch
	}
	in := bufio.NewReaderSize(s.From, 256<<10)
	for {
		line, err := readLine(in)
		if err == io.EOF {
			return s.wrong(errors.New("the export ends too early: its last line is missing"))
		}
		s.line++
		if err != nil {
			return s.wrong(err)
		}
		r, err := parseRecord(line)
		if err != nil {
			return s.wrong(err)
		}
		if s.line == 1 {
			err = checkHeader(r)
		} else if r.Kind == kindEnd {
			return s.end(ctx, r, from, to)
		} else {
			s.records++
			err = s.take(ctx, r, from, to)
		}
		if err != nil {
			return err
		}
	}
}

func (s *FileSource) wrong(err error) error { return fmt.Errorf("line %d: %w", s.line, err) }

// readLine reads a line of bounded length, without its end.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, fmt.Errorf("longer than %d bytes", maxLine)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF && len(line) > 0:
			return line, nil
		default:
			return nil, err
		}
	}
}

func checkHeader(r *record) error {
	switch {
	case r.Kind != kindHeader:
		return errors.New("this is not an export of Muster: its first line is another")
	case r.Format != exportFormat:
		return fmt.Errorf("export format %d, this version knows %d", r.Format, exportFormat)
	}
	return nil
}

// parseRecord reads a line strictly: what this version does not know would be lost.
func parseRecord(line []byte) (*record, error) {
	if !utf8.Valid(line) {
		return nil, errors.New("it is not UTF-8 text")
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	dec.DisallowUnknownFields()
	r := new(record)
	if err := dec.Decode(r); err != nil {
		return nil, fmt.Errorf("it is not a record: %w", err)
	}
	if dec.More() {
		return nil, errors.New("it has more than one record")
	}
	return r, r.check()
}

// check sees that a record has what its kind needs.
func (r *record) check() error {
	ok := false
	switch r.Kind {
	case kindHeader:
		ok = true
	case kindNode:
		ok = text(r.Node, "Node") != ""
	case kindService:
		ok = r.NodeName != "" && text(r.Service, "ID") != "" && text(r.Service, "Service") != ""
	case kindCheck:
		ok = r.NodeName != "" && text(r.Check, "CheckID") != ""
	case kindQuery:
		ok = r.Query != nil
	case kindKey:
		ok = r.Key != nil && r.Key.Key != ""
	case kindLeft:
		ok = r.Left != nil
	case kindEnd:
		ok = r.Records != nil
	default:
		return fmt.Errorf("unknown kind %q", r.Kind)
	}
	if !ok {
		return fmt.Errorf("a record of kind %q lacks what it is about", r.Kind)
	}
	return nil
}

// take passes a record on, once what belongs together is complete.
func (s *FileSource) take(ctx context.Context, r *record, from Position, to Sink) error {
	if r.Kind != kindService && r.Kind != kindCheck {
		if err := s.flushNode(ctx, from, to); err != nil {
			return err
		}
	}
	switch r.Kind {
	case kindNode:
		if err := s.enter(ctx, StageCatalog, to); err != nil {
			return err
		}
		s.node = &Node{Node: plain(r.Node)}
	case kindService, kindCheck:
		return s.onNode(r)
	case kindQuery:
		if err := s.enter(ctx, StageQueries, to); err != nil || from.Queries {
			return err
		}
		return to.Query(ctx, plain(r.Query))
	case kindKey:
		if err := s.enter(ctx, StageKeys, to); err != nil {
			return err
		}
		return s.key(ctx, r.Key, to)
	case kindLeft:
		return to.Left(*r.Left)
	default:
		return s.wrong(fmt.Errorf("a record of kind %q in the middle", r.Kind))
	}
	return nil
}

var stageOrder = map[string]int{"": 0, StageCatalog: 1, StageQueries: 2, StageKeys: 3}

// enter begins a stage; those before it are over then, also such as have nothing.
func (s *FileSource) enter(ctx context.Context, stage string, to Sink) error {
	if stageOrder[stage] < stageOrder[s.stage] {
		return s.wrong(errors.New("it is out of order: nodes come first, then queries, then keys"))
	}
	for _, next := range []string{StageCatalog, StageQueries, StageKeys} {
		if stageOrder[next] <= stageOrder[s.stage] || stageOrder[next] > stageOrder[stage] {
			continue
		}
		if s.stage != "" {
			if err := to.End(ctx, s.stage); err != nil {
				return err
			}
		}
		s.stage = next
		to.Begin(next, -1)
	}
	return nil
}

func (s *FileSource) onNode(r *record) error {
	switch {
	case s.node == nil || s.node.Name() != r.NodeName:
		return s.wrong(fmt.Errorf("it is on node %q, which is not the one before it", r.NodeName))
	case len(s.node.Services)+len(s.node.Checks) >= maxOnNode:
		return s.wrong(fmt.Errorf("more than %d services and checks on one node", maxOnNode))
	case r.Kind == kindService:
		s.node.Services = append(s.node.Services, plain(r.Service))
	default:
		s.node.Checks = append(s.node.Checks, plainCheck(r.Check))
	}
	return nil
}

func (s *FileSource) flushNode(ctx context.Context, from Position, to Sink) error {
	n := s.node
	s.node = nil
	if n == nil || from.Catalog {
		return nil
	}
	return to.Node(ctx, n)
}

func (s *FileSource) key(ctx context.Context, k *keyField, to Sink) error {
	if s.skip > 0 {
		s.skip--
		return nil
	}
	s.batch = append(s.batch, Pair{Key: k.Key, Flags: k.Flags, Value: k.Value, Locked: k.Lock})
	if s.bytes += len(k.Value); len(s.batch) >= s.Batch || s.bytes >= maxBatch {
		return s.flushKeys(ctx, to)
	}
	return nil
}

func (s *FileSource) flushKeys(ctx context.Context, to Sink) error {
	pairs := s.batch
	s.batch, s.bytes = nil, 0
	if len(pairs) == 0 {
		return nil
	}
	names := make([]string, len(pairs))
	for i := range pairs {
		names[i] = pairs[i].Key
	}
	return to.Keys(ctx, &Batch{Keys: names, Load: func(context.Context) ([]Pair, []string, error) { return pairs, nil, nil }})
}

func (s *FileSource) end(ctx context.Context, r *record, from Position, to Sink) error {
	if *r.Records != s.records {
		return s.wrong(fmt.Errorf("%d records, the end says %d: the export is not whole", s.records, *r.Records))
	}
	if err := s.flushNode(ctx, from, to); err != nil {
		return err
	}
	if err := s.enter(ctx, StageKeys, to); err != nil {
		return err
	}
	if err := s.flushKeys(ctx, to); err != nil {
		return err
	}
	return to.End(ctx, StageKeys)
}
