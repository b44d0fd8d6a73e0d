package failover

import (
	"context"
	"net"
	"sync"
	"time"
)

const (
	// maxHeld bounds the connections that are accepted; an agent that is turned away
	// tries another server.
	maxHeld = 16384
	// maxQuestions bounds those of one connection that are under way; more wait unread.
	maxQuestions = 64
)

// serveAll accepts connections until the listener is closed, and waits for them.
func (h *Hints) serveAll(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	room := make(chan struct{}, maxHeld)
	for {
		conn, err := h.cfg.Listener.Accept()
		if err != nil {
			return err
		}
		select {
		case room <- struct{}{}:
		default:
			_ = conn.Close()
			continue
		}
		wg.Go(func() {
			defer func() { <-room }()
			h.serve(ctx, conn)
		})
	}
}

// serve answers one connection's questions. If it is an agent's, its end is a hint; a
// server's end is told by this server's own link to it.
func (h *Hints) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_ = conn.SetReadDeadline(time.Now().Add(helloTimeout))
	hello, err := readMessage(conn)
	if err != nil || hello.Type != typeHello || hello.Name == "" {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	s := newStream(conn)
	if l := h.links.get(hello.ID); l != nil {
		l.kick()
	} else {
		h.held.add(hello.Name, 1)
		h.signOfLife(ctx, hello.Name)
		defer func() {
			if h.held.add(hello.Name, -1) == 0 && ctx.Err() == nil {
				h.Hint(hello.Name)
			}
		}()
	}
	if err := s.send(ctx, &message{Type: typeAnswer, Seq: hello.Seq, ID: h.cfg.Self, Name: h.cfg.Name}); err != nil {
		return
	}
	h.answerAll(ctx, &s, hello)
}

// answerAll reads questions until the connection ends. Answers may overtake each other.
func (h *Hints) answerAll(ctx context.Context, s *stream, from *message) {
	turn := make(chan struct{}, maxQuestions)
	for {
		question, err := readMessage(s.conn)
		if err != nil {
			return
		}
		turn <- struct{}{} // answers are bounded in time
		h.answers.Go(func() {
			defer func() { <-turn }()
			a := h.answer(ctx, from, question)
			a.Type, a.Seq = typeAnswer, question.Seq
			_ = s.send(ctx, &a) // its connection's end is noticed by the reader
		})
	}
}

// answer does what a message asks for. What concerns others than the sender is taken
// from servers of the configuration only.
func (h *Hints) answer(ctx context.Context, from, m *message) message {
	server := h.links.get(from.ID) != nil
	s := subject{Name: m.Name, ID: m.ID, Addr: m.Addr}
	switch {
	case m.Type == typeLeaving:
		h.answerLeaving(ctx, from, s, server)
	case !server:
	case m.Type == typeLost:
		return h.answerLost(ctx, m.ID)
	case m.Type == typeProbe:
		return message{Verdict: h.answerProbe(ctx, s)}
	case m.Type == typeDown:
		h.note(s, wordDown, false)
	case m.Type == typeUp:
		h.lift(m.Name)
	}
	return message{}
}

// answerLeaving notes that an agent leaves, and passes it on if the agent itself says
// so. It may say it of nobody else.
func (h *Hints) answerLeaving(ctx context.Context, from *message, s subject, server bool) {
	if server {
		h.note(s, wordLeaving, false)
		return
	}
	m, ok := h.member(from.Name)
	if !ok || m.ID() != from.ID {
		return
	}
	s = subjectOf(m)
	h.note(s, wordLeaving, false)
	h.tell(ctx, message{Type: typeLeaving, Name: s.Name, ID: s.ID, Addr: s.Addr})
}
