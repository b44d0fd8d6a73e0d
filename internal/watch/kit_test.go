package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
)

// fakeAPI answers each path with one content that has an index, and lets those wait
// who know the index.
type fakeAPI struct {
	mu      sync.Mutex
	index   map[string]uint64
	content map[string]any // nil: 404
	down    bool
	changed chan struct{}
	asked   []*http.Request
}

func newAPI() *fakeAPI {
	return &fakeAPI{index: map[string]uint64{}, content: map[string]any{}, changed: make(chan struct{})}
}

func (f *fakeAPI) set(path string, index uint64, content any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.index[path], f.content[path] = index, content
	f.wake()
}

func (f *fakeAPI) setDown(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
	f.wake()
}

func (f *fakeAPI) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.asked = append(f.asked, r)
	f.mu.Unlock()
	known := r.URL.Query().Get("index")
	end := time.After(5 * time.Minute)
	for {
		f.mu.Lock()
		index, content, down, changed := f.index[r.URL.Path], f.content[r.URL.Path], f.down, f.changed
		f.mu.Unlock()
		switch {
		case down:
			http.Error(w, "No cluster leader", http.StatusInternalServerError)
			return
		case known != strconv.FormatUint(index, 10):
			f.answer(w, index, content)
			return
		}
		select {
		case <-changed:
		case <-end:
			f.answer(w, index, content)
			return
		case <-r.Context().Done():
			return
		}
	}
}

func (f *fakeAPI) answer(w http.ResponseWriter, index uint64, content any) {
	w.Header().Set("X-Consul-Index", strconv.FormatUint(index, 10))
	if content == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(content)
}

// last is the newest request.
func (f *fakeAPI) last() *http.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[len(f.asked)-1]
}

func (f *fakeAPI) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

// recorder is a handler that keeps what it was told, and fails as it is bidden.
type recorder struct {
	mu    sync.Mutex
	calls []string
	err   error
}

func (r *recorder) Handle(_ context.Context, index uint64, data []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, fmt.Sprintf("%d %s", index, data))
	return r.err
}

func (r *recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

// take returns what was told since the last take.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}

func spec(t *testing.T, text string) *Spec {
	t.Helper()
	s, err := Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// begin runs a watch until the test ends.
func begin(t *testing.T, f http.Handler, text string) (*recorder, func()) {
	t.Helper()
	s := spec(t, text)
	client, err := inProcess(f, s.Token)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		New(s, client, r, quiet()).Run(ctx)
	}()
	return r, func() { cancel(); <-done }
}

func pair(key, value string, index uint64) []any {
	return []any{api.KVPair{Key: key, Value: []byte(value), ModifyIndex: index}}
}
