package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCompletionCandidates(t *testing.T) {
	for line, want := range map[string]string{
		"muster me":                           "members",
		"muster se":                           "services session",
		"muster services ":                    "deregister register",
		"muster services re":                  "register",
		"muster members -st":                  "-status",
		"muster members --st":                 "-status",
		"muster catalog services -no":         "-node -node-meta",
		"muster services register -name=x -t": "-tag -tagged-address -tls-server-name -token -token-file",
		"muster agent -syslog":                "", // only there to be refused
		"muster validate fi":                  "", // the shell completes files
		"muster zzz":                          "",
		"muster zzz -":                        "",
		"muster comp":                         "completion",
		"muster":                              "",
	} {
		t.Setenv("COMP_LINE", line)
		if got := strings.Join(strings.Fields(muster("completion", "candidates").out), " "); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}

func TestCompletionScripts(t *testing.T) {
	for shell := range shells {
		r := muster("completion", shell)
		if r.code != 0 || strings.Contains(r.out, "PROGRAM") || !strings.Contains(r.out, "completion candidates") {
			t.Errorf("%s: %+v", shell, r)
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			continue // not every machine has every shell
		}
		if out, err := exec.Command(path, "-n", file(t, "script", r.out)).CombinedOutput(); err != nil {
			t.Errorf("%s does not take it: %v: %s", shell, err, out)
		}
	}
	muster("completion").wantError(t, "name one shell")
	muster("completion", "cmd").wantError(t, `unknown shell "cmd"`)
}

func TestAutocompleteInstall(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	muster("-autocomplete-install").wantError(t, "no start file")
	rc := filepath.Join(home, ".bashrc")
	if err := os.WriteFile(rc, []byte("alias l=ls"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(home, ".config/fish"), 0o755); err != nil {
		t.Fatal(err)
	}
	fish := filepath.Join(home, ".config/fish/completions/muster.fish")
	for range 2 { // a second time changes nothing
		muster("-autocomplete-install").want(t, 0, "bash: "+rc+"\nfish: "+fish+"\n")
		got, err := os.ReadFile(rc)
		if err != nil {
			t.Fatal(err)
		}
		if s := string(got); !strings.HasPrefix(s, "alias l=ls\nsource <(") || strings.Count(s, mark) != 1 {
			t.Errorf("%s", got)
		}
	}
	muster("-autocomplete-uninstall").want(t, 0, "bash: "+rc+"\nfish: "+fish+"\n")
	if got, _ := os.ReadFile(rc); string(got) != "alias l=ls\n" {
		t.Errorf("left over: %q", got)
	}
	if _, err := os.Stat(fish); !os.IsNotExist(err) {
		t.Errorf("left over: %v", err)
	}
	muster("-autocomplete-uninstall").want(t, 0, "")
}
