package discovery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/muster-discovery/muster/internal/model"
	v1 "github.com/muster-discovery/muster/proto/muster/discovery/v1"
)

// TokenKey is the metadata that carries a caller's secret.
const TokenKey = "x-consul-token"

// missed is how many heartbeats may fail to come.
const missed = 3

type watchStream = grpc.BidiStreamingClient[v1.WatchRequest, v1.WatchResponse]

// stream runs one stream to its end. Answered tells whether a server took it up.
func (m *Mux) stream(ctx context.Context) (answered bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := missed * m.cfg.Heartbeat
	watchdog := time.AfterFunc(silence, func() { cancel(fmt.Errorf("nothing came from the server for %s", silence)) })
	defer watchdog.Stop()

	conn, err := m.cfg.Dial(ctx)
	if err != nil {
		return false, fmt.Errorf("dial: %w", err)
	}
	if m.cfg.Token != nil {
		if token := m.cfg.Token(); token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, TokenKey, token)
		}
	}
	s, err := v1.NewDiscoveryClient(conn).Watch(ctx)
	if err != nil {
		return false, fmt.Errorf("open a stream: %w", err)
	}
	var sender sync.WaitGroup
	sender.Go(func() { m.send(ctx, s) })
	defer func() {
		cancel(nil)
		sender.Wait()
	}()
	for {
		r, err := s.Recv()
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return answered, err
		}
		watchdog.Reset(silence)
		m.heard.Store(time.Now().UnixNano())
		answered = true
		if err := m.take(r); err != nil {
			return answered, err
		}
	}
}

// take applies one event and calls back.
func (m *Mux) take(r *v1.WatchResponse) error {
	m.metrics.events.WithLabelValues(kindOf(r)).Inc()
	switch e := r.GetEvent().(type) {
	case *v1.WatchResponse_Started:
		m.mu.Lock()
		m.up, m.server = true, e.Started.GetNode()
		m.mu.Unlock()
		return nil
	case *v1.WatchResponse_Heartbeat:
		if r.GetWatch() == 0 {
			return nil
		}
	}
	m.mu.Lock()
	w := m.watches[r.GetWatch()]
	if w == nil || !w.subscribed {
		m.mu.Unlock()
		return nil // closed meanwhile, or refused, or of a kind that this version does not know
	}
	call, err := m.apply(w, r)
	u := Update{Instances: w.instances, Index: w.index, Err: w.refused}
	m.mu.Unlock()
	if err != nil || !call {
		return err
	}
	w.onChange(u)
	if !m.cfg.ManualAcks && u.Err == nil {
		w.Ack(u.Index)
	}
	return nil
}

// apply changes a watch's state, with the mutex held; call says that its owner is to
// be told.
func (m *Mux) apply(w *Watch, r *v1.WatchResponse) (call bool, err error) {
	switch e := r.GetEvent().(type) {
	case *v1.WatchResponse_Reset_:
		m.metrics.resets.Inc()
		w.receiving, w.incoming = true, nil
	case *v1.WatchResponse_Snapshot:
		return m.snapshot(w, r.GetIndex(), e.Snapshot)
	case *v1.WatchResponse_Delta:
		if r.GetIndex() <= w.index {
			return false, fmt.Errorf("the server sent index %d of %q after %d", r.GetIndex(), w.query.Service, w.index)
		}
		upsert, err := decodeAll(e.Delta.GetUpsert())
		if err != nil {
			return false, err
		}
		remove := make([]key, len(e.Delta.GetRemove()))
		for k, x := range e.Delta.GetRemove() {
			remove[k] = key{x.GetNode(), x.GetId()}
		}
		w.instances = patch(w.instances, upsert, remove)
		if len(w.instances) > m.cfg.MaxInstances {
			return false, fmt.Errorf("%q has more than %d instances", w.query.Service, m.cfg.MaxInstances)
		}
		return w.arrived(r.GetIndex()), nil
	case *v1.WatchResponse_Heartbeat: // a resumption found nothing new
		call = w.refused != nil
		w.current, w.refused, w.attempts = true, nil, 0
		return call, nil
	case *v1.WatchResponse_Error:
		w.refuse(&model.Error{Kind: model.ErrorKind(e.Error.GetKind()), Text: e.Error.GetText()}, time.Now())
		m.signal(w)
		return true, nil
	}
	return false, nil
}

// snapshot takes one part; the last one replaces what there was.
func (m *Mux) snapshot(w *Watch, index uint64, s *v1.Snapshot) (bool, error) {
	part, err := decodeAll(s.GetInstances())
	if err != nil {
		return false, err
	}
	w.receiving = true
	if w.incoming = append(w.incoming, part...); len(w.incoming) > m.cfg.MaxInstances {
		return false, fmt.Errorf("%q has more than %d instances", w.query.Service, m.cfg.MaxInstances)
	}
	if !s.GetLast() {
		return false, nil
	}
	w.instances = settle(w.instances, w.incoming)
	return w.arrived(index), nil
}

// arrived notes an index that the watch is now up to date with.
func (w *Watch) arrived(index uint64) bool {
	w.receiving, w.incoming = false, nil
	w.current, w.refused, w.attempts = true, nil, 0
	if w.index = index; index < w.confirmed {
		w.confirmed, w.acked = 0, 0 // after a reset to another history
	}
	return true
}

// send tells the server what is new until the stream ends.
func (m *Mux) send(ctx context.Context, s watchStream) {
	hello := &v1.WatchRequest{Request: &v1.WatchRequest_Hello{Hello: &v1.Hello{
		Node: m.cfg.Node, Agent: m.cfg.Agent, Heartbeat: durationpb.New(m.cfg.Heartbeat),
	}}}
	if s.Send(hello) != nil {
		return // Recv has the reason
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		requests, next := m.pending(time.Now())
		for _, r := range requests {
			if s.Send(r) != nil {
				return
			}
		}
		timer.Reset(next)
		select {
		case <-m.wake:
		case <-timer.C:
		case <-ctx.Done():
			return
		}
	}
}

// idle is how long the sender waits at most; anything that is to be sent wakes it.
const idle = time.Hour

// pending is what the server has to be told now, and how long until the next refused
// watch is to be tried.
func (m *Mux) pending(now time.Time) (requests []*v1.WatchRequest, next time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range m.gone {
		requests = append(requests, &v1.WatchRequest{Request: &v1.WatchRequest_Unsubscribe{Unsubscribe: &v1.Unsubscribe{Watch: id}}})
	}
	m.gone, next = nil, idle
	for id, w := range m.dirty {
		if wait := w.retryAt.Sub(now); !w.subscribed && wait > 0 {
			next = min(next, wait)
			continue
		}
		delete(m.dirty, id)
		switch {
		case w.closed:
		case !w.subscribed:
			w.subscribed = true
			requests = append(requests, w.subscribe())
		case w.confirmed > w.acked:
			w.acked = w.confirmed
			requests = append(requests, &v1.WatchRequest{Request: &v1.WatchRequest_Ack{Ack: &v1.Ack{Watch: id, Index: w.acked}}})
		}
	}
	return requests, next
}

func (w *Watch) subscribe() *v1.WatchRequest {
	q := &w.query
	kind := v1.Kind_KIND_SERVICE
	if q.Connect {
		kind = v1.Kind_KIND_CONNECT
	}
	return &v1.WatchRequest{Request: &v1.WatchRequest_Subscribe{Subscribe: &v1.Subscribe{
		Watch: w.id, Service: q.Service, Kind: kind, Passing: q.Passing, Tags: q.Tags, Filter: q.Filter,
		Datacenter: q.Datacenter, Resume: w.index, Stale: q.Stale,
	}}}
}

var errIncomplete = errors.New("the server sent an instance without node or service")

func decodeAll(list []*v1.Instance) ([]*model.Instance, error) {
	all := make([]*model.Instance, len(list))
	for k, in := range list {
		if in.GetNode() == nil || in.GetService() == nil {
			return nil, errIncomplete
		}
		all[k] = Decode(in)
		if k > 0 {
			share(all[k-1], all[k])
		} else {
			share(nil, all[k])
		}
	}
	return all, nil
}
