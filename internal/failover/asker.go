package failover

import (
	"context"
	"net"
	"sync"
)

// stream sends messages on a connection, one at a time.
type stream struct {
	conn net.Conn
	turn chan struct{} // holds one token while somebody writes
}

func newStream(conn net.Conn) stream { return stream{conn: conn, turn: make(chan struct{}, 1)} }

func (s *stream) send(ctx context.Context, m *message) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
		return writeMessage(s.conn, m)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// asker is the dialing side of a connection: it asks, and matches the answers. Many
// may ask at the same time.
type asker struct {
	stream
	ended chan struct{} // closed when the connection has ended

	mu      sync.Mutex
	seq     uint32
	waiting map[uint32]chan *message
}

func newAsker(conn net.Conn) *asker {
	return &asker{stream: newStream(conn), ended: make(chan struct{}), waiting: make(map[uint32]chan *message)}
}

// run hands out answers until the connection ends, and closes it.
func (a *asker) run() {
	defer close(a.ended)
	defer a.conn.Close()
	for {
		m, err := readMessage(a.conn)
		if err != nil {
			return
		}
		a.mu.Lock()
		ch := a.waiting[m.Seq]
		delete(a.waiting, m.Seq)
		a.mu.Unlock()
		if ch != nil {
			ch <- m // has room, and gets one answer only
		}
	}
}

// ask sends a question and waits for its answer as long as ctx and the connection
// last.
func (a *asker) ask(ctx context.Context, question message) (*message, error) {
	ch := make(chan *message, 1)
	a.mu.Lock()
	a.seq++
	question.Seq = a.seq
	a.waiting[question.Seq] = ch
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.waiting, question.Seq)
		a.mu.Unlock()
	}()
	if err := a.send(ctx, &question); err != nil {
		return nil, err
	}
	select {
	case m := <-ch:
		return m, nil
	case <-a.ended:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
