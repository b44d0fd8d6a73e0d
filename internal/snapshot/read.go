package snapshot

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/muster-discovery/muster/internal/fsm"
)

const (
	// MaxState bounds the state in an archive. It is far above what fits into memory
	// usefully, and keeps a small file from filling a disk.
	MaxState = 64 << 30

	maxMeta = 64 << 10
	maxSums = 4 << 10
)

// Options say what to do with an archive's state while it is read. Nothing that they
// see may be relied on before Read has returned without an error: the checksums come
// last.
type Options struct {
	// MaxState is the largest state that is taken. 0: the package's bound.
	MaxState int64
	// Keep is asked where to write the state, before its first byte. Nil: nowhere.
	Keep func(m *Meta, size int64) (io.Writer, error)
	// Visit sees each record; see fsm.Scan. May be nil.
	Visit func(v any, bytes int) error
	// Build has the state built, and thrown away: then what passes can be restored.
	// Without it records are decoded, but not held against each other.
	Build bool
}

// Read reads an archive to its end and checks all of it: checksums, records, and that
// nothing is missing, added or in another place. An *Error is the archive's fault;
// others are those of from, Keep and Visit.
func Read(from io.Reader, o Options) (*Meta, error) {
	if o.MaxState <= 0 {
		o.MaxState = MaxState
	}
	r := &reader{options: o, source: source{from: from}, sums: map[string]string{}}
	meta, err := r.archive()
	var own *Error
	switch {
	case err == nil:
		return meta, nil
	case r.foreign != nil:
		return nil, r.foreign
	case r.source.err != nil:
		return nil, fmt.Errorf("read the snapshot: %w", r.source.err)
	case errors.As(err, &own):
		return nil, own
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, refuse("it ends too early")
	}
	return nil, refuse("%v", err)
}

// source remembers an error of the reader below, so that it is not taken for one of
// the archive.
type source struct {
	from io.Reader
	err  error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		s.err = err
	}
	return n, err
}

type reader struct {
	options Options
	source  source
	tar     *tar.Reader
	sums    map[string]string // of the files so far
	foreign error             // of Keep or Visit
}

func (r *reader) archive() (*Meta, error) {
	in := bufio.NewReaderSize(&r.source, 64<<10)
	if _, err := in.Peek(1); err == io.EOF {
		return nil, &Error{"the snapshot is empty: give the file that \"muster snapshot save\" wrote"}
	}
	zip, err := gzip.NewReader(in)
	if err != nil {
		return nil, errors.New("it is not compressed by gzip")
	}
	zip.Multistream(false)
	r.tar = tar.NewReader(zip)
	meta, err := r.files()
	if err != nil {
		return nil, err
	}
	return meta, ends(zip, in)
}

// ends sees that nothing follows but tar's padding, which also has gzip compare its
// own checksum.
func ends(zip io.Reader, in *bufio.Reader) error {
	const padding = 1 << 20
	rest, err := io.ReadAll(io.LimitReader(zip, padding+1))
	if err != nil {
		return err
	}
	if len(rest) > padding || len(bytes.Trim(rest, "\x00")) > 0 {
		return errors.New("there is data behind its last file")
	}
	if _, err := in.Peek(1); err != io.EOF {
		if err != nil {
			return err
		}
		return errors.New("there is data behind its end")
	}
	return nil
}

// files reads the three files and compares the sums.
func (r *reader) files() (*Meta, error) {
	text, err := r.small(metaFile, maxMeta)
	if err != nil {
		return nil, err
	}
	meta, err := parseMeta(text)
	if err != nil {
		return nil, err
	}
	summary, err := r.state(&meta)
	if err != nil {
		return nil, err
	}
	sums, err := r.small(sumsFile, maxSums)
	if err != nil {
		return nil, err
	}
	if err := r.compare(string(sums)); err != nil {
		return nil, err
	}
	if err := meta.agrees(summary); err != nil {
		return nil, err
	}
	if _, err := r.tar.Next(); err != io.EOF {
		if err != nil {
			return nil, err
		}
		return nil, errors.New("there is a fourth file in it")
	}
	return &meta, nil
}

// next finds the file that must come now. A name is never used as a path.
func (r *reader) next(name string, limit int64) (size int64, err error) {
	h, err := r.tar.Next()
	if err != nil {
		return 0, err
	}
	if h.Name != name || h.Typeflag != tar.TypeReg {
		return 0, fmt.Errorf("%.100q is in the place of %s", h.Name, name)
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse") {
			return 0, fmt.Errorf("%s is a sparse file", name)
		}
	}
	if h.Size > limit {
		return 0, fmt.Errorf("%s has %d bytes, at most %d are taken", name, h.Size, limit)
	}
	return h.Size, nil
}

func (r *reader) small(name string, limit int64) ([]byte, error) {
	if _, err := r.next(name, limit); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(r.tar)
	r.sums[name] = fmt.Sprintf("%x", sha256.Sum256(text))
	return text, err
}

// state has the state decoded, and kept, as it comes. What is no state is found out
// before much of it was unpacked.
func (r *reader) state(meta *Meta) (fsm.Summary, error) {
	size, err := r.next(stateFile, r.options.MaxState)
	if err != nil {
		return fsm.Summary{}, err
	}
	sum := sha256.New()
	to := io.Writer(sum)
	if r.options.Keep != nil {
		kept, err := r.options.Keep(meta, size)
		if err != nil {
			r.foreign = err
			return fsm.Summary{}, err
		}
		to = io.MultiWriter(sum, noting{kept, &r.foreign})
	}
	read := fsm.Scan
	if r.options.Build {
		read = fsm.Check
	}
	summary, err := read(io.TeeReader(r.tar, to), r.visit())
	if err != nil {
		return summary, fmt.Errorf("%s: %w", stateFile, err)
	}
	r.sums[stateFile] = fmt.Sprintf("%x", sum.Sum(nil))
	return summary, nil
}

func (r *reader) visit() func(any, int) error {
	if r.options.Visit == nil {
		return nil
	}
	return func(v any, bytes int) error {
		err := r.options.Visit(v, bytes)
		if err != nil {
			r.foreign = err
		}
		return err
	}
}

// noting remembers an error of the writer below.
type noting struct {
	to  io.Writer
	err *error
}

func (n noting) Write(p []byte) (int, error) {
	c, err := n.to.Write(p)
	if err != nil {
		*n.err = err
	}
	return c, err
}

// compare holds the sums in the archive against those of what was read.
func (r *reader) compare(text string) error {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != 2 {
		return fmt.Errorf("%s has %d lines, not one for each file", sumsFile, len(lines))
	}
	for i, name := range []string{metaFile, stateFile} {
		if lines[i] != r.sums[name]+"  "+name {
			return fmt.Errorf("the checksum of %s is wrong", name)
		}
	}
	return nil
}

// ReadState reads a bare state, as it lies in a server's data dir. It has a checksum of
// its own.
func ReadState(from io.Reader, o Options) (*Meta, error) {
	read := fsm.Scan
	if o.Build {
		read = fsm.Check
	}
	summary, err := read(from, o.Visit)
	if err != nil {
		return nil, refuse("%v", err)
	}
	return &Meta{Index: summary.Header.Index, StateBytes: summary.Bytes, Kinds: summary.Kinds}, nil
}
