package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/muster-discovery/muster/internal/retry"
)

// Handler is told what a watch found: the result as a line of JSON and its index.
// Calls of one watch never overlap. A handler that has to do with a result returns
// when that is done or ctx ends.
type Handler interface {
	Handle(ctx context.Context, index uint64, data []byte) error
}

// ErrUndelivered is wrapped by the error of a handler that the result did not reach.
// It is told the newest result again, later.
var ErrUndelivered = errors.New("not delivered")

// Errors back off, and so does a handler that can't be reached.
const (
	minPause = 250 * time.Millisecond
	maxPause = 30 * time.Second
	// pace bounds the questions to an answer that does not wait.
	pace = time.Second
	// grumble is the number of failures in a row that is worth a line in the log: an
	// agent that starts has no leader yet.
	grumble = 4
)

// Watch is a watch under way. It belongs to one goroutine.
type Watch struct {
	spec    *Spec
	client  *api.Client
	handler Handler
	log     *slog.Logger

	at      place
	told    place  // of the last result that the handler got
	last    []byte // that result
	trouble string // what the log says already
}

// New prepares a watch that asks through client.
func New(s *Spec, client *api.Client, h Handler, log *slog.Logger) *Watch {
	return &Watch{spec: s, client: client, handler: h, log: log.With("watch", s.String())}
}

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	back := retry.Backoff{Min: minPause, Max: maxPause, Jitter: 0.5}
	for ctx.Err() == nil {
		err := w.step(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			w.recovered()
			back.Reset()
			continue
		}
		w.failed(err, back.Attempts()+1)
		if !back.Wait(ctx) {
			return
		}
	}
}

// Once looks and does not wait: what is there, in the shape of the API.
func Once(ctx context.Context, s *Spec, client *api.Client) (any, error) {
	q := &api.QueryOptions{AllowStale: s.Stale, Filter: s.Filter}
	result, _, err := kinds[s.Type].fetch(client, s, q.WithContext(ctx), 0)
	return result, err
}

// step waits for the next answer and tells the handler if it is news.
func (w *Watch) step(ctx context.Context) error {
	q := &api.QueryOptions{
		Datacenter: w.spec.Datacenter, Token: w.spec.Token, AllowStale: w.spec.Stale, Filter: w.spec.Filter,
		WaitIndex: w.at.index, WaitHash: w.at.hash,
	}
	began := time.Now()
	result, now, err := kinds[w.spec.Type].fetch(w.client, w.spec, q.WithContext(ctx), w.told.index)
	if err != nil {
		return err
	}
	before := w.at
	w.at = now
	if now.index < before.index && w.spec.Type != "event" {
		w.at.index = 0 // the server's state is another one; ask it from the beginning
	}
	data, err := json.Marshal(result)
	if err != nil {
		return err
	}
	if w.news(data) {
		return w.tell(ctx, now, data)
	}
	if now == before {
		w.rest(ctx, began)
	}
	return nil
}

func (w *Watch) news(data []byte) bool {
	if kinds[w.spec.Type].lists && (string(data) == "[]" || string(data) == "null") {
		return false
	}
	return !bytes.Equal(data, w.last)
}

// tell has the handler run. A program that fails was told all the same; an address
// that was not reached asks for the newest result at once when its pause is over.
func (w *Watch) tell(ctx context.Context, now place, data []byte) error {
	err := w.handler.Handle(ctx, now.index, append(data, '\n'))
	if errors.Is(err, ErrUndelivered) {
		w.at = place{}
		return err
	}
	w.last, w.told = data, now
	if err != nil && ctx.Err() == nil {
		w.log.Error("watch handler failed", "index", now.index, "err", err)
	}
	return nil
}

// rest keeps a question whose answer does not wait from being asked in a hot loop.
func (w *Watch) rest(ctx context.Context, began time.Time) {
	timer := time.NewTimer(pace - time.Since(began))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// failed logs trouble once it lasts, and when it turns into another.
func (w *Watch) failed(err error, times int) {
	if text := err.Error(); times >= grumble && text != w.trouble {
		w.trouble = text
		w.log.Warn("watch is in trouble, trying again", "attempt", times, "err", err)
	}
}

func (w *Watch) recovered() {
	if w.trouble != "" {
		w.trouble = ""
		w.log.Info("watch works again")
	}
}
