package consensus

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/muster-discovery/muster/internal/fsm"
	"github.com/muster-discovery/muster/internal/model"
)

const (
	// maxEntry is where an entry is full. A larger command travels alone.
	maxEntry = 256 << 10
	// inFlight is how many entries may be on their way at once. Measured: with one
	// a three-server cluster waits for its slowest round, above four commands are
	// spread thinner for no gain.
	inFlight = 4
)

// batcher packs waiting commands into log entries. Each of its workers gathers an
// entry, hands it to Raft and waits for the answer; they take turns in gathering,
// so that commands enter the log in the order of the queue.
//
// The queue is bounded: when it is full callers wait for room as long as their
// context lasts.
type batcher struct {
	log   *Log
	queue chan *proposal
	turn  chan struct{}
	held  *proposal // taken from the queue, but too large for that entry; guarded by turn
	// pauses hands whoever gathers a channel, and nothing is gathered until it is closed.
	pauses chan chan struct{}

	stop    chan struct{}
	stopped chan struct{} // closed when no worker is left
	workers sync.WaitGroup
}

// proposal is one caller's command.
type proposal struct {
	command []byte
	// taken is claimed by the worker that puts the command into an entry, or by the
	// caller when it gives up. Whoever is first decides.
	taken atomic.Bool
	done  chan outcome
}

type outcome struct {
	result fsm.Result
	err    error
}

func newBatcher(l *Log, size int) *batcher {
	b := &batcher{
		log:     l,
		queue:   make(chan *proposal, size),
		turn:    make(chan struct{}, 1),
		pauses:  make(chan chan struct{}),
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
	for range inFlight {
		b.workers.Go(b.work)
	}
	return b
}

// close lets the entries in flight finish, which Raft must be alive for, and
// refuses what still waits.
func (b *batcher) close() {
	close(b.stop)
	b.workers.Wait()
	close(b.stopped)
}

// Commit proposes a command and returns the machine's result once it is committed
// and applied here. The error is about the way there; Result.Err is the command's
// own. On KindUncertain the command may or may not take effect, now or later:
// repeat it with the same request id.
func (l *Log) Commit(ctx context.Context, command []byte) (fsm.Result, error) {
	if len(command) > l.config.MaxCommand {
		return fsm.Result{}, model.Errorf(model.KindTooLarge, "the write has %d bytes, the limit is %d", len(command), l.config.MaxCommand)
	}
	if !l.IsLeader() {
		return fsm.Result{}, l.notLeader()
	}
	start := time.Now()
	result, err := l.batcher.propose(ctx, command)
	if err == nil {
		l.metrics.commit.Observe(time.Since(start).Seconds())
	}
	return result, err
}

func (b *batcher) propose(ctx context.Context, command []byte) (fsm.Result, error) {
	p := &proposal{command: command, done: make(chan outcome, 1)}
	select {
	case <-b.stop:
		return fsm.Result{}, errClosed
	default:
	}
	select {
	case b.queue <- p:
	case <-b.stop:
		return fsm.Result{}, errClosed
	case <-ctx.Done():
		return fsm.Result{}, gaveUp(ctx)
	}
	select {
	case o := <-p.done:
		return o.result, o.err
	case <-b.stopped:
		if p.taken.CompareAndSwap(false, true) {
			return fsm.Result{}, errClosed
		}
		o := <-p.done // a worker that took it has answered before it ended
		return o.result, o.err
	case <-ctx.Done():
		if p.taken.CompareAndSwap(false, true) {
			return fsm.Result{}, gaveUp(ctx)
		}
		return fsm.Result{}, leftOpen(ctx)
	}
}

// work sends entries until the batcher is closed.
func (b *batcher) work() {
	for {
		select {
		case <-b.stop:
			return
		case b.turn <- struct{}{}:
		}
		batch := b.gather()
		if batch == nil {
			<-b.turn
			return
		}
		commands := make([][]byte, len(batch))
		for i, p := range batch {
			commands[i] = p.command
		}
		b.log.nudger.sent.Add(1)
		future := b.log.raft.Apply(encodeEntry(commands), 0)
		<-b.turn
		b.log.metrics.entryCommands.Observe(float64(len(batch)))
		b.answer(batch, future)
	}
}

// gather waits for a command and takes with it what else fits into an entry. It
// returns nil when the batcher is closed.
func (b *batcher) gather() []*proposal {
	var batch []*proposal
	size := 0
	for {
		p := b.next(len(batch) == 0)
		if p == nil {
			return batch
		}
		if len(batch) > 0 && size+entrySize(p.command) > maxEntry {
			b.held = p
			return batch
		}
		if !p.taken.CompareAndSwap(false, true) {
			continue // its caller has left
		}
		batch = append(batch, p)
		size += entrySize(p.command)
	}
}

// next returns the next proposal, nil if there is none now (or, if it is to wait,
// none any more).
func (b *batcher) next(wait bool) *proposal {
	if p := b.held; p != nil {
		b.held = nil
		return p
	}
	for wait {
		select {
		case p := <-b.queue:
			return p
		case over := <-b.pauses:
			select {
			case <-over:
			case <-b.stop:
			}
		case <-b.stop:
			return nil
		}
	}
	select {
	case p := <-b.queue:
		return p
	default:
		return nil
	}
}

func (b *batcher) answer(batch []*proposal, future raft.ApplyFuture) {
	if err := future.Error(); err != nil {
		err = b.log.commitError(err)
		for _, p := range batch {
			p.done <- outcome{err: err}
		}
		return
	}
	b.log.nudger.committed(future.Index())
	results := future.Response().([]fsm.Result)
	for i, p := range batch {
		p.done <- outcome{result: results[i]}
	}
}
