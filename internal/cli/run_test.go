package cli

import (
	"strings"
	"testing"
)

func TestHelpOfEveryCommand(t *testing.T) {
	for _, c := range commands() {
		t.Run(c.name, func(t *testing.T) {
			r := muster(append(strings.Fields(c.name), "-help")...)
			if r.code != 0 || r.err != "" {
				t.Errorf("exit code %d, errors %q", r.code, r.err)
			}
			for _, line := range strings.Split(r.out, "\n") {
				if len(line) > 80 {
					t.Errorf("longer than 80: %q", line)
				}
			}
			golden(t, "help/"+strings.ReplaceAll(c.name, " ", "_")+".txt", r.out)
		})
	}
}

func TestOverview(t *testing.T) {
	r := muster("help")
	r.want(t, 0, r.out)
	golden(t, "help/overview.txt", r.out)
	if none := muster(); none.code != 1 || none.err != r.out {
		t.Errorf("without arguments: %+v", none)
	}
	family := muster("catalog", "-help")
	if family.code != 0 {
		t.Errorf("%+v", family)
	}
	golden(t, "help/catalog.txt", family.out)
	if one := muster("help", "members"); one.code != 0 || !strings.HasPrefix(one.out, "Usage: muster members") {
		t.Errorf("help members: %+v", one)
	}
}

func TestMistakesOfTheCommandLine(t *testing.T) {
	for _, c := range []struct {
		args string
		want string
	}{
		{"memebrs", `Did you mean "members"?`},
		{"catalog node", `Did you mean "catalog nodes"?`},
		{"zzzzzzz", `Unknown command "zzzzzzz". See muster help.`},
		{"services", "Usage: muster services <subcommand>"},
		{"members -stauts=alive", "unknown flag -stauts. Did you mean -status?"},
		{"members -qqqqqqqq", "unknown flag -qqqqqqqq. See muster members -help."},
		{"agent -http-port=x", `invalid value "x" for flag -http-port: want a whole number`},
		{"agent -segment=x", "an enterprise feature of Consul"},
		{"agent dev", `unexpected argument "dev"`},
		{"force-leav n1", `Did you mean "force-leave"?`},
		{"montior", `Did you mean "monitor"?`},
		{"monitor -log-levle=info", "Did you mean -log-level?"},
		{"join -wna x", "Did you mean -wan?"},
		{"members all", `unexpected argument "all"`},
		{"services register web.hcl -token=x", "-token=x must stand before the arguments"},
	} {
		t.Run(c.args, func(t *testing.T) {
			muster(strings.Fields(c.args)...).wantError(t, c.want)
		})
	}
}
