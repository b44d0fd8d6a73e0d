package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options say how an import is done.
type Options struct {
	Overwrite bool // replace what the target has and the source has differently
	DryRun    bool // compare only
	Workers   int  // calls under way at once; 0: 4
	StateFile string
	From, To  string // names of both ends, for the state file
}

// defaultWorkers keep a server busy without crowding out its other callers.
const defaultWorkers = 4

// Importer is the Sink that writes into a running registry. What can be compared is
// compared first, so that a second run does no harm and changes nothing.
type Importer struct {
	to    *Endpoint
	opt   Options
	tally tally
	place Position // as far as everything is done

	progress struct {
		mu    sync.Mutex
		stage string
		total int
	}
	done atomic.Int64 // things of the stage

	queries map[string]Object // of the target, by their names; nil until asked

	slots   chan struct{}
	workers sync.WaitGroup
	cancel  context.CancelCauseFunc
	ended   context.Context // over with the first error of a worker
	marks   marks
	saved   time.Time
}

// NewImporter starts where an earlier run ended, if its state is given. Close it.
func NewImporter(to *Endpoint, o Options, earlier *State) *Importer {
	if o.Workers == 0 {
		o.Workers = defaultWorkers
	}
	i := &Importer{to: to, opt: o, slots: make(chan struct{}, o.Workers)}
	i.ended, i.cancel = context.WithCancelCause(context.Background())
	if earlier != nil {
		i.tally.r, i.place = earlier.Report, earlier.Position
		i.tally.r.Resumed = true
		if !earlier.Position.Catalog {
			i.tally.r.Left = nil // the source tells all of it again
		}
	}
	i.tally.r.DryRun = o.DryRun
	return i
}

// Run carries everything over from a source.
func (i *Importer) Run(ctx context.Context, from Source) (Report, error) {
	err := from.Walk(ctx, i.place, i)
	if waited := i.wait(); err == nil {
		err = waited
	}
	if err == nil {
		i.tally.change(func(r *Report) { r.Done = true })
		return i.tally.snapshot(), nil
	}
	if cause := context.Cause(i.ended); cause != nil {
		err = cause // what the source was told is only that it is over
	}
	if saved := i.save(); saved != nil {
		err = fmt.Errorf("%w (and the state was not saved: %v)", err, saved)
	}
	return i.tally.snapshot(), err
}

// Progress is what is done of the present stage; total is -1 if it is not known.
func (i *Importer) Progress() (stage string, done, total int) {
	p := &i.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stage, int(i.done.Load()), p.total
}

// Begin implements Sink.
func (i *Importer) Begin(stage string, total int) {
	i.done.Store(0)
	p := &i.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stage, p.total = stage, total
}

// End implements Sink: a stage is over when its last worker is.
func (i *Importer) End(_ context.Context, stage string) error {
	if err := i.wait(); err != nil {
		return err
	}
	switch stage {
	case StageCatalog:
		i.place.Catalog = true
	case StageQueries:
		i.place.Queries = true
	}
	return i.save()
}

// Left implements Sink.
func (i *Importer) Left(l Left) error {
	i.done.Add(1)
	i.tally.change(func(r *Report) {
		if !slices.Contains(r.Left, l) { // an earlier run may have told it
			r.Left = bounded(r, r.Left, l)
		}
	})
	return nil
}

// start runs a piece of work once a slot is free.
func (i *Importer) start(ctx context.Context, work func(ctx context.Context) error) error {
	select {
	case i.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-i.ended.Done():
		return context.Cause(i.ended)
	}
	i.workers.Add(1)
	go func() {
		defer i.workers.Done()
		defer func() { <-i.slots }()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(i.ended, cancel)()
		if err := work(ctx); err != nil {
			i.cancel(err)
		}
	}()
	return nil
}

func (i *Importer) wait() error {
	i.workers.Wait()
	return context.Cause(i.ended)
}

// Node implements Sink.
func (i *Importer) Node(ctx context.Context, n *Node) error {
	return i.start(ctx, func(ctx context.Context) error {
		defer i.done.Add(1)
		return i.importNode(ctx, n)
	})
}

// Keys implements Sink.
func (i *Importer) Keys(ctx context.Context, b *Batch) error {
	if err := i.saveNow(); err != nil {
		return err
	}
	mark := i.marks.begin()
	return i.start(ctx, func(ctx context.Context) error {
		if err := i.importKeys(ctx, b); err != nil {
			return err
		}
		i.done.Add(int64(len(b.Keys)))
		i.marks.end(mark, b.Keys[len(b.Keys)-1], len(b.Keys))
		return nil
	})
}

// saveEvery is how often the state is saved while keys are carried over: what a kill
// costs is compared again, not lost.
const saveEvery = time.Second

func (i *Importer) saveNow() error {
	if time.Since(i.saved) < saveEvery {
		return nil
	}
	return i.save()
}

func (i *Importer) save() error {
	i.saved = time.Now()
	if i.opt.StateFile == "" || i.opt.DryRun {
		return nil
	}
	if last, n := i.marks.passed(); n > 0 {
		i.place.After = last
		i.place.Keys += n
	}
	s := State{Format: stateFormat, From: i.opt.From, To: i.opt.To, Position: i.place, Report: i.tally.snapshot()}
	if err := s.write(i.opt.StateFile); err != nil {
		return fmt.Errorf("save the state: %w", err)
	}
	return nil
}

// marks tell up to which batch all are done, whatever the order they end in.
type marks struct {
	mu          sync.Mutex
	begun, next int
	ended       map[int]mark
	last        mark // all up to here
}

type mark struct {
	key string
	n   int
}

func (m *marks) begin() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begun++
	return m.begun - 1
}

func (m *marks) end(batch int, key string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended == nil {
		m.ended = make(map[int]mark)
	}
	m.ended[batch] = mark{key, n}
	for {
		e, ok := m.ended[m.next]
		if !ok {
			return
		}
		delete(m.ended, m.next)
		m.next++
		m.last.key = e.key
		m.last.n += e.n
	}
}

// passed is the last key of what is done, and how many since the last call.
func (m *marks) passed() (key string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key, n = m.last.key, m.last.n
	m.last.n = 0
	return key, n
}

// oddName reports a name that the source could not tell as it is.
func oddName(key string) bool { return strings.ContainsRune(key, '\uFFFD') }
