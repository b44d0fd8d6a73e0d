package cli

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/muster-discovery/muster/internal/retry"
)

// lockSession is a session that is kept alive. Its context ends when it can't be
// trusted any more: it is gone, or its time is over without a renewal that was
// confirmed, by this process' own clock. The agent's word is not needed for that.
type lockSession struct {
	id     string
	client *api.Client
	ttl    time.Duration

	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{}
}

var errSessionLost = errors.New("the session was lost")

// openSession makes a session and begins to renew it.
func (l *lock) openSession() (*lockSession, error) {
	entry := &api.SessionEntry{
		Name: l.name, TTL: l.ttl.String(), Behavior: api.SessionBehaviorRelease,
		LockDelay: max(l.delay, time.Millisecond), // 0 would be the default
	}
	if l.limit > 1 {
		entry.Behavior = api.SessionBehaviorDelete // contenders of a semaphore go with their session
	}
	began := time.Now()
	id, _, err := l.client.Session().Create(entry, nil)
	if err != nil {
		return nil, err
	}
	s := &lockSession{id: id, client: l.client, ttl: l.ttl, done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	go func() {
		defer close(s.done)
		s.renew(began)
	}()
	return s, nil
}

// renew keeps the session alive. Its time counts from when a renewal was sent: that
// is never later than when the servers had it.
func (s *lockSession) renew(confirmed time.Time) {
	pause := retry.Backoff{Min: s.ttl / 3, Max: s.ttl / 3, Jitter: 0.2}
	trouble := retry.Backoff{Min: s.ttl / 30, Max: s.ttl / 10, Jitter: 0.5}
	wait := &pause
	for {
		over, cancel := context.WithDeadline(s.ctx, confirmed.Add(s.ttl))
		again := wait.Wait(over)
		sent := time.Now()
		var entry *api.SessionEntry
		var err error
		if again {
			entry, _, err = s.client.Session().Renew(s.id, (&api.WriteOptions{}).WithContext(over))
		}
		expired := over.Err() != nil
		cancel()
		switch {
		case expired, again && err == nil && entry == nil:
			s.cancel(errSessionLost) // an earlier cause, such as stop, stays
			return
		case err != nil:
			wait = &trouble
		default:
			confirmed, wait = sent, &pause
			trouble.Reset()
		}
	}
}

// stop ends the renewals and waits for that.
func (s *lockSession) stop() {
	s.cancel(context.Canceled)
	<-s.done
}

// destroy ends the session at the servers, which otherwise its TTL does.
func (s *lockSession) destroy() { _, _ = s.client.Session().Destroy(s.id, nil) }

// link carries the requests of a lock. The recipes of the client take no context, so
// that here is where they are bounded, and where the header is seen that the client
// does not hand on.
type link struct {
	next http.RoundTripper

	mu  sync.Mutex
	ctx context.Context // of requests that have none of their own
}

// headerFencingToken is the token of the latest acquisition of a key.
const headerFencingToken = "X-Muster-Fencing-Token"

// wantsToken is the key of a context whose value, a *string, takes the token.
type wantsToken struct{}

func (k *link) wrap(next http.RoundTripper) http.RoundTripper {
	k.next = next
	return k
}

// use has the requests from now on end with ctx.
func (k *link) use(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ctx = ctx
}

// RoundTrip implements http.RoundTripper.
func (k *link) RoundTrip(r *http.Request) (*http.Response, error) {
	k.mu.Lock()
	ctx := k.ctx
	k.mu.Unlock()
	if r.Context().Done() == nil {
		r = r.WithContext(ctx)
	}
	resp, err := k.next.RoundTrip(r)
	if to, ok := r.Context().Value(wantsToken{}).(*string); ok && err == nil {
		*to = resp.Header.Get(headerFencingToken)
	}
	return resp, err
}
