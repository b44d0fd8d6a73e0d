package gossip

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/gossip/gossiptest"
	"github.com/muster-discovery/muster/internal/model"
)

const (
	oldKey = "b2xkb2xkb2xkb2xkb2xkbw=="
	newKey = "bmV3bmV3bmV3bmV3bmV3bg=="
)

// encrypted starts n nodes whose keyrings are kept in files of dir.
func encrypted(t *testing.T, net *gossiptest.Network, dir string, n int) []*node {
	t.Helper()
	var nodes []*node
	for i := 1; i <= n; i++ {
		cfg := testConfig(net, i)
		cfg.EncryptKey, cfg.LAN.KeyringPath = oldKey, ringPath(dir, i)
		nodes = append(nodes, start(t, cfg))
		if i > 1 {
			if _, err := nodes[i-1].Join([]string{nodes[0].lan()}, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, 5*time.Second, "all know each other", func() bool {
		return all(nodes, func(n *node) bool { return len(n.Members(false)) == len(nodes) })
	})
	return nodes
}

func ringPath(dir string, i int) string { return filepath.Join(dir, fmt.Sprint(i), "local.keyring") }

// TestKeyRotation: the key is changed on three agents, while gossip goes on.
func TestKeyRotation(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		net := gossiptest.New()
		nodes := encrypted(t, net, dir, 3)
		check := func(doing string, want string) {
			t.Helper()
			list, err := nodes[2].Keys(1)
			if err != nil || len(list) != 1 {
				t.Fatalf("%s: %v, %v", doing, list, err)
			}
			if got := fmt.Sprint(list[0].Keys, list[0].Primary, list[0].Nodes); got != want {
				t.Errorf("%s: %s, want %s", doing, got, want)
			}
			time.Sleep(30 * time.Second) // long enough for a probe of everybody, and a full exchange
			for _, n := range nodes {
				for _, m := range nodes {
					if s := n.status(m.name); s != StatusAlive {
						t.Errorf("%s: %s thinks that %s is %s", doing, n.name, m.name, s)
					}
				}
			}
		}
		check("before", "map["+oldKey+":3] map["+oldKey+":3] 3")
		for _, step := range []struct {
			change KeyChange
			key    string
			want   string
		}{
			{InstallKey, newKey, "map[" + oldKey + ":3 " + newKey + ":3] map[" + oldKey + ":3] 3"},
			{UseKey, newKey, "map[" + oldKey + ":3 " + newKey + ":3] map[" + newKey + ":3] 3"},
			{RemoveKey, oldKey, "map[" + newKey + ":3] map[" + newKey + ":3] 3"},
		} {
			if err := nodes[0].ChangeKey(step.change, step.key, 0); err != nil {
				t.Fatalf("%s: %v", step.change, err)
			}
			check(step.change.String(), step.want)
		}
		if err := nodes[0].ChangeKey(RemoveKey, newKey, 0); err == nil || !strings.Contains(err.Error(), "n1: removing the primary key is not allowed") {
			t.Errorf("the key in use was removed: %v", err)
		}
		// A restart begins with the keys of the file, not with that of the configuration.
		nodes[1].kill(t)
		cfg := testConfig(net, 2)
		cfg.EncryptKey, cfg.LAN.KeyringPath = oldKey, ringPath(dir, 2)
		back := start(t, cfg)
		if _, err := back.Join([]string{nodes[0].lan()}, false); err != nil {
			t.Errorf("join after a restart: %v", err)
		}
		info, err := os.Stat(ringPath(dir, 2))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file: %v, %v", info, err)
		}
	})
}

func TestChangeOfMissingMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := gossiptest.New()
		nodes := encrypted(t, net, t.TempDir(), 3)
		nodes[2].kill(t)
		err := nodes[0].ChangeKey(InstallKey, newKey, 0)
		if err == nil || !strings.Contains(err.Error(), "1 of 3 members did not answer in time") || !strings.Contains(err.Error(), "repeat") {
			t.Errorf("with a member that is not there: %v", err)
		}
	})
}

// TestWrongKeyIsExplained: on both sides, with the remedy.
func TestWrongKeyIsExplained(t *testing.T) {
	for _, c := range []struct{ name, theirs, own string }{
		{"another key", oldKey, newKey}, {"no key", oldKey, ""}, {"a key, they have none", "", newKey},
	} {
		synctest.Test(t, func(t *testing.T) {
			net := gossiptest.New()
			theirs, own := testConfig(net, 1), testConfig(net, 2)
			theirs.EncryptKey, own.EncryptKey = c.theirs, c.own
			a, b := start(t, theirs), start(t, own)
			for range 3 {
				_, err := b.Join([]string{a.lan()}, false)
				if err == nil || !strings.Contains(err.Error(), "encrypt") || !strings.Contains(err.Error(), "keyring -list") {
					t.Errorf("%s: %v", c.name, err)
				}
			}
			if log := a.log.String(); strings.Count(log, "gossip with another key refused") != 1 || !strings.Contains(log, "remedy") {
				t.Errorf("%s: the other side's log: %s", c.name, log)
			}
		})
	}
}

func TestKeyringWithoutEncryption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := start(t, testConfig(gossiptest.New(), 1))
		_, err := n.Keys(0)
		change := n.ChangeKey(InstallKey, newKey, 0)
		for _, err := range []error{err, change} {
			if model.KindOf(err) != model.KindInvalid || !strings.Contains(err.Error(), "Keyring is empty (encryption not enabled)") {
				t.Error(err)
			}
		}
		if err := n.ChangeKey(InstallKey, "abc", 0); err == nil || strings.Contains(err.Error(), "abc") {
			t.Errorf("a bad key: %v", err)
		}
	})
}

func TestKeyringFiles(t *testing.T) {
	for _, c := range []struct {
		name, file, configured string
		keys                   int
		fails, logs            string
	}{
		{"nothing", "", "", 0, "", ""},
		{"configured", "", oldKey, 1, "", ""},
		{"file", `["` + newKey + `","` + oldKey + `"]`, "", 2, "", ""},
		{"file wins", `["` + newKey + `"]`, oldKey, 1, "", "only for the first start"},
		{"damaged, configured", ``, oldKey, 1, "", "damaged"},
		{"damaged", `{`, "", 0, "remove the file", ""},
		{"bad key in the file", `["abcd"]`, "", 0, "3 bytes", ""},
		{"bad key configured", "", "abcd", 0, "3 bytes", ""},
	} {
		path := filepath.Join(t.TempDir(), "serf", "local.keyring")
		if c.file != "" || strings.HasPrefix(c.name, "damaged") {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var log bytes.Buffer
		ring, err := openKeyring(path, c.configured, textLogger(&log))
		keys := 0
		if ring != nil {
			keys = len(ring.GetKeys())
		}
		if keys != c.keys || (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) || !strings.Contains(log.String(), c.logs) {
			t.Errorf("%s: %d keys, %v, log %q", c.name, keys, err, log.String())
		}
		if c.configured != "" && c.fails == "" && c.file == "" && c.logs == "" {
			if again, err := readKeyring(path); err != nil || len(again) != 1 {
				t.Errorf("%s: the file then has %d keys, %v", c.name, len(again), err)
			}
		}
	}
}

func textLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
