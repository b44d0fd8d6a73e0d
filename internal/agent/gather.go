package agent

import (
	"context"
	"sync"
	"time"

	"github.com/muster-discovery/muster/internal/fsm"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/rpc"
)

// gather lets readers at a follower that wait at the same moment share one question
// to the leader: a call costs far more than one more topic in it.
type gather struct {
	ask func(ctx context.Context, topics []rpc.TopicQuestion, consistent bool) ([]rpc.TopicAnswer, error)

	mu     sync.Mutex
	queues [2]readQueue // of default and of consistent reads
}

type readQueue struct {
	waiting []*topicRead
	byTopic map[rpc.TopicQuestion]*topicRead // of waiting
	asking  int
}

// topicRead is one question, with all who ask it.
type topicRead struct {
	question rpc.TopicQuestion
	done     chan struct{}
	state    lookup.TopicState
	err      error
}

// Bounds: a second question may be on its way while the first one's answer is
// awaited, and one call carries no more topics than a leader takes.
const (
	maxAsking  = 2
	maxGather  = 512
	askTimeout = 5 * time.Second
)

func newGather(ask func(context.Context, []rpc.TopicQuestion, bool) ([]rpc.TopicAnswer, error)) *gather {
	g := &gather{ask: ask}
	for i := range g.queues {
		g.queues[i].byTopic = make(map[rpc.TopicQuestion]*topicRead)
	}
	return g
}

// read asks the leader for a topic.
func (g *gather) read(ctx context.Context, q rpc.TopicQuestion, consistent bool) (lookup.TopicState, error) {
	r := g.enqueue(q, consistent)
	select {
	case <-r.done:
		return r.state, r.err
	case <-ctx.Done():
		return lookup.TopicState{}, model.Errorf(model.KindUnavailable, "read canceled: %s", ctx.Err())
	}
}

func (g *gather) queue(consistent bool) *readQueue {
	if consistent {
		return &g.queues[1]
	}
	return &g.queues[0]
}

// enqueue joins those who wait with the same question, or adds it. None of them has
// been sent yet: whoever asks now must not be told of a moment before.
func (g *gather) enqueue(q rpc.TopicQuestion, consistent bool) *topicRead {
	g.mu.Lock()
	defer g.mu.Unlock()
	queue := g.queue(consistent)
	r := queue.byTopic[q]
	if r == nil {
		r = &topicRead{question: q, done: make(chan struct{})}
		queue.byTopic[q] = r
		queue.waiting = append(queue.waiting, r)
	}
	if queue.asking < maxAsking {
		queue.asking++
		go g.run(consistent) // ends when nobody waits
	}
	return r
}

func (g *gather) run(consistent bool) {
	for {
		batch := g.take(consistent)
		if batch == nil {
			return
		}
		g.answer(batch, consistent)
	}
}

// take takes the questions of one call off the queue; nil if there are none, and then
// the caller must end.
func (g *gather) take(consistent bool) []*topicRead {
	g.mu.Lock()
	defer g.mu.Unlock()
	queue := g.queue(consistent)
	n := min(len(queue.waiting), maxGather)
	if n == 0 {
		queue.asking--
		return nil
	}
	batch := queue.waiting[:n:n]
	queue.waiting = queue.waiting[n:]
	for _, r := range batch {
		delete(queue.byTopic, r.question)
	}
	return batch
}

// answer asks until all have an answer: leaders of older versions take one topic at a
// time.
func (g *gather) answer(batch []*topicRead, consistent bool) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	topics := make([]rpc.TopicQuestion, len(batch))
	for i, r := range batch {
		topics[i] = r.question
	}
	for len(batch) > 0 {
		answers, err := g.ask(ctx, topics, consistent)
		if err == nil && len(answers) == 0 {
			err = model.Errorf(model.KindInternal, "the leader answered nothing")
		}
		if err != nil {
			for _, r := range batch {
				r.finish(lookup.TopicState{}, err)
			}
			return
		}
		n := min(len(answers), len(batch))
		for i, a := range answers[:n] {
			batch[i].finish(decodeTopic(a))
		}
		batch, topics = batch[n:], topics[n:]
	}
}

func (r *topicRead) finish(state lookup.TopicState, err error) {
	r.state, r.err = state, err
	close(r.done)
}

func decodeTopic(a rpc.TopicAnswer) (lookup.TopicState, error) {
	state := lookup.TopicState{Index: a.Index}
	if a.Items == nil {
		return state, nil
	}
	items, err := fsm.DecodeItems(a.Items)
	if err != nil {
		return state, model.Errorf(model.KindInternal, "the leader's answer: %v", err)
	}
	state.Items, state.Whole = items, true
	return state, nil
}
