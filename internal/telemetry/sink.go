package telemetry

import (
	"io"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
)

// sink is where lines go: the output and the taps. Lines are written whole, one
// after the other.
type sink struct {
	lowest  atomic.Int64 // level below which nobody wants anything
	dropped atomic.Uint64

	mu    sync.Mutex
	out   io.Writer
	level slog.Level
	json  bool
	taps  map[*tap]struct{}
}

type tap struct {
	level slog.Level
	json  bool
	lines chan []byte
}

func newSink(out io.Writer, level slog.Level, json bool) *sink {
	s := &sink{out: out, level: level, json: json, taps: map[*tap]struct{}{}}
	s.lowerLocked()
	return s
}

func (s *sink) enabled(l slog.Level) bool { return int64(l) >= s.lowest.Load() }

func (s *sink) setLevel(l slog.Level) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level = l
	s.lowerLocked()
}

func (s *sink) lowerLocked() {
	lowest := int64(math.MaxInt64)
	lowest = min(lowest, int64(s.level))
	for t := range s.taps {
		lowest = min(lowest, int64(t.level))
	}
	s.lowest.Store(lowest)
}

// write formats at most once per form. A slow output holds up the caller, as
// losing lines of the main log silently would be worse; a slow tap loses lines.
func (s *sink) write(e *entry) error {
	var text, json []byte
	line := func(asJSON bool) []byte {
		if asJSON {
			if json == nil {
				json = e.json()
			}
			return json
		}
		if text == nil {
			text = e.text()
		}
		return text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := range s.taps {
		if e.level < t.level {
			continue
		}
		select {
		case t.lines <- line(t.json):
		default:
			s.dropped.Add(1)
		}
	}
	if e.level < s.level {
		return nil
	}
	_, err := s.out.Write(line(s.json))
	return err
}

// Print writes a text to the log's output, whole and between two lines. Taps do
// not get it.
func (t *Telemetry) Print(text []byte) error {
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	_, err := t.log.out.Write(text)
	return err
}

// tapBuffer is how many lines a tap may lag behind: some seconds of a busy
// agent's debug log.
const tapBuffer = 512

// Tap follows the log from now on, at its own level and in its own form. Lines end
// in a newline and must not be changed. A reader that lags loses lines. The caller
// must call close, after which no line is sent; the channel is never closed.
func (t *Telemetry) Tap(level slog.Level, json bool) (lines <-chan []byte, close func()) {
	p := &tap{level: level, json: json, lines: make(chan []byte, tapBuffer)}
	s := t.log
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taps[p] = struct{}{}
	s.lowerLocked()
	return p.lines, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.taps, p)
		s.lowerLocked()
	}
}

// Dropped is how many lines taps have lost.
func (t *Telemetry) Dropped() uint64 { return t.log.dropped.Load() }
