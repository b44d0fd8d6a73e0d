package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// muster runs a command of the command line against an agent.
func (a *agent) muster(args ...string) (string, error) {
	cmd := exec.Command(binary, args...)
	cmd.Env = append(cmd.Environ(), "MUSTER_HTTP_ADDR="+a.url(""))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestWhatIsAcceptedCanBeRemoved: whatever id, name or tag is accepted can be
// read, listed and removed again, by API and command line.
func TestWhatIsAcceptedCanBeRemoved(t *testing.T) {
	a := dev(t)
	a.start()
	a.ready()
	// Characters that paths, queries, JSON, DNS and shells treat specially.
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab Z09-_./:%?#&=+~@!$'()*,;[]\"\\<>|{}^`éπ世")), 1, 24, -1)
	byCommand := false
	accepted := 0
	rapid.Check(t, func(rt *rapid.T) {
		id, name, tag := text.Draw(rt, "id"), text.Draw(rt, "name"), text.Draw(rt, "tag")
		if a.put("/v1/agent/service/register", map[string]any{"ID": id, "Name": name, "Tags": []string{tag}, "Port": 80}) != nil {
			return // refused: nothing to take out again
		}
		accepted++
		var services map[string]struct {
			Service string
			Tags    []string
		}
		if err := a.get("/v1/agent/services", &services); err != nil {
			rt.Fatal(err)
		}
		if s, ok := services[id]; !ok || s.Service != name || !slices.Contains(s.Tags, tag) {
			rt.Fatalf("the agent's list has %q for id %q, name %q, tag %q", services, id, name, tag)
		}
		var one struct{ ID string }
		if err := a.get("/v1/agent/service/"+url.PathEscape(id), &one); err != nil || one.ID != id {
			rt.Fatalf("read by id %q: %q, %v", id, one.ID, err)
		}
		eventually(t, "the catalog has it", func() error {
			var list []struct{ ServiceID string }
			err := a.get("/v1/catalog/service/"+url.PathEscape(name)+"?tag="+url.QueryEscape(tag), &list)
			if err == nil && (len(list) != 1 || list[0].ServiceID != id) {
				err = fmt.Errorf("catalog has %v", list)
			}
			return err
		})
		if byCommand = !byCommand; byCommand {
			if out, err := a.muster("services", "deregister", "-id="+id); err != nil {
				rt.Fatalf("deregister id %q by command: %v: %s", id, err, out)
			}
		} else if err := a.put("/v1/agent/service/deregister/"+url.PathEscape(id), nil); err != nil {
			rt.Fatalf("deregister id %q: %v", id, err)
		}
		services = nil
		if err := a.get("/v1/agent/services", &services); err != nil || len(services) != 0 {
			rt.Fatalf("after removal of %q the agent has %v, %v", id, services, err)
		}
		eventually(t, "the catalog has lost it", func() error {
			var list []json.RawMessage
			err := a.get("/v1/catalog/service/"+url.PathEscape(name), &list)
			if err == nil && len(list) != 0 {
				err = fmt.Errorf("catalog has %s", list)
			}
			return err
		})
	})
	if accepted < 10 {
		t.Errorf("only %d drawn definitions were accepted: the test shows nothing", accepted)
	}
}

// TestCommandLine is a session as an operator would have it.
func TestCommandLine(t *testing.T) {
	a := dev(t)
	a.start()
	a.ready()
	for _, step := range []struct {
		args []string
		want []string // in the output
	}{
		{[]string{"members"}, []string{"n1", "alive", "server"}},
		{[]string{"services", "register", "-name=web", "-id=web-1", "-port=8080", "-tag=v1", "-meta=a=b"}, []string{"web"}},
		{[]string{"catalog", "services", "-tags"}, []string{"web", "v1", "consul"}},
		{[]string{"catalog", "nodes", "-service=web"}, []string{"n1"}},
		{[]string{"catalog", "datacenters"}, []string{"dc1"}},
		{[]string{"services", "deregister", "-id=web-1"}, []string{"web-1"}},
		{[]string{"info"}, []string{"leader"}},
		{[]string{"version"}, []string{"1.21", "Muster"}},
		{[]string{"leave"}, nil},
	} {
		out, err := a.muster(step.args...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", step.args, err, out)
		}
		for _, want := range step.want {
			if !strings.Contains(out, want) {
				t.Errorf("%v: no %q in\n%s", step.args, want, out)
			}
		}
	}
	<-a.done // it left
	out, err := a.muster("members")
	if err == nil || !strings.Contains(out, a.url("")) && !strings.Contains(out, strings.TrimPrefix(a.url(""), "http://")) {
		t.Errorf("without an agent: %v; want a failure that names the address tried:\n%s", err, out)
	}
}
