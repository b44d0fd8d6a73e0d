package agent

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/muster-discovery/muster/internal/config"
	"github.com/muster-discovery/muster/internal/limit"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/rpcapi"
	"github.com/muster-discovery/muster/internal/state"
)

// TestRefuseGRPC: the answer is HTTP/2, frame by frame.
func TestRefuseGRPC(t *testing.T) {
	near, far := net.Pipe()
	reason := "limits.http_max_conns_per_client is 5; " + strings.Repeat("close some ", 30)
	go refuseGRPC(far, model.Errorf(model.KindLimit, "%s", reason))
	b, err := io.ReadAll(near)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []byte
	var last string
	for len(b) >= 9 {
		n := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
		kinds = append(kinds, b[3])
		if len(b) < 9+n {
			t.Fatalf("a frame of %d bytes in %d", n, len(b)-9)
		}
		last, b = string(b[9:9+n]), b[9+n:]
	}
	if len(b) > 0 || string(kinds) != "\x04\x07" || last != "\x00\x00\x00\x00\x00\x00\x00\x0b"+reason {
		t.Errorf("kinds %v, the last one %q, %d bytes behind it", kinds, last, len(b))
	}
}

func TestLimitsByRole(t *testing.T) {
	for _, server := range []bool{true, false} {
		cfg := config.Default()
		cfg.Server.Enabled = server
		cfg.Limits.RPCRate, cfg.Limits.RPCBurst = 0, 0
		cfg.Limits.RequestMode, cfg.Limits.RequestReadRate, cfg.Limits.RequestWriteRate = "enforcing", 0, 0
		l := limit.New(limitConfig(cfg), nil, nil)
		if refused := l.RPC.Admit() != nil; refused == server {
			t.Errorf("server %v: outgoing calls refused: %v", server, refused)
		}
		if refused := l.Reads.Admit() != nil && l.Writes.Admit() != nil; refused != server {
			t.Errorf("server %v: requests refused: %v", server, refused)
		}
	}
}

// applier counts what reaches the write path.
type applier struct {
	rpcapi.Applier
	calls int
}

func (a *applier) ForwardedApply(context.Context, string, []byte) (uint64, []byte, error) {
	a.calls++
	return 0, nil, nil
}

func (a *applier) RelayedApply(context.Context, string, []byte) (uint64, []byte, error) {
	a.calls++
	return 0, nil, nil
}

func TestForwardedWritesAreLimited(t *testing.T) {
	inner := &applier{}
	w := limitedWrites{inner, limit.New(limit.Config{Mode: limit.Enforcing, WriteRate: 2}, nil, nil)}
	var last error
	for i := range 4 {
		if i%2 == 0 {
			_, _, last = w.ForwardedApply(t.Context(), "", nil)
		} else {
			_, _, last = w.RelayedApply(t.Context(), "", nil)
		}
	}
	if inner.calls != 2 || model.KindOf(last) != model.KindLimit {
		t.Errorf("%d of 4 came through: %v", inner.calls, last)
	}
}

func TestRegistered(t *testing.T) {
	store := state.New()
	b := store.Batch()
	if _, err := b.Register(&model.CommandMeta{}, &model.Registration{
		Node: model.Node{Name: "n", Address: "10.0.0.1"}, Service: &model.Service{ID: "s", Name: "s"},
		Checks: []*model.Check{{ID: "c", Name: "c", Status: model.StatusPassing}},
	}); err != nil {
		t.Fatal(err)
	}
	b.Commit()
	service, check := func(id string) *model.Service { return &model.Service{ID: id} }, func(id string) []*model.Check { return []*model.Check{{ID: id}} }
	for _, c := range []struct {
		node    string
		service *model.Service
		checks  []*model.Check
		want    bool
	}{
		{"n", nil, nil, true},
		{"n", service("s"), check("c"), true},
		{"n", nil, check("c"), true},
		{"n", service("new"), nil, false},
		{"n", nil, check("new"), false},
		{"n", service("s"), append(check("c"), check("new")...), false},
		{"new", nil, nil, false},
		{"new", service("s"), nil, false},
	} {
		got := stateReader{store}.Registered(&model.Registration{Node: model.Node{Name: c.node}, Service: c.service, Checks: c.checks})
		if got != c.want {
			t.Errorf("%s, %v, %v: %v", c.node, c.service, c.checks, got)
		}
	}
}
