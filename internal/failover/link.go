package failover

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/muster-discovery/muster/internal/retry"
)

const (
	// helloTimeout bounds the first exchange on a connection.
	helloTimeout = 3 * time.Second
	// The pauses between attempts to reach a server: the first ones are short, since a
	// server that was restarted is watched over again only once its link is there.
	linkPauseMin = 50 * time.Millisecond
	linkPauseMax = 2 * time.Second
)

// link keeps one connection to another server. Its end is the hint.
type link struct {
	id   string
	h    *Hints
	wake chan struct{} // holds one token: the peer has just been heard of

	mu    sync.Mutex
	peer  *asker // nil: not connected
	name  string // the peer's node, once it has said so
	ended bool   // there was a connection, and none since
}

func newLink(id string, h *Hints) *link {
	return &link{id: id, h: h, wake: make(chan struct{}, 1)}
}

// kick has a link that waits before its next attempt try at once.
func (l *link) kick() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run dials and holds until ctx ends.
func (l *link) run(ctx context.Context) {
	backoff := retry.Backoff{Min: linkPauseMin, Max: linkPauseMax, Jitter: 0.5}
	for {
		if err := l.hold(ctx); err == nil {
			backoff.Reset()
			if ctx.Err() == nil {
				l.h.linkEnded(l.id, l.nodeName())
			}
		}
		if !l.wait(ctx, backoff.Next()) {
			return
		}
	}
}

// wait is false if ctx ends.
func (l *link) wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.wake:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// hold makes a connection and returns nil when it has ended, or why there was none.
func (l *link) hold(ctx context.Context) error {
	addr, err := l.h.cfg.Resolve(l.id)
	if err != nil {
		return err
	}
	peer, name, err := greet(ctx, l.h.cfg.Dial, addr, message{Type: typeHello, ID: l.h.cfg.Self, Name: l.h.cfg.Name})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = peer.conn.Close() })
	defer stop()
	l.set(peer, name)
	l.h.cfg.Reached(l.id)
	l.h.signOfLife(ctx, name)
	<-peer.ended
	l.set(nil, "")
	return nil
}

// greet dials an address and says hello. The connection's reader runs when it returns
// without an error; whoever closes the connection ends it.
func greet(ctx context.Context, dial DialFunc, addr string, hello message) (a *asker, name string, err error) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	conn, err := dial(ctx, addr)
	if err != nil {
		return nil, "", err
	}
	a = newAsker(conn)
	go a.run()
	m, err := a.ask(ctx, hello)
	if err != nil {
		_ = conn.Close()
		<-a.ended
		return nil, "", fmt.Errorf("say hello to %s: %w", addr, err)
	}
	return a, m.Name, nil
}

func (l *link) set(peer *asker, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = peer == nil
	l.peer = peer
	if name != "" {
		l.name = name
	}
}

func (l *link) nodeName() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.name
}

// asker is the connection to ask on; nil if there is none.
func (l *link) asker() *asker {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.peer
}

// lost reports whether the connection has ended, and gives it some time to do so: the
// news of one death does not reach all servers in the same instant.
func (l *link) lost(ctx context.Context, patience time.Duration) bool {
	l.mu.Lock()
	peer, ended := l.peer, l.ended
	l.mu.Unlock()
	if peer == nil {
		return ended
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-peer.ended:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}
