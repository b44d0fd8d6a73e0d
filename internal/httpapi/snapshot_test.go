package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/wire"
)

// fakeSnapshots keeps what it was given and answers with err.
type fakeSnapshots struct {
	err    error
	stale  bool
	token  string
	got    string
	merge  MergeOptions
	closed bool
}

func (f *fakeSnapshots) take(c apply.Caller, from io.Reader) error {
	f.token = c.Token
	data, err := io.ReadAll(from)
	f.got = string(data)
	return errors.Join(err, f.err)
}

func (f *fakeSnapshots) Save(_ context.Context, c apply.Caller, stale bool) (*SavedSnapshot, error) {
	f.token, f.stale = c.Token, stale
	if f.err != nil {
		return nil, f.err
	}
	body := struct {
		io.Reader
		io.Closer
	}{strings.NewReader("archive"), closing{&f.closed}}
	return &SavedSnapshot{ReadCloser: body, Size: 7, Index: 42, KnownLeader: true, LastContact: 3 * time.Millisecond}, nil
}

type closing struct{ closed *bool }

func (c closing) Close() error { *c.closed = true; return nil }

func (f *fakeSnapshots) Compare(_ context.Context, c apply.Caller, archive io.Reader) (*wire.SnapshotComparison, error) {
	return &wire.SnapshotComparison{ID: "1-2-3"}, f.take(c, archive)
}

func (f *fakeSnapshots) Restore(_ context.Context, c apply.Caller, archive io.Reader) error {
	return f.take(c, archive)
}

func (f *fakeSnapshots) Merge(_ context.Context, c apply.Caller, archive io.Reader, o MergeOptions) (*wire.SnapshotMerge, error) {
	f.merge = o
	return &wire.SnapshotMerge{Created: 5}, f.take(c, archive)
}

func TestSnapshotSave(t *testing.T) {
	f := &fakeSnapshots{}
	k := newKit(t, func(c *Config) { c.Snapshots = f })
	w := k.do("GET", "/v1/snapshot?stale", "", "X-Consul-Token", "secret")
	if w.Code != 200 || w.Body.String() != "archive" || !f.stale || f.token != "secret" || !f.closed {
		t.Errorf("%d %q %+v", w.Code, w.Body, f)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/x-gzip", "Content-Length": "7", "X-Consul-Index": "42",
		"X-Consul-KnownLeader": "true", "X-Consul-LastContact": "3", "Content-Encoding": "(absent)",
	} {
		if got := header1(w, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	f.err = model.Errorf(model.KindNoLeader, "No cluster leader")
	if w := k.do("GET", "/v1/snapshot", ""); w.Code != 500 || w.Body.String() != "No cluster leader" || f.stale {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := k.do("DELETE", "/v1/snapshot", ""); w.Code != 405 || header1(w, "Allow") != "OPTIONS,GET,PUT" {
		t.Errorf("%d %s", w.Code, header1(w, "Allow"))
	}
}

func TestSnapshotRestore(t *testing.T) {
	f := &fakeSnapshots{}
	k := newKit(t, func(c *Config) { c.Snapshots = f })
	for _, tt := range []struct{ path, answer string }{
		{"/v1/snapshot", ""}, {"/muster/v1/snapshot/compare", `"ID":"1-2-3"`}, {"/muster/v1/snapshot/kv?prefix=a%2F&delete", `"Created":5`},
	} {
		f.err = nil
		w := k.do("PUT", tt.path, "archive", "X-Consul-Token", "secret")
		if w.Code != http.StatusOK || f.got != "archive" || f.token != "secret" || !strings.Contains(w.Body.String(), tt.answer) {
			t.Errorf("%s: %d %s, %+v", tt.path, w.Code, w.Body, f)
		}
		for kind, status := range map[model.ErrorKind]int{model.KindInvalid: 500, model.KindDenied: 403, model.KindUnavailable: 503, model.KindUncertain: 500} {
			f.err = model.Errorf(kind, "no")
			if w := k.do("PUT", tt.path, ""); w.Code != status || w.Body.String() != "no" {
				t.Errorf("%s, kind %d: %d %s", tt.path, kind, w.Code, w.Body)
			}
		}
	}
	if want := (MergeOptions{Prefix: "a/", Delete: true}); f.merge != want {
		t.Errorf("%+v", f.merge)
	}
	f.got = ""
	for path, status := range map[string]int{"/v1/snapshot?dc=x": 500, "/muster/v1/snapshot/kv": 400} {
		if w := k.do("PUT", path, "archive"); w.Code != status || f.got != "" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
