package httpapi

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/muster-discovery/muster/internal/consumer"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/wire"
)

// watcher writes one stream of server-sent events. It keeps nothing of what its
// client has not read yet but one piece of a frame that is shared: while a write
// hangs, what changes in the meantime is merged in the view.
type watcher struct {
	*call
	stream   *lookup.Stream
	consumer *consumer.Stream
	watched  []watched // by the watch's id
	several  bool
	open     bool // the last event's id resumes nothing
	beat     time.Duration
	rc       *http.ResponseController
	buf      []byte // not written yet
	written  int    // bytes in the present event
	err      error  // of the first write that failed
}

type watched struct {
	name []byte // as a JSON text
	mark *consumer.Watch
}

const (
	// pieceWrite is how long a client may take to read a piece of a stream, which is
	// pieceSize bytes at most. One that takes longer is cut off, and resumes.
	pieceWrite = 20 * time.Second
	pieceSize  = 64 << 10
	// Clients come back after a time between these, so that they don't all come at
	// once where they lost the same server.
	minRetry, maxRetry = 500 * time.Millisecond, 3 * time.Second
)

var (
	contentEvents = []string{"text/event-stream"}
	valueNoCache  = []string{"no-cache"}
)

func (w *watcher) close() {
	if w.stream != nil {
		w.stream.Close()
	}
	if w.consumer != nil {
		w.consumer.Close()
	}
}

// run writes events until the client is gone.
func (w *watcher) run(ctx context.Context) {
	h := w.w.Header()
	h["Content-Type"], h["Cache-Control"] = contentEvents, valueNoCache
	h["X-Muster-Stream"] = []string{w.consumer.ID()}
	w.writeHeader(http.StatusOK)
	w.rc = http.NewResponseController(w.w)
	w.buf = fmt.Appendf(w.buf, "retry: %d\n\n", (minRetry + rand.N(maxRetry-minRetry)).Milliseconds())
	w.send(nil)

	ticker := time.NewTicker(w.beat)
	defer ticker.Stop()
	var events []lookup.Event
	for w.err == nil {
		select {
		case <-w.stream.Changed():
			events = w.stream.Collect(events[:0])
			w.send(events)
			clear(events) // what they hold can go
		case <-ticker.C:
			if w.stream.Recheck() != nil {
				return // who comes back is told why
			}
			w.heartbeat()
		case <-ctx.Done():
			return
		}
	}
}

// send writes a batch of events and flushes it.
func (w *watcher) send(events []lookup.Event) {
	for i := range events {
		e := &events[i]
		w.watched[e.Watch].mark.Sent(e.Index)
		w.event(e)
	}
	w.consumer.SentAll(w.stream.Index())
	if w.open && w.stream.ID() > 0 {
		w.heartbeat() // so that the client can resume again
		return
	}
	w.flush()
}

// flush writes what is in the buffer and has it sent.
func (w *watcher) flush() {
	if w.write(w.buf); w.err == nil {
		// Not every writer can flush (tests' recorders).
		_ = w.rc.Flush()
	}
	w.buf = w.buf[:0]
}

// body adds a part of an event that may be large.
func (w *watcher) body(b []byte) {
	w.written += len(b)
	if len(w.buf)+len(b) <= pieceSize {
		w.buf = append(w.buf, b...)
		return
	}
	w.write(w.buf)
	w.buf = w.buf[:0]
	w.write(b)
}

// write writes in pieces, each with its own deadline, so that a slow client gets a
// large snapshot as long as it reads at all.
func (w *watcher) write(b []byte) {
	for len(b) > 0 && w.err == nil {
		n := min(len(b), pieceSize)
		_ = w.rc.SetWriteDeadline(time.Now().Add(pieceWrite)) // tests' recorders have none
		_, w.err = w.w.Write(b[:n])
		b = b[n:]
	}
}

// event adds an event to the buffer.
func (w *watcher) event(e *lookup.Event) {
	switch e.Kind {
	case lookup.EventCurrent:
		w.consumer.Resumed(true)
		return
	case lookup.EventReset:
		w.consumer.Resumed(false)
		w.begin("reset", e.Index, e.Watch, w.several)
		w.buf = append(strconv.AppendQuote(append(w.buf, `"Reason":`...), e.Reason), '}')
		w.finish(consumer.Reset)
		return
	}
	if e.Kind == lookup.EventSnapshot {
		leave, err := w.s.enter(w.r.Context())
		if err != nil {
			w.putOff(err)
			return
		}
		defer leave()
	}
	frame, count, err := e.Frame(w.stream)
	if err != nil {
		w.err = err // only a filter can fail, and it has passed its checks: the client asks anew
		return
	}
	if e.Kind == lookup.EventSnapshot {
		w.id(e.ID)
		w.begin("snapshot", e.Index, e.Watch, true)
		w.buf = append(w.buf, `"Instances":`...)
		w.body(frame.(*wire.Frame).Body)
		w.buf = append(w.buf, '}')
		w.finish(consumer.Snapshot)
		return
	}
	if count == 0 {
		return // nothing that this client sees
	}
	if e.Steps > 1 {
		w.consumer.Conflated()
	}
	w.id(e.ID)
	w.begin("delta", e.Index, e.Watch, w.several)
	w.body(frame.([]byte))
	w.buf = append(w.buf, '}')
	w.finish(consumer.Delta)
}

// id adds what clients send back as Last-Event-ID. The id 0 takes back the one before:
// between the events of one moment a client that is cut off has some of them and not
// the others, so it has to begin anew.
func (w *watcher) id(id uint64) {
	w.open = id == 0
	w.buf = append(strconv.AppendUint(append(w.buf, "id: "...), id, 10), '\n')
}

// begin adds the start of an event up to the members that its kind has.
func (w *watcher) begin(kind string, index, watch uint64, name bool) {
	before := len(w.buf)
	w.buf = append(append(append(w.buf, "event: "...), kind...), "\ndata: {\"Index\":"...)
	w.buf = append(strconv.AppendUint(w.buf, index, 10), ',')
	if name {
		w.buf = append(append(append(w.buf, `"Service":`...), w.watched[watch].name...), ',')
	}
	w.written = len(w.buf) - before
}

func (w *watcher) finish(kind string) {
	w.buf = append(w.buf, '\n', '\n')
	w.consumer.Count(kind, w.written)
}

// heartbeat says that the stream lives and how far it is.
func (w *watcher) heartbeat() {
	if id := w.stream.ID(); id > 0 {
		w.id(id)
	}
	w.begin("heartbeat", w.stream.Index(), 0, false)
	w.buf = append(w.buf, `"Time":"`...)
	w.buf = append(time.Now().UTC().AppendFormat(w.buf, time.RFC3339Nano), `"}`...)
	w.finish(consumer.Heartbeat)
	w.flush()
}
