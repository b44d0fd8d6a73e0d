package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/fsm"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/rpc"
)

func key(name string, have uint64) rpc.TopicQuestion {
	return rpc.TopicQuestion{Topic: model.Topic{Kind: model.TopicKVKey, Name: name}, Have: have}
}

// TestGather: those who ask while a question is on its way share the next one, equal
// questions are asked once, and nobody is answered by a question sent before his own.
func TestGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var calls []string
		g := newGather(func(_ context.Context, topics []rpc.TopicQuestion, consistent bool) ([]rpc.TopicAnswer, error) {
			mu.Lock()
			calls = append(calls, fmt.Sprintf("%d %t", len(topics), consistent))
			mu.Unlock()
			time.Sleep(time.Millisecond)
			var answers []rpc.TopicAnswer
			for _, q := range topics {
				b, err := fsm.AppendItem(nil, &model.KVEntry{Key: q.Topic.Name})
				if err != nil {
					t.Error(err)
				}
				answers = append(answers, rpc.TopicAnswer{Index: q.Have + 1, Items: b})
			}
			return answers, nil
		})
		var wg sync.WaitGroup
		ask := func(q rpc.TopicQuestion, consistent bool) {
			wg.Go(func() {
				s, err := g.read(t.Context(), q, consistent)
				if err != nil || s.Index != q.Have+1 || !s.Whole || s.Items[0].(*model.KVEntry).Key != q.Topic.Name {
					t.Errorf("%v: %+v, %v", q, s, err)
				}
			})
			synctest.Wait()
		}
		for i := range 10 { // two calls on their way, the rest waits
			ask(key(fmt.Sprint("k", i%4), 7), false)
		}
		ask(key("k0", 9), false)
		ask(key("k0", 7), true)
		wg.Wait()
		if got, want := fmt.Sprint(calls), "[1 false 1 false 1 true 5 false]"; got != want {
			t.Errorf("calls %s, want %s", got, want)
		}
	})
}

func TestGatherFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("away")
		g := newGather(func(context.Context, []rpc.TopicQuestion, bool) ([]rpc.TopicAnswer, error) { return nil, away })
		if _, err := g.read(t.Context(), key("a", 0), false); !errors.Is(err, away) {
			t.Error(err)
		}
		g.ask = func(context.Context, []rpc.TopicQuestion, bool) ([]rpc.TopicAnswer, error) { return nil, nil }
		if _, err := g.read(t.Context(), key("a", 0), false); model.KindOf(err) != model.KindInternal {
			t.Error(err)
		}
		g.ask = func(ctx context.Context, _ []rpc.TopicQuestion, _ bool) ([]rpc.TopicAnswer, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.read(ctx, key("a", 0), false); model.KindOf(err) != model.KindUnavailable || time.Since(start) != time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		if _, err := g.read(t.Context(), key("a", 0), false); err == nil || time.Since(start) > time.Second+askTimeout {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

// TestGatherOldLeader: a leader that answers one topic at a time is asked for each.
func TestGatherOldLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		g := newGather(func(_ context.Context, topics []rpc.TopicQuestion, _ bool) ([]rpc.TopicAnswer, error) {
			<-block
			return []rpc.TopicAnswer{{Index: topics[0].Have + 1}}, nil
		})
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				s, err := g.read(t.Context(), key("k", uint64(i)), false)
				if want := (lookup.TopicState{Index: uint64(i) + 1}); err != nil || s.Index != want.Index || s.Whole {
					t.Errorf("%d: %+v, %v", i, s, err)
				}
			})
		}
		synctest.Wait()
		close(block)
		wg.Wait()
	})
}
