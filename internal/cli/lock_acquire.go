package cli

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/muster-discovery/muster/internal/retry"
)

// lockHolder is a lock or a slot of a semaphore.
type lockHolder interface {
	// take waits; the channel is closed when what was taken is known to be lost.
	take(stop <-chan struct{}) (<-chan struct{}, error)
	giveBack() error
	cleanUp() error
	// key is the one whose fencing token is that of the acquisition.
	key(session string) string
}

type mutex struct {
	*api.Lock
	path string
}

func (m mutex) take(stop <-chan struct{}) (<-chan struct{}, error) { return m.Lock.Lock(stop) }
func (m mutex) giveBack() error                                    { return m.Unlock() }
func (m mutex) cleanUp() error                                     { return m.Destroy() }
func (m mutex) key(string) string                                  { return m.path }

type slot struct {
	*api.Semaphore
	prefix string
}

func (s slot) take(stop <-chan struct{}) (<-chan struct{}, error) { return s.Acquire(stop) }
func (s slot) giveBack() error                                    { return s.Release() }
func (s slot) cleanUp() error                                     { return s.Destroy() }
func (s slot) key(session string) string                          { return path.Join(s.prefix, session) }

// monitorPause is the time between the tries of -monitor-retry.
const monitorPause = time.Second

// holder uses the recipes of Consul's client, so that programs with other clients
// take turns with this one.
func (l *lock) holder() (lockHolder, error) {
	if l.limit > 1 {
		l.say("Setting up semaphore (limit %d) at prefix: %s", l.limit, l.prefix)
		s, err := l.client.SemaphoreOpts(&api.SemaphoreOptions{
			Prefix: l.prefix, Limit: l.limit, Session: l.session.id,
			MonitorRetries: l.retries, MonitorRetryTime: monitorPause,
		})
		return slot{s, l.prefix}, err
	}
	key := path.Join(l.prefix, api.DefaultSemaphoreKey)
	l.say("Setting up lock at path: %s", key)
	m, err := l.client.LockOpts(&api.LockOptions{
		Key: key, Session: l.session.id, MonitorRetries: l.retries, MonitorRetryTime: monitorPause,
	})
	return mutex{m, key}, err
}

// acquire waits for the lock. Without a holder the command is over with the code.
func (l *lock) acquire(ctx context.Context) (lockHolder, int) {
	if l.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.timeout)
		defer cancel()
	}
	back := retry.Backoff{Min: monitorPause, Max: 4 * monitorPause, Jitter: 0.5}
	for {
		began := time.Now()
		h, err := l.attempt(ctx)
		if h != nil {
			return h, 0
		}
		if ctx.Err() != nil {
			return nil, l.f.fail("Shutdown triggered or timeout during lock acquisition")
		}
		// Who has waited for long need not give up at the first hiccup of the agent.
		if time.Since(began) > l.ttl {
			back.Reset()
		}
		if l.session == nil || back.Attempts() >= l.retries || !passing(err) {
			return nil, l.conn.fail("acquiring the lock", err)
		}
		l.say("Lock acquisition failed, trying again: %v", err)
		back.Wait(ctx)
	}
}

// attempt waits for the lock with a new session, which ends again without success.
func (l *lock) attempt(ctx context.Context) (lockHolder, error) {
	l.link.use(ctx)
	s, err := l.openSession()
	if err != nil {
		return nil, err
	}
	l.session = s
	// A session that ends meanwhile ends the waiting, which would be for nothing. What
	// ends the waiting does not end the requests of a lock that is held by then.
	requests, stop := context.WithCancel(s.ctx)
	l.requests = requests
	l.link.use(requests)
	untie := context.AfterFunc(ctx, stop)
	h, err := l.holder()
	if err == nil {
		l.say("Attempting lock acquisition")
		l.lost, err = h.take(requests.Done())
	}
	if held := err == nil && l.lost != nil; untie() && held {
		return h, nil
	} else if held { // its time was over in the same moment
		l.release(h)
		return nil, context.Cause(ctx)
	}
	cause := context.Cause(s.ctx)
	l.closeSession()
	return nil, errors.Join(err, cause)
}

// closeSession ends a session that holds nothing.
func (l *lock) closeSession() {
	l.session.stop()
	ctx, cancel := context.WithTimeout(context.Background(), handBack)
	defer cancel()
	l.link.use(ctx)
	l.session.destroy()
}

// passing says whether another try may go better. The recipes hand on the text of an
// error and not the error.
func passing(err error) bool {
	if errors.Is(err, api.ErrLockConflict) || errors.Is(err, api.ErrSemaphoreConflict) {
		return false
	}
	text := err.Error()
	return !strings.Contains(text, "limit conflict") && !strings.Contains(text, "response code: 4")
}
