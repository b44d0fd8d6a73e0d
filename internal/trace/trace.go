package trace

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// maxSteps bounds a recording; what follows is counted, not kept.
const maxSteps = 256

// Step is one thing that happened, in the words of the part that did it.
type Step struct {
	At     time.Duration // since the recording began
	Name   string        // what was decided: "permission", "source", "wait" ...
	Detail string        // how, and why
}

// Recorder collects steps. All methods may be called on a nil Recorder, where they
// do nothing, and from several goroutines.
type Recorder struct {
	start time.Time

	mu      sync.Mutex
	steps   []Step
	dropped int
}

type key struct{}

// With returns a context whose lookups are recorded.
func With(ctx context.Context) (context.Context, *Recorder) {
	r := &Recorder{start: time.Now()}
	return context.WithValue(ctx, key{}, r), r
}

// From is the context's recorder, nil if there is none.
func From(ctx context.Context) *Recorder {
	r, _ := ctx.Value(key{}).(*Recorder)
	return r
}

// Add records a step.
func (r *Recorder) Add(name, detail string) {
	if r == nil {
		return
	}
	at := time.Since(r.start)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.steps) == maxSteps {
		r.dropped++
		return
	}
	r.steps = append(r.steps, Step{At: at, Name: name, Detail: detail})
}

// Addf is Add with a formatted detail. On hot paths ask for nil first: the
// arguments are allocated even if there is no recorder.
func (r *Recorder) Addf(name, format string, args ...any) {
	if r == nil {
		return
	}
	r.Add(name, fmt.Sprintf(format, args...))
}

// Steps returns what was recorded so far, and how many steps there was no room for.
func (r *Recorder) Steps() (steps []Step, dropped int) {
	if r == nil {
		return nil, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Step(nil), r.steps...), r.dropped
}
