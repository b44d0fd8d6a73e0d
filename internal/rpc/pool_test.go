package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/rpc/rpcpb"
)

// counting answers Forward with a growing index.
func counting() handler {
	var n atomic.Uint64
	return handler{forward: func(context.Context, *rpcpb.ForwardRequest) (*rpcpb.ForwardReply, error) {
		return &rpcpb.ForwardReply{Index: n.Add(1)}, nil
	}}
}

func TestForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := newMemNet()
		var got *rpcpb.ForwardRequest
		serve(t, mem.listen("addr-1"), handler{
			forward: func(ctx context.Context, r *rpcpb.ForwardRequest) (*rpcpb.ForwardReply, error) {
				got = r
				if d, ok := ctx.Deadline(); !ok || time.Until(d) > defaultCallTimeout {
					t.Errorf("deadline %v %v", d, ok)
				}
				return &rpcpb.ForwardReply{Index: 42}, nil
			},
			readIndex: func(_ context.Context, r *rpcpb.ReadIndexRequest) (*rpcpb.ReadIndexReply, error) {
				if r.GetTopicKind() != 4 || string(r.GetTopicName()) != "web" || !r.GetConsistent() || r.GetDatacenter() != "dc1" {
					t.Errorf("request %v", r)
				}
				return &rpcpb.ReadIndexReply{TopicIndex: 7}, nil
			},
		})
		p := newPool(t, mem.dialer(), func(id string) (string, error) { return "addr-" + id, nil })
		index, _, err := p.Forward(t.Context(), "1", "secret", []byte("cmd"), false)
		if index != 42 || err != nil {
			t.Fatal(index, err)
		}
		if string(got.GetCommand()) != "cmd" || got.GetToken() != "secret" || got.GetDatacenter() != "dc1" || got.GetFrom() != "tester" {
			t.Errorf("request %v", got)
		}
		topics := []TopicQuestion{{model.Topic{Kind: model.TopicService, Name: "web"}, 3}, {model.Topic{Kind: model.TopicNodes}, 0}}
		answers, err := p.ReadIndex(t.Context(), "1", topics, true)
		if len(answers) != 1 || answers[0].Index != 7 || err != nil {
			t.Error("a server that knows one topic:", answers, err)
		}
		if _, err := p.Identity(t.Context(), "1"); model.KindOf(err) != model.KindInternal || !strings.Contains(err.Error(), "upgrade") {
			t.Errorf("a call that the server does not know: %v", err)
		}
	})
}

// TestErrorsTravel: every kind arrives as it was made, for both calls.
func TestErrorsTravel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := newMemNet()
		var made error
		serve(t, mem.listen("s"), handler{
			forward: func(context.Context, *rpcpb.ForwardRequest) (*rpcpb.ForwardReply, error) {
				return &rpcpb.ForwardReply{Error: rpcpb.FromError(made)}, nil
			},
			readIndex: func(context.Context, *rpcpb.ReadIndexRequest) (*rpcpb.ReadIndexReply, error) {
				return &rpcpb.ReadIndexReply{Error: rpcpb.FromError(made)}, nil
			},
		})
		p := newPool(t, mem.dialer(), nil)
		check := func(want model.Error) {
			t.Helper()
			_, _, forward := p.Forward(t.Context(), "s", "", nil, false)
			_, read := p.ReadIndex(t.Context(), "s", make([]TopicQuestion, 1), false)
			for _, err := range []error{forward, read} {
				var e *model.Error
				if !errors.As(err, &e) || *e != want {
					t.Errorf("%#v arrived as %#v", want, err)
				}
			}
		}
		// All kinds of today, and some of tomorrow.
		for kind := range model.ErrorKind(model.KindNoPath + 10) {
			want := model.Error{Kind: kind, Field: "Service.Name", Text: "a \"text\"\nwith ü"}
			made = fmt.Errorf("somewhere: %w", &want)
			check(want)
		}
		made = errors.New("plain")
		check(model.Error{Kind: model.KindInternal, Text: "plain"})
		made = nil
		if _, _, err := p.Forward(t.Context(), "s", "", nil, false); err != nil {
			t.Error(err)
		}
	})
}

// TestTransportErrors: what can't have been carried out is told from what may
// have been.
func TestTransportErrors(t *testing.T) {
	tests := []struct {
		name     string
		resolve  func(string) (string, error)
		listen   bool
		forward  func(t *testing.T, s **server) func(context.Context, *rpcpb.ForwardRequest) (*rpcpb.ForwardReply, error)
		deadline time.Duration
		kind     model.ErrorKind
		want     string
	}{
		{
			name: "unknown server", resolve: func(string) (string, error) { return "", errors.New("no such member") },
			kind: model.KindUnavailable, want: "no such member",
		},
		{name: "refused", kind: model.KindUnavailable, want: "connection refused"},
		{
			name: "dies before the answer", listen: true,
			forward: func(t *testing.T, s **server) func(context.Context, *rpcpb.ForwardRequest) (*rpcpb.ForwardReply, error) {
				return func(ctx context.Context, _ *rpcpb.ForwardRequest) (*rpcpb.ForwardReply, error) {
					go (*s).stop()
					<-ctx.Done()
					return nil, ctx.Err()
				}
			},
			kind: model.KindUncertain, want: "may or may not have been carried out",
		},
		{
			name: "too slow", listen: true, deadline: time.Second,
			forward: func(*testing.T, **server) func(context.Context, *rpcpb.ForwardRequest) (*rpcpb.ForwardReply, error) {
				return func(ctx context.Context, _ *rpcpb.ForwardRequest) (*rpcpb.ForwardReply, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				}
			},
			kind: model.KindUncertain, want: "no answer in time",
		},
		{
			name: "panics", listen: true,
			forward: func(*testing.T, **server) func(context.Context, *rpcpb.ForwardRequest) (*rpcpb.ForwardReply, error) {
				return func(context.Context, *rpcpb.ForwardRequest) (*rpcpb.ForwardReply, error) { panic("boom") }
			},
			kind: model.KindUncertain, want: "its log has the details",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := newMemNet()
				var s *server
				if tt.listen {
					s = serve(t, mem.listen("s"), handler{forward: tt.forward(t, &s)})
				}
				p := newPool(t, mem.dialer(), tt.resolve)
				ctx := t.Context()
				if tt.deadline > 0 {
					ctx = within(t, tt.deadline)
				}
				_, _, err := p.Forward(ctx, "s", "", []byte("x"), false)
				if model.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("kind %d, %v; want kind %d with %q", model.KindOf(err), err, tt.kind, tt.want)
				}
			})
		})
	}
}

// TestDeadlineBeforeConnect: the deadline passes while still dialling, so nothing
// was sent.
func TestDeadlineBeforeConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := newMemNet()
		mem.listen("s") // nobody accepts
		p := newPool(t, mem.dialer(), nil)
		begin := time.Now()
		_, _, err := p.Forward(within(t, time.Second), "s", "", nil, false)
		if model.KindOf(err) != model.KindUnavailable || time.Since(begin) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

// TestReconnect: a server dies and comes back under another address; calls fail
// at once meanwhile and work again soon after, at once with a hint.
func TestReconnect(t *testing.T) {
	for _, hint := range []bool{false, true} {
		t.Run(fmt.Sprintf("hint=%v", hint), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := newMemNet()
				s := serve(t, mem.listen("old"), counting())
				addr := "old"
				var mu sync.Mutex
				p := newPool(t, mem.dialer(), func(string) (string, error) {
					mu.Lock()
					defer mu.Unlock()
					return addr, nil
				})
				if _, _, err := p.Forward(t.Context(), "s", "", nil, false); err != nil {
					t.Fatal(err)
				}
				s.stop()
				begin := time.Now()
				for time.Since(begin) < 20*time.Second {
					before := time.Now()
					if _, _, err := p.Forward(t.Context(), "s", "", nil, false); model.KindOf(err) != model.KindUnavailable {
						t.Fatalf("while it is down: %v", err)
					}
					if d := time.Since(before); d > 100*time.Millisecond {
						t.Errorf("a call to a dead server took %v", d)
					}
					time.Sleep(250 * time.Millisecond)
				}
				serve(t, mem.listen("new"), counting())
				mu.Lock()
				addr = "new"
				mu.Unlock()
				limit := 5 * time.Second
				if hint {
					p.Hint("s")
					limit = 50 * time.Millisecond
				}
				begin = time.Now()
				for {
					_, _, err := p.Forward(t.Context(), "s", "", nil, false)
					if err == nil {
						break
					}
					if time.Since(begin) > limit {
						t.Fatalf("not back after %v: %v", limit, err)
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
		})
	}
}

// TestNoDeadline: a call whose caller set no deadline gets one.
func TestNoDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := newMemNet()
		block := make(chan struct{})
		serve(t, mem.listen("s"), handler{forward: func(context.Context, *rpcpb.ForwardRequest) (*rpcpb.ForwardReply, error) {
			<-block
			return &rpcpb.ForwardReply{}, nil
		}})
		p := newPool(t, mem.dialer(), nil)
		begin := time.Now()
		_, _, err := p.Forward(context.Background(), "s", "", nil, false)
		if model.KindOf(err) != model.KindUncertain || time.Since(begin) != defaultCallTimeout {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		close(block)
	})
}

// TestFrozenServer: a machine that vanishes without closing its connections is
// noticed by keepalive, so that the next call dials again.
func TestFrozenServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := newMemNet()
		serve(t, mem.listen("old"), counting())
		// frozen swallows what the client sends from then on, and never answers.
		var frozen atomic.Bool
		d := mem.dialer()
		connect := d.Connect
		d.Connect = func(ctx context.Context, addr string) (net.Conn, error) {
			conn, err := connect(ctx, addr)
			if err == nil && addr == "old" {
				conn = freezing{conn, &frozen}
			}
			return conn, err
		}
		addr := "old"
		p := newPool(t, d, func(string) (string, error) { return addr, nil })
		if _, _, err := p.Forward(t.Context(), "s", "", nil, false); err != nil {
			t.Fatal(err)
		}
		serve(t, mem.listen("new"), counting())
		addr = "new"
		frozen.Store(true)
		time.Sleep(keepaliveTime + keepaliveTimeout + time.Second)
		begin := time.Now()
		if _, _, err := p.Forward(t.Context(), "s", "", nil, false); err != nil || time.Since(begin) > time.Second {
			t.Errorf("after the keepalive: %v, %v", err, time.Since(begin))
		}
	})
}

// freezing is a connection whose writes go nowhere once frozen.
type freezing struct {
	net.Conn
	frozen *atomic.Bool
}

func (c freezing) Write(b []byte) (int, error) {
	if c.frozen.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func TestSizes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := newMemNet()
		serve(t, mem.listen("s"), handler{forward: func(_ context.Context, r *rpcpb.ForwardRequest) (*rpcpb.ForwardReply, error) {
			return &rpcpb.ForwardReply{Index: uint64(len(r.GetCommand()))}, nil
		}})
		p := newPool(t, mem.dialer(), nil)
		if n, _, err := p.Forward(t.Context(), "s", "", bytes.Repeat([]byte("x"), maxCommand), false); n != maxCommand || err != nil {
			t.Error(n, err)
		}
		if _, _, err := p.Forward(t.Context(), "s", "", make([]byte, maxCommand+1), false); model.KindOf(err) != model.KindTooLarge {
			t.Error(err)
		}
	})
}

func TestClosedPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := newMemNet()
		serve(t, mem.listen("s"), counting())
		p := newPool(t, mem.dialer(), nil)
		if _, _, err := p.Forward(t.Context(), "s", "", nil, false); err != nil {
			t.Fatal(err)
		}
		p.Remove("s")
		p.Remove("never seen")
		if n, _, err := p.Forward(t.Context(), "s", "", nil, false); n != 2 || err != nil {
			t.Error("after Remove:", n, err)
		}
		_ = p.Close()
		if _, _, err := p.Forward(t.Context(), "s", "", nil, false); model.KindOf(err) != model.KindUnavailable {
			t.Error("after Close:", err)
		}
	})
}

func BenchmarkForward(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := serve(b, nil, counting())
			p := newPool(b, nil, func(string) (string, error) { return s.mux.Addr().String(), nil })
			command := make([]byte, 300)
			if _, _, err := p.Forward(b.Context(), "s", "token", command, false); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			b.ResetTimer()
			for range callers {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if _, _, err := p.Forward(b.Context(), "s", "token", command, false); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}
