package watch

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
)

// Set runs the watches of a configuration against the API of its own agent. Its
// methods may be called from everywhere.
type Set struct {
	api http.Handler
	log *slog.Logger

	mu      sync.Mutex // held while watches end, so that Apply and Close take turns
	running map[string]*running
}

type running struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// NewSet makes a set without watches. api answers requests of Consul's HTTP API.
func NewSet(api http.Handler, log *slog.Logger) *Set {
	return &Set{api: api, log: log, running: map[string]*running{}}
}

// Apply brings the set to these watches: new ones begin, those that are gone end,
// their handlers with them, and the same as before go on undisturbed.
func (s *Set) Apply(specs []*Spec) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := map[string]*Spec{}
	for _, spec := range specs {
		id := spec.id
		for n := 2; wanted[id] != nil; n++ { // twice the same runs twice
			id = fmt.Sprintf("%s#%d", spec.id, n)
		}
		wanted[id] = spec
	}
	s.end(func(id string) bool { return wanted[id] == nil })
	for id, spec := range wanted {
		if s.running[id] != nil {
			continue
		}
		r, err := s.start(spec)
		if err != nil {
			return fmt.Errorf("watch %s: %w", spec, err)
		}
		s.running[id] = r
	}
	return nil
}

// Close ends all watches.
func (s *Set) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(func(string) bool { return true })
	return nil
}

// end stops watches, all at once, and waits for them.
func (s *Set) end(which func(id string) bool) {
	var ending []*running
	for id, r := range s.running {
		if which(id) {
			r.cancel()
			ending = append(ending, r)
			delete(s.running, id)
		}
	}
	for _, r := range ending {
		<-r.done
	}
}

func (s *Set) start(spec *Spec) (*running, error) {
	client, err := inProcess(s.api, spec.Token)
	if err != nil {
		return nil, err
	}
	var handler Handler = &logged{
		Program{Args: spec.Args, Shell: spec.Shell, Timeout: spec.Timeout}, s.log.With("watch", spec.String()),
	}
	free := func() {}
	if spec.HTTP != nil {
		p := newPost(spec.HTTP)
		handler, free = p, p.Close
	}
	w := New(spec, client, handler, s.log)
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{cancel, make(chan struct{})}
	go func() {
		defer close(r.done)
		defer free()
		w.Run(ctx)
	}()
	return r, nil
}
