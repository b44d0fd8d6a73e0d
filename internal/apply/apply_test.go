package apply

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/fsm"
	"github.com/muster-discovery/muster/internal/model"
)

// fakeLog answers commits with the errors given, one a call, then with success.
type fakeLog struct {
	errs     []error
	commands [][]byte
}

func (f *fakeLog) Commit(_ context.Context, command []byte) (fsm.Result, error) {
	f.commands = append(f.commands, command)
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		if err != nil {
			return fsm.Result{}, err
		}
	}
	return fsm.Result{Index: uint64(len(f.commands))}, nil
}

type fakeForwarder struct {
	errs  []error
	calls int
}

func (f *fakeForwarder) Forward(context.Context, string, string, []byte) (uint64, []byte, error) {
	f.calls++
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		if err != nil {
			return 0, nil, err
		}
	}
	return 1000, nil, nil
}

type denyAll struct{}

func (denyAll) Allowed(acl.Resource, string, acl.Access) bool { return false }
func (denyAll) AllowsAll(acl.Resource, acl.Access) bool       { return false }

func newApply(log Committer, fwd Forwarder, authz acl.Authorizer) *Apply {
	return New(Config{
		Committer: log, Forwarder: fwd, Datacenter: "dc1",
		Resolve: func(string) (acl.Authorizer, error) { return authz, nil },
	})
}

func node() *model.Registration {
	return &model.Registration{Node: model.Node{Name: "w1", Address: "10.0.0.1"}}
}

func kind(k model.ErrorKind) error { return model.Errorf(k, "%d", k) }

func TestWriteRepeatsAcrossAnElection(t *testing.T) {
	for _, tc := range []struct {
		name    string
		commit  []error
		forward []error
		want    uint64
		err     model.ErrorKind
	}{
		{name: "leads", want: 1},
		{name: "follower forwards", commit: []error{kind(model.KindNotLeader)}, want: 1000},
		{name: "leader lost after sending", commit: []error{kind(model.KindNotLeader), kind(model.KindNotLeader)},
			forward: []error{kind(model.KindUncertain)}, want: 1000},
		{name: "becomes leader itself", commit: []error{kind(model.KindNotLeader)},
			forward: []error{kind(model.KindNoLeader)}, want: 2},
		{name: "lost leadership while committing", commit: []error{kind(model.KindUncertain)}, want: 2},
		{name: "refused for good", commit: []error{kind(model.KindConflict)}, err: model.KindConflict},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &fakeLog{errs: tc.commit}
				a := newApply(log, &fakeForwarder{errs: tc.forward}, acl.AllowAll{})
				index, err := a.Register(t.Context(), Caller{Source: "test"}, node())
				if tc.err != model.KindInternal {
					if model.KindOf(err) != tc.err {
						t.Fatalf("got error %v, want kind %d", err, tc.err)
					}
					return
				}
				if err != nil || index != tc.want {
					t.Fatalf("got index %d, error %v; want %d", index, err, tc.want)
				}
				var ids []string
				for _, data := range log.commands {
					cmd, err := fsm.Decode(data)
					if err != nil {
						t.Fatal(err)
					}
					ids = append(ids, string(cmd.Meta.RequestID[:]))
				}
				for _, id := range ids {
					if id != ids[0] {
						t.Error("a repeated write changed its request id: it could be applied twice")
					}
				}
			})
		})
	}
}

func TestWriteEndsWithoutALeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &fakeLog{}
		for range 10_000 {
			log.errs = append(log.errs, kind(model.KindNotLeader))
		}
		fwd := &fakeForwarder{}
		for range 10_000 {
			fwd.errs = append(fwd.errs, kind(model.KindNoLeader))
		}
		a := newApply(log, fwd, acl.AllowAll{})
		start := time.Now()
		_, err := a.Register(t.Context(), Caller{}, node())
		if model.KindOf(err) != model.KindNoLeader {
			t.Errorf("got %v, want the last reason", err)
		}
		if took := time.Since(start); took > DefaultHold {
			t.Errorf("held the write for %v, bound is %v", took, DefaultHold)
		}
	})
}

func TestWriteNeedsPermission(t *testing.T) {
	a := newApply(&fakeLog{}, &fakeForwarder{}, denyAll{})
	ctx := t.Context()
	_, register := a.Register(ctx, Caller{}, node())
	_, deregister := a.Deregister(ctx, Caller{}, &model.Deregistration{Node: "w1"})
	_, roots := a.SetCARoots(ctx, Caller{}, &model.CARootSet{})
	command, err := fsm.Encode(&fsm.Command{Op: node()})
	if err != nil {
		t.Fatal(err)
	}
	_, _, forwarded := a.ForwardedApply(ctx, "", command)
	for name, err := range map[string]error{"register": register, "deregister": deregister, "roots": roots, "forwarded": forwarded} {
		if model.KindOf(err) != model.KindDenied {
			t.Errorf("%s: got %v, want it denied", name, err)
		}
	}
}

func TestRegistrationIsChecked(t *testing.T) {
	long := make([]byte, 600)
	for i := range long {
		long[i] = 'v'
	}
	many := map[string]string{}
	for i := range 65 {
		many[string(rune('a'+i%26))+string(rune('a'+i/26))] = ""
	}
	proxy := func(edit func(*model.Service)) *model.Registration {
		s := &model.Service{Name: "p", Kind: model.KindConnectProxy, Port: 1, Proxy: &model.Proxy{DestinationServiceName: "web", Raw: []byte(`{"DestinationServiceName": "web"}`)}}
		edit(s)
		r := node()
		r.Service = s
		return r
	}
	service := func(s model.Service) *model.Registration {
		r := node()
		r.Service = &s
		return r
	}
	for _, tc := range []struct {
		name string
		r    *model.Registration
		want string
	}{
		{"no node", &model.Registration{}, "Must provide node"},
		{"no address", &model.Registration{Node: model.Node{Name: "a"}}, "Must provide address if SkipNodeUpdate is not set"},
		{"bad id", &model.Registration{Node: model.Node{Name: "a", Address: "b", ID: "zz"}}, `Bad request: ID "zz" is not a valid UUID`},
		{"id only", service(model.Service{ID: "x"}), "Must provide service name (Service.Service) when service ID is provided"},
		{"neither", service(model.Service{}), "Must provide service name (Service.Service)"},
		{"port", service(model.Service{Name: "x", Port: 70000}), "Invalid port 70000: must be between 0 and 65535"},
		{"meta key", service(model.Service{Name: "web", Meta: map[string]string{"bad key": "v"}}),
			"failed inserting service: Invalid Service Meta for node w1 and serviceID web: Couldn't load metadata pair ('bad key', 'v'): Key contains invalid characters"},
		{"meta value", service(model.Service{Name: "web", Meta: map[string]string{"k": string(long)}}),
			"failed inserting service: Invalid Service Meta for node w1 and serviceID web: Couldn't load metadata pair ('k', '" + string(long) + "'): Value is too long (limit: 512 characters)"},
		{"meta pairs", service(model.Service{Name: "web", Meta: many}),
			"failed inserting service: Invalid Service Meta for node w1 and serviceID web: Node metadata cannot contain more than 64 key/value pairs"},
		{"check without a name", &model.Registration{Node: model.Node{Name: "a", Address: "b"}, Checks: []*model.Check{{}}}, "Must provide check ID or name"},
		{"proxy without both", proxy(func(s *model.Service) { s.Port, s.Proxy = 0, nil }),
			"2 errors occurred:\n\t* Port or SocketPath must be set for a connect-proxy\n\t* Proxy.DestinationServiceName must be non-empty for Connect proxy services\n\n"},
		{"native proxy", proxy(func(s *model.Service) { s.Connect.Native = true }),
			"1 error occurred:\n\t* A Proxy cannot also be Connect Native, only typical services\n\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := completeRegistration(tc.r)
			if err == nil || err.Error() != tc.want {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
			if model.KindOf(err) != model.KindInvalid {
				t.Errorf("kind %d, want invalid", model.KindOf(err))
			}
		})
	}
}

func TestRegistrationIsCompleted(t *testing.T) {
	r := node()
	r.Service = &model.Service{Name: "web"}
	r.Checks = []*model.Check{{Name: "alive", ServiceID: "web"}}
	if err := completeRegistration(r); err != nil {
		t.Fatal(err)
	}
	if s := r.Service; s.ID != "web" || s.Node != "w1" || s.Weights != (model.Weights{Passing: 1, Warning: 1}) {
		t.Errorf("service %+v lacks a default", s)
	}
	if c := r.Checks[0]; c.ID != "alive" || c.Status != model.StatusCritical || c.Node != "w1" {
		t.Errorf("check %+v lacks a default", c)
	}
}

func TestOtherDatacenter(t *testing.T) {
	a := newApply(&fakeLog{}, &fakeForwarder{}, acl.AllowAll{})
	r := node()
	r.Datacenter = "nowhere"
	_, err := a.Register(t.Context(), Caller{}, r)
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.KindNoPath || e.Text != "No path to datacenter" {
		t.Errorf("got %v", err)
	}
}
