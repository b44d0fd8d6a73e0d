package config

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// decoders stand in for package wire: they keep the JSON in the name, so that the
// golden files show it.
func decoders(o Options) Options {
	o.DecodeService = func(b []byte) (*model.ServiceDefinition, error) {
		var v struct{ ID, Name string }
		if err := json.Unmarshal(b, &v); err != nil {
			return nil, err
		}
		if v.Name == "" {
			return nil, errors.New("service name required")
		}
		d := &model.ServiceDefinition{Token: string(b)}
		d.Service.ID, d.Service.Name = v.ID, v.Name
		return d, nil
	}
	o.DecodeCheck = func(b []byte) (*model.CheckDefinition, error) {
		return &model.CheckDefinition{Notes: string(b)}, nil
	}
	return o
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs:\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}

func TestBadFilesReportEveryMistake(t *testing.T) {
	files, _ := filepath.Glob("testdata/bad/*.*")
	for _, file := range files {
		if filepath.Ext(file) == ".golden" {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			c, _, err := Load(decoders(Options{Paths: []string{file}, Flags: stable}))
			if err == nil {
				t.Fatal("no error")
			}
			if c != nil {
				t.Error("a configuration was returned with an error")
			}
			golden(t, file+".golden", err.Error()+"\n")
		})
	}
}

// stable makes results independent of the host.
var stable = []Setting{{"-bind", "bind_addr", "127.0.0.1"}}

func TestGoodFiles(t *testing.T) {
	files, _ := filepath.Glob("testdata/good/*.*")
	for _, file := range files {
		if filepath.Ext(file) == ".golden" {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			o := decoders(Options{Paths: []string{file}, Flags: stable})
			if !strings.Contains(file, "peersuite") {
				o.Flags = append([]Setting{{"-node", "node_name", "n1"}}, o.Flags...)
			}
			c, warnings, err := Load(o)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			diff(&b, "", reflect.ValueOf(*Default()), reflect.ValueOf(*c))
			for _, s := range c.Services {
				fmt.Fprintf(&b, "service %s\n", s.Token)
			}
			for _, s := range c.NodeChecks {
				fmt.Fprintf(&b, "check %s\n", s.Notes)
			}
			for _, w := range warnings {
				fmt.Fprintf(&b, "warning: %s\n", w)
			}
			golden(t, file+".golden", b.String())
		})
	}
}

// diff prints the fields of b that differ from a.
func diff(out *strings.Builder, path string, a, b reflect.Value) {
	for i := range a.NumField() {
		f := a.Type().Field(i)
		name := path + f.Name
		switch {
		case name == "Services" || name == "NodeChecks":
		case f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[Endpoint]():
			diff(out, name+".", a.Field(i), b.Field(i))
		case !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()):
			v := b.Field(i).Interface()
			if r, ok := v.([]Raw); ok {
				v = string(r[0])
			}
			fmt.Fprintf(out, "%s = %v\n", name, v)
		}
	}
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLaterSourcesOverride(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "10.hcl", `bind_addr = "127.0.0.1" data_dir = "/tmp/x" log_level = "debug" retry_join = ["a"] node_meta { k = "1" l = "2" } ports { http = 1 dns = 2 }`)
	write(t, dir, "20.json", `{"log_level": "WARN", "retry_join": ["b"], "node_meta": {"k": "3"}, "ports": {"http": 3}}`)
	write(t, dir, "notes.txt", `{{{ not a configuration`)
	empty := write(t, dir, "empty.json", "")
	c, warnings, err := Load(Options{Paths: []string{dir, empty}, Flags: []Setting{
		{"-dns-port", "ports.dns", 4}, {"-retry-join", "retry_join", []string{"c"}}, {"-node-meta", "node_meta", map[string]string{"m": "5"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) > 0 {
		t.Errorf("warnings %v", warnings)
	}
	if c.Log.Level != "warn" || c.Ports.HTTP != 3 || c.Ports.DNS != 4 {
		t.Errorf("level %q, ports %+v", c.Log.Level, c.Ports)
	}
	if got := strings.Join(c.Join.RetryLAN, ""); got != "abc" {
		t.Errorf("retry_join %q", got)
	}
	if want := map[string]string{"k": "3", "l": "2", "m": "5"}; !reflect.DeepEqual(c.Node.Meta, want) {
		t.Errorf("node_meta %v", c.Node.Meta)
	}
	if len(c.Sources) != 4 {
		t.Errorf("sources %v", c.Sources)
	}
}

func TestLaterDefinitionsOverride(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "10.hcl", `service { id = "web" name = "old" } service { name = "db" } check { id = "c" notes = "old" ttl = "1h" }`)
	later := write(t, dir, "20.json", `{"services": [{"id": "web", "name": "new"}], "check": {"id": "c", "notes": "new", "ttl": "1h"}}`)
	o := decoders(Options{Dev: true, Paths: []string{dir}})
	o.DecodeCheck = func(b []byte) (*model.CheckDefinition, error) {
		var v struct{ ID, Notes string }
		err := json.Unmarshal(b, &v)
		return &model.CheckDefinition{ID: v.ID, Notes: v.Notes}, err
	}
	c, warnings, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Services) != 2 || c.Services[0].Service.Name != "db" || c.Services[1].Service.Name != "new" {
		t.Errorf("services %+v", c.Services)
	}
	if len(c.NodeChecks) != 1 || c.NodeChecks[0].Notes != "new" {
		t.Errorf("checks %+v", c.NodeChecks)
	}
	if len(warnings) != 2 || warnings[0].File != later || !strings.Contains(warnings[0].Text, `service id "web"`) {
		t.Errorf("warnings %v", warnings)
	}
}

func TestSettingsWithoutEffectAreToldOf(t *testing.T) {
	for _, c := range []struct {
		hcl   string
		flags []Setting
		want  string // key of the warning, or none
	}{
		{`autopilot { min_quorum = 3 }`, nil, ""},
		{`autopilot { cleanup_dead_servers = false }`, nil, ""},
		{`raft_prevote_disabled = true`, nil, "raft_prevote_disabled"},
		{`raft_prevote_disabled = false`, nil, ""},
		{`ports { grpc = -1 https = 0 }`, nil, ""},
		{`limits { rpc_rate = 100 }`, nil, ""},
		{`tls { defaults { verify_incoming = true } }`, nil, "tls"},
		{`telemetry { prefix_filter = ["-go"] }`, nil, "telemetry.prefix_filter"},
		{`syslog_facility = "LOCAL1"`, nil, ""},
		{``, []Setting{{"-primary-gateway", "primary_gateways", []string{"a"}}}, "primary_gateways"},
		{``, []Setting{{"-ui-dir", "ui_config.dir", "/x"}}, "ui_config.dir"},
	} {
		_, warnings, err := Load(Options{Dev: true, HCL: []string{c.hcl}, Flags: c.flags})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, w := range warnings {
			got += w.Key
		}
		if got != c.want {
			t.Errorf("%s %v: warnings %v, want one of %q", c.hcl, c.flags, warnings, c.want)
		}
	}
}

func TestAddressTemplates(t *testing.T) {
	c, _, err := Load(Options{Dev: true, HCL: []string{`bind_addr = "{{ GetAllInterfaces | include \"name\" \"^lo$\" | include \"type\" \"ipv4\" | join \"address\" \" \" }}" client_addr = "{{ GetAllInterfaces | include \"name\" \"^lo$\" | include \"type\" \"ipv4\" | join \"address\" \" \" }} 127.0.0.2"`}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Addresses.Bind != "127.0.0.1" || len(c.Listen.HTTP) != 2 || c.Listen.HTTP[1].Address != "127.0.0.2:8500" {
		t.Errorf("bind %s, HTTP %v", c.Addresses.Bind, c.Listen.HTTP)
	}
	_, _, err = Load(Options{Dev: true, HCL: []string{`bind_addr = "{{ GetNothing }}" client_addr = "{{ GetInterfaceIP \"nosuch0\" }}"`}})
	if err == nil || !strings.Contains(err.Error(), "bind_addr: address template") || !strings.Contains(err.Error(), "matches no address") {
		t.Errorf("%v", err)
	}
}

func TestFlagMistakesNameTheFlag(t *testing.T) {
	_, _, err := Load(Options{Dev: true, Flags: []Setting{{"-datacenter", "datacenter", "a b"}, {"-http-port", "ports.http", 8600}}})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"flag -datacenter: datacenter", "flag -http-port: ports.http: 8600 is also ports.dns"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}

func TestMissingFiles(t *testing.T) {
	_, _, err := Load(Options{Dev: true, Paths: []string{"testdata/none.hcl", "testdata/neither"}})
	var errs Errors
	if !errors.As(err, &errs) || len(errs) != 2 || errs[0].File != "testdata/none.hcl" {
		t.Fatalf("%v", err)
	}
}

func TestRoleDecidesHowToLeave(t *testing.T) {
	for _, c := range []struct {
		flags           []Setting
		terminate, skip bool
		grpcTLS         int
	}{
		{nil, true, false, -1},
		{[]Setting{{"-server", "server", true}}, false, true, 8503},
		{[]Setting{{"-server", "server", true}, {"x", "leave_on_terminate", true}, {"x", "skip_leave_on_interrupt", false}, {"x", "ports.grpc_tls", 9}}, true, false, 9},
	} {
		flags := append([]Setting{{"x", "data_dir", "/tmp/x"}, {"x", "bind_addr", "127.0.0.1"}}, c.flags...)
		cfg, _, err := Load(Options{Flags: flags})
		if err != nil {
			t.Fatal(err)
		}
		if l := cfg.Lifecycle; l.LeaveOnTerminate != c.terminate || l.SkipLeaveOnInterrupt != c.skip || cfg.Ports.GRPCTLS != c.grpcTLS {
			t.Errorf("%v: %+v grpc_tls %d", c.flags, l, cfg.Ports.GRPCTLS)
		}
	}
}

func TestDev(t *testing.T) {
	c, warnings, err := Load(Options{Dev: true, Flags: []Setting{{"-data-dir", "data_dir", "/tmp/x"}}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Storage.DataDir != "" || len(warnings) != 1 {
		t.Errorf("data dir %q, warnings %v", c.Storage.DataDir, warnings)
	}
	if !c.Server.Enabled || !c.Server.Bootstrap || c.Advertise.LAN != "127.0.0.1" || c.Listen.GRPC[0].Address != "127.0.0.1:8502" {
		t.Errorf("%+v", c)
	}
	if c.Listen.HTTPS != nil || c.Queries.MaxTime != 600*time.Second {
		t.Errorf("%+v", c)
	}
}

func TestSecretsPrintRedacted(t *testing.T) {
	c := Default()
	c.ACL.Tokens.Agent = "hunter2"
	c.Gossip.EncryptKey = "hunter2"
	j, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{fmt.Sprintf("%v", c), fmt.Sprintf("%+v", *c), fmt.Sprintf("%#v", *c), string(j)} {
		if strings.Contains(s, "hunter2") {
			t.Errorf("a secret is shown: %s", s)
		}
	}
}
