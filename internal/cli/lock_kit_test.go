package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// lockServer has what locks need of an agent: keys that can be held and sessions.
// Sessions end when a test says so.
type lockServer struct {
	mu       sync.Mutex
	index    uint64
	keys     map[string]*lockKey
	sessions map[string]bool
	made     int
	fence    int
	changed  chan struct{}
	broken   bool // answers with errors
	hangs    bool // does not answer
	log      []string
}

type lockKey struct {
	Key, Session string
	Value        []byte
	Flags        uint64
	ModifyIndex  uint64
	token        int
}

func newLockServer(t *testing.T) *lockServer {
	s := &lockServer{index: 1, keys: map[string]*lockKey{}, sessions: map[string]bool{}, changed: make(chan struct{})}
	newFake(t, nil) // an environment without settings
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Setenv("CONSUL_HTTP_ADDR", server.URL)
	return s
}

// do changes what the server has, and wakes who waits.
func (s *lockServer) do(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.index++
	close(s.changed)
	s.changed = make(chan struct{})
}

// endSessions gives back what they hold.
func (s *lockServer) endSessions() {
	s.do(func() {
		s.sessions = map[string]bool{}
		for _, k := range s.keys {
			k.Session = ""
		}
	})
}

func (s *lockServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	broken, hangs := s.broken, s.hangs
	s.log = append(s.log, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	switch path := r.URL.Path; {
	case hangs:
		<-r.Context().Done()
	case broken:
		http.Error(w, "No cluster leader", http.StatusInternalServerError)
	case path == "/v1/session/create":
		s.do(func() {
			s.made++
			id := "session" + strconv.Itoa(s.made)
			s.sessions[id] = true
			fmt.Fprintf(w, `{"ID": %q}`, id)
		})
	case strings.HasPrefix(path, "/v1/session/renew/"):
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.sessions[strings.TrimPrefix(path, "/v1/session/renew/")] {
			http.Error(w, "gone", http.StatusNotFound)
			return
		}
		fmt.Fprint(w, `[{}]`)
	case strings.HasPrefix(path, "/v1/session/destroy/"):
		s.do(func() { delete(s.sessions, strings.TrimPrefix(path, "/v1/session/destroy/")) })
		fmt.Fprint(w, "true")
	case r.Method == http.MethodGet:
		s.read(w, r)
	default:
		s.do(func() { fmt.Fprint(w, s.write(r, strings.TrimPrefix(path, "/v1/kv/"), body)) })
	}
}

// read answers for a key or a prefix once its index is not the one that is known.
func (s *lockServer) read(w http.ResponseWriter, r *http.Request) {
	known := r.URL.Query().Get("index")
	wait := time.After(time.Second)
	for {
		s.mu.Lock()
		index, changed := strconv.FormatUint(s.index, 10), s.changed
		var list []lockKey
		name, recurse := strings.TrimPrefix(r.URL.Path, "/v1/kv/"), r.URL.Query().Has("recurse")
		for key, k := range s.keys {
			if key == name || recurse && strings.HasPrefix(key, name) {
				list = append(list, *k)
			}
		}
		s.mu.Unlock()
		if known != index {
			w.Header().Set("X-Consul-Index", index)
			if len(list) == 0 {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			if !recurse {
				w.Header().Set("X-Muster-Fencing-Token", strconv.Itoa(list[0].token))
			}
			_ = json.NewEncoder(w).Encode(list)
			return
		}
		select {
		case <-changed:
		case <-wait:
			known = ""
		case <-r.Context().Done():
			return
		}
	}
}

func (s *lockServer) write(r *http.Request, key string, value []byte) bool {
	q := r.URL.Query()
	k := s.keys[key]
	if q.Has("cas") {
		now := uint64(0)
		if k != nil {
			now = k.ModifyIndex
		}
		if q.Get("cas") != strconv.FormatUint(now, 10) {
			return false
		}
	}
	if r.Method == http.MethodDelete {
		delete(s.keys, key)
		return true
	}
	if k == nil {
		k = &lockKey{Key: key}
	}
	switch session := q.Get("acquire"); {
	case session != "" && (k.Session != "" || !s.sessions[session]):
		return false
	case session != "":
		s.fence++
		k.Session, k.token = session, s.fence
	case q.Has("release") && k.Session != q.Get("release"):
		return false
	case q.Has("release"):
		k.Session = ""
	}
	k.Value, k.ModifyIndex = value, s.index+1
	k.Flags, _ = strconv.ParseUint(q.Get("flags"), 10, 64)
	s.keys[key] = k
	return true
}
