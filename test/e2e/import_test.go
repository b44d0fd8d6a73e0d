package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// oddKeys are keys and values that not every tool carries.
var oddKeys = map[string][]byte{
	"/leading": {0, 255, 10}, "a//b": []byte("x"), "a/../b": nil, "sp ace/%2F/%": []byte("1"), "q?a=b&c#d": []byte("2"),
	"schlüssel/€": []byte("ü"), "line\nend\t": []byte("3"), "quote\"'\\": []byte("4"), "tail/": []byte("5"), "big": bytes.Repeat([]byte("x"), 500<<10),
}

// fill writes 2,000 keys, some of them odd, a node that no agent owns, and a query.
func fill(t *testing.T, a *agent) {
	t.Helper()
	for key, value := range oddKeys {
		if _, _, err := a.raw("PUT", "/v1/kv/"+url.PathEscape(key)+"?flags=18446744073709551615", value); err != nil {
			t.Fatal(err)
		}
	}
	for n := len(oddKeys); n < 2000; {
		var ops []any
		for ; len(ops) < 64 && n < 2000; n++ {
			ops = append(ops, map[string]any{"KV": map[string]any{"Verb": "set", "Key": fmt.Sprintf("app/%04d", n), "Flags": n, "Value": bytes.Repeat([]byte{byte(n)}, n%100)}})
		}
		if err := a.put("/v1/txn", ops); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.put("/v1/catalog/register", map[string]any{"Node": "ext", "Address": "10.0.0.1", "NodeMeta": map[string]any{"external-node": "true"},
		"Service": map[string]any{"ID": "db1", "Service": "db", "Port": 5432, "TaggedAddresses": map[string]any{"wan": map[string]any{"Address": "1.2.3.4", "Port": 1}}},
		"Checks":  []any{map[string]any{"CheckID": "c", "Name": "c", "Status": "warning", "ServiceID": "db1"}}}); err != nil {
		t.Fatal(err)
	}
	if status, text, err := a.do("POST", "/v1/query", `{"Name":"db","Service":{"Service":"db","Failover":{"NearestN":2,"Datacenters":["dc2"]}}}`); err != nil || status != 200 {
		t.Fatal(status, text, err)
	}
}

// command is a command to run against an agent.
func (a *agent) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Dir = a.dir
	cmd.Env = append(os.Environ(), "MUSTER_HTTP_ADDR="+a.url(""))
	return cmd
}

// exported is what an export holds, without what is a registry's own.
func (a *agent) exported(t *testing.T) string {
	t.Helper()
	out, err := a.command("export").Output()
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for line := range strings.Lines(string(out)) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		switch r["kind"] {
		case "export", "left", "end":
			continue
		case "query":
			delete(r["query"].(map[string]any), "ID")
		}
		b, _ := json.Marshal(r)
		kept = append(kept, string(b))
	}
	return strings.Join(kept, "\n")
}

// TestImportKilled: an import that is killed half-way goes on, and both registries then
// hold the same; so does a third one, by way of a file.
func TestImportKilled(t *testing.T) {
	from, to := dev(t), durable(t)
	from.start()
	to.start()
	from.ready()
	to.ready()
	fill(t, from)

	// The way there stops after some reads of keys, so that the kill hits the middle.
	target, err := url.Parse(from.url(""))
	if err != nil {
		t.Fatal(err)
	}
	var reads atomic.Int64
	var open atomic.Bool
	reached, ended := make(chan struct{}), make(chan struct{})
	proxy := httputil.NewSingleHostReverseProxy(target)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/txn" && !open.Load() && reads.Add(1) > 12 {
			if reads.Load() == 13 {
				close(reached)
			}
			<-ended
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer slow.Close()
	args := []string{"import", "consul", "-from-http-addr=" + slow.URL, "-workers=2", "-format=json"}
	first := to.command(args...)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-reached:
	case <-time.After(deadline):
		t.Fatal("the import did not get to its middle")
	}
	first.Process.Kill()
	first.Wait()
	close(ended)
	open.Store(true)
	var keys []string
	if err := to.get("/v1/kv/?keys", &keys); err != nil || len(keys) == 0 || len(keys) >= 2000 {
		t.Fatalf("%d keys when it was killed, %v", len(keys), err)
	}

	out, err := to.command(args...).Output()
	var report struct {
		Done, Resumed bool
		Keys          struct{ Created, Unchanged, Conflicts, Failed int }
	}
	if err != nil || json.Unmarshal(out, &report) != nil || !report.Done || !report.Resumed || report.Keys.Conflicts+report.Keys.Failed != 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	want := from.exported(t)
	if n := strings.Count(want, `"kind":"key"`); n != 2000 {
		t.Fatalf("%d keys exported", n)
	}
	if got := to.exported(t); got != want {
		t.Fatalf("they differ:\n%s\n%s", tail(got, 2000), tail(want, 2000))
	}
	if _, err := os.Stat(filepath.Join(to.dir, "muster-import.state")); !os.IsNotExist(err) {
		t.Error("the state stays after the end:", err)
	}

	third := dev(t)
	third.start()
	third.ready()
	if out, err := from.command("export", "all.jsonl").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := third.command("import", "file", filepath.Join(from.dir, "all.jsonl")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if third.exported(t) != want {
		t.Fatal("by way of a file it differs")
	}
}

// TestKeyHistoryEverywhere: every server tells the same history, also one that was
// killed and came back.
func TestKeyHistoryEverywhere(t *testing.T) {
	var servers []*agent
	for i := range 3 {
		servers = append(servers, server(t, fmt.Sprint("n", i+1), servers))
		servers[i].start()
	}
	for _, s := range servers {
		s.ready()
	}
	for i := range 15 {
		if _, _, err := servers[i%3].raw("PUT", "/v1/kv/app/k", fmt.Append(nil, "value ", i)); err != nil {
			t.Fatal(err)
		}
	}
	if status, _, err := servers[0].do("DELETE", "/v1/kv/app/?recurse", ""); err != nil || status != 200 {
		t.Fatal(status, err)
	}
	servers[2].kill()
	if _, _, err := servers[0].raw("PUT", "/v1/kv/app/k", []byte("last")); err != nil {
		t.Fatal(err)
	}
	servers[2].start()
	servers[2].ready()
	_, want, err := servers[0].raw("GET", "/muster/v1/kv/history/app/k?consistent", nil)
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Operation string
		Deleted   bool
		Value     []byte
	}
	if err := json.Unmarshal(want, &list); err != nil || len(list) != 10 || string(list[0].Value) != "last" || list[1].Operation != "delete-tree" ||
		!list[1].Deleted || string(list[2].Value) != "value 14" {
		t.Fatalf("%v\n%s", err, want)
	}
	for _, s := range servers {
		eventually(t, s.name+" has the same history", func() error {
			_, got, err := s.raw("GET", "/muster/v1/kv/history/app/k?stale", nil)
			if err == nil && !bytes.Equal(got, want) {
				err = fmt.Errorf("got\n%s\nwant\n%s", got, want)
			}
			return err
		})
	}
}
