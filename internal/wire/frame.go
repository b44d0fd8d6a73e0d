package wire

import (
	"bytes"
	"compress/gzip"
	"strconv"
	"sync"
	"sync/atomic"
)

// MinGzip is the size from which compressing pays: below it an answer fits one
// packet anyway.
const MinGzip = 1400

// Frame is one encoded answer, made once and shared by everyone who asks the same
// question. Body must not be modified.
type Frame struct {
	Body []byte

	once sync.Once
	gzip []byte
	// Header values that do not change as long as the frame does not.
	length, gzipLength []string
	index              atomic.Pointer[indexHeader]
}

// indexHeader is an index as a header's value.
type indexHeader struct {
	index  uint64
	values []string
}

// NewFrame makes a frame of a body that the caller gives away.
func NewFrame(body []byte) *Frame {
	return &Frame{Body: body, length: []string{strconv.Itoa(len(body))}}
}

// Gzip is the compressed body, made at the first call; nil if compressing does
// not pay.
func (f *Frame) Gzip() []byte {
	if len(f.Body) < MinGzip {
		return nil
	}
	f.once.Do(func() {
		if z := compress(f.Body); len(z) < len(f.Body) {
			f.gzip = z
			f.gzipLength = []string{strconv.Itoa(len(z))}
		}
	})
	return f.gzip
}

// Length is the value of a Content-Length header for Body, GzipLength for what
// Gzip returned. Both are shared and read-only.
func (f *Frame) Length() []string     { return f.length }
func (f *Frame) GzipLength() []string { return f.gzipLength }

// IndexHeader is the value of an index header. A frame is nearly always sent with
// the same index, so the last one is kept; the result is shared and read-only.
func (f *Frame) IndexHeader(index uint64) []string {
	h := f.index.Load()
	if h == nil || h.index != index {
		h = &indexHeader{index, []string{strconv.FormatUint(index, 10)}}
		f.index.Store(h)
	}
	return h.values
}

// Compress returns the compressed form of an answer that is not shared; nil if
// compressing does not pay.
func Compress(body []byte) []byte {
	if len(body) < MinGzip {
		return nil
	}
	if z := compress(body); len(z) < len(body) {
		return z
	}
	return nil
}

// A gzip writer is some 800 kB; frames of large services are made often enough to
// keep a few.
var gzipWriters = sync.Pool{New: func() any {
	// The error is for levels that do not exist.
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	return w
}}

func compress(body []byte) []byte {
	var buf bytes.Buffer
	buf.Grow(len(body)/4 + 64)
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	w.Reset(&buf)
	// A bytes.Buffer takes everything.
	_, _ = w.Write(body)
	_ = w.Close()
	return buf.Bytes()
}
