package streamapi

import (
	"context"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/muster-discovery/muster/internal/consumer"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	v1 "github.com/muster-discovery/muster/proto/muster/discovery/v1"
)

// session is one stream. All but read is for the goroutine of run. It keeps nothing
// of what its client has not read: while a send hangs, what changes in the meantime
// is merged in the view.
type session struct {
	service  *Service
	stream   grpc.BidiStreamingServer[v1.WatchRequest, v1.WatchResponse]
	look     *lookup.Stream
	consumer *consumer.Stream
	marks    map[uint64]*consumer.Watch
	requests chan *v1.WatchRequest // from read; a client that asks faster than it is answered waits
	beat     time.Duration
	patience *time.Timer   // runs while a message is sent
	stuck    chan struct{} // closed when that took too long
}

// Bounds of heartbeats.
const (
	minBeat, maxBeat = time.Second, 5 * time.Minute
	defaultBeat      = 15 * time.Second
)

// read takes requests until the stream ends. Confirmations are noted here, so that
// they don't wait behind a slow send.
func (c *session) read() {
	for {
		r, err := c.stream.Recv()
		if err != nil {
			// The client will ask for no more, or is gone; the latter ends the context.
			return
		}
		if a := r.GetAck(); a != nil {
			// Of a watch that has ended, or what was never sent: neither is for the client
			// to hear of, and nothing is noted.
			_ = c.consumer.Confirm(a.GetWatch(), a.GetIndex())
			continue
		}
		select {
		case c.requests <- r:
		case <-c.stream.Context().Done():
			return
		}
	}
}

// run writes events until the stream ends, and releases what the stream holds.
func (c *session) run() (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.service.cfg.Logger.Error("stream panicked", "err", p, "stack", string(debug.Stack()))
			err = status.Error(codes.Internal, "internal error; the agent's log has the details")
		}
		c.patience.Stop()
		c.look.Close()
		c.consumer.Close()
	}()
	ctx := c.stream.Context()
	started := &v1.Started{Stream: c.consumer.ID(), Node: c.service.cfg.Node}
	if err := c.send(&v1.WatchResponse{Event: &v1.WatchResponse_Started{Started: started}}); err != nil {
		return err
	}
	ticker := time.NewTicker(c.beat)
	defer ticker.Stop()
	var events []lookup.Event
	for {
		select {
		case r := <-c.requests:
			if err := c.take(ctx, r, ticker); err != nil {
				return err
			}
		case <-c.look.Changed():
			events = c.look.Collect(events[:0])
			if err := c.tell(events); err != nil {
				return err
			}
			clear(events) // what they hold can go
		case <-ticker.C:
			if err := c.look.Recheck(); err != nil {
				return status.Error(codeOf(err), err.Error())
			}
			if err := c.heartbeat(0, c.look.Index()); err != nil {
				return err
			}
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}

// tell sends events.
func (c *session) tell(events []lookup.Event) error {
	for i := range events {
		if err := c.event(&events[i]); err != nil {
			return err
		}
	}
	c.consumer.SentAll(c.look.Index())
	return nil
}

func (c *session) event(e *lookup.Event) error {
	mark := c.marks[e.Watch]
	if mark == nil {
		return nil // it was refused by an event before
	}
	mark.Sent(e.Index)
	switch e.Kind {
	case lookup.EventCurrent:
		c.consumer.Resumed(true)
		return c.heartbeat(e.Watch, e.Index)
	case lookup.EventReset:
		c.consumer.Resumed(false)
		c.consumer.Count(consumer.Reset, len(e.Reason))
		return c.send(&v1.WatchResponse{Watch: e.Watch, Index: e.Index, Event: &v1.WatchResponse_Reset_{Reset_: &v1.Reset{Reason: e.Reason}}})
	case lookup.EventSnapshot:
		return c.snapshot(e)
	}
	frame, count, err := e.Frame(c.look)
	if err != nil {
		return c.refuse(e.Watch, err)
	}
	if count == 0 {
		return nil // nothing that this client sees
	}
	if e.Steps > 1 {
		c.consumer.Conflated()
	}
	b := frame.([]byte)
	if len(b) > maxDelta {
		s := e.AsSnapshot()
		return c.snapshot(&s)
	}
	return c.frame(consumer.Delta, e, b)
}

func (c *session) snapshot(e *lookup.Event) error {
	if gate := c.service.cfg.Gate; gate != nil {
		leave, err := gate.Enter(c.stream.Context())
		if err != nil {
			return status.Error(codeOf(err), err.Error())
		}
		defer leave()
	}
	frame, _, err := e.Frame(c.look)
	if err != nil {
		return c.refuse(e.Watch, err)
	}
	for _, part := range frame.([][]byte) {
		if err := c.frame(consumer.Snapshot, e, part); err != nil {
			return err
		}
	}
	return nil
}

// frame sends bytes that are a field of the response already. As unknown fields they
// are copied into the message as they are, which is all that a stream costs.
func (c *session) frame(kind string, e *lookup.Event, b []byte) error {
	m := &v1.WatchResponse{Watch: e.Watch, Index: e.Index}
	m.ProtoReflect().SetUnknown(b)
	c.consumer.Count(kind, len(b))
	return c.send(m)
}

func (c *session) heartbeat(watch, index uint64) error {
	m := &v1.WatchResponse{Watch: watch, Index: index, Event: &v1.WatchResponse_Heartbeat{
		Heartbeat: &v1.Heartbeat{Time: timestamppb.Now()},
	}}
	c.consumer.Count(consumer.Heartbeat, proto.Size(m))
	return c.send(m)
}

// refuse ends a watch with an error.
func (c *session) refuse(watch uint64, err error) error {
	c.drop(watch)
	c.consumer.Count(consumer.Error, len(err.Error()))
	return c.send(&v1.WatchResponse{Watch: watch, Event: &v1.WatchResponse_Error{
		Error: &v1.Error{Kind: uint32(model.KindOf(err)), Text: err.Error()},
	}})
}

func (c *session) drop(watch uint64) {
	c.look.Unwatch(watch)
	c.consumer.Remove(watch)
	delete(c.marks, watch)
}

// send sends a message that must be taken within the service's patience.
func (c *session) send(m *v1.WatchResponse) error {
	c.patience.Reset(c.service.cfg.SendTimeout)
	defer c.patience.Stop()
	return c.stream.Send(m)
}

// take carries out a request. Its error ends the stream.
func (c *session) take(ctx context.Context, r *v1.WatchRequest, ticker *time.Ticker) error {
	switch q := r.GetRequest().(type) {
	case *v1.WatchRequest_Hello:
		c.consumer.SetInfo(cut(q.Hello.GetNode()), cut(q.Hello.GetAgent()))
		if d := q.Hello.GetHeartbeat(); d != nil {
			c.beat = min(max(d.AsDuration(), minBeat), maxBeat)
			ticker.Reset(c.beat)
		}
	case *v1.WatchRequest_Subscribe:
		return c.subscribe(ctx, q.Subscribe)
	case *v1.WatchRequest_Unsubscribe:
		c.drop(q.Unsubscribe.GetWatch())
	}
	return nil // requests of later versions are passed over
}

// cut bounds what a client says about itself.
func cut(s string) string { return s[:min(len(s), maxName)] }
