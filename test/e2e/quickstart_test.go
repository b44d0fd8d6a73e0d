package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// sections cuts a document's commands (the indented lines) by its headings.
func sections(t *testing.T, path string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list, title := map[string]string{}, ""
	for line := range strings.Lines(string(data)) {
		if h, ok := strings.CutPrefix(line, "## "); ok {
			title = strings.TrimSpace(h)
		} else if cmd, ok := strings.CutPrefix(line, "    "); ok {
			list[title] += cmd
		}
	}
	return list
}

// TestQuickStart runs the commands of docs/quickstart.md, on ports of its own, and
// looks for what the text promises.
func TestQuickStart(t *testing.T) {
	for _, tool := range []string{"bash", "curl", "dig", "python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the quick start needs %s", tool)
		}
	}
	doc := sections(t, "../../docs/quickstart.md")
	a := dev(t)
	a.start()
	a.ready()
	app := freePorts(t, "app")["app"]
	ported := strings.NewReplacer("127.0.0.1:8500", fmt.Sprintf("127.0.0.1:%d", a.ports["http"]), "-p 8600", fmt.Sprintf("-p %d", a.ports["dns"]),
		"9000", strconv.Itoa(app), "go run ./cmd/muster", binary)

	shell := func(title string, want ...string) {
		t.Helper()
		text, ok := doc[title]
		if !ok {
			t.Fatalf("docs/quickstart.md has no section %q", title)
		}
		cmd := exec.Command("bash", "-ec", ported.Replace(text))
		cmd.Env = append(cmd.Environ(), fmt.Sprintf("MUSTER_HTTP_ADDR=127.0.0.1:%d", a.ports["http"]))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("section %q: %v\n%s", title, err, out)
		}
		for _, w := range want {
			if !regexp.MustCompile(w).Match(out) {
				t.Errorf("section %q: no %q in\n%s", title, w, out)
			}
		}
	}
	instances := func(want int) {
		t.Helper()
		eventually(t, fmt.Sprintf("orders has %d passing instances", want), func() error {
			list, err := a.passing("orders")
			if err == nil && len(list) != want {
				err = fmt.Errorf("it has %d", len(list))
			}
			return err
		})
	}

	// The service of the second step runs by itself here, so that the test owns it.
	web := exec.Command("python3", "-m", "http.server", "--bind", "127.0.0.1", strconv.Itoa(app))
	web.Dir = t.TempDir()
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { web.Process.Kill(); web.Wait() }()
	doc["2. Register"] = withoutLines(doc["2. Register"], "python3")

	shell("2. Register")
	instances(1)
	shell("3. Find", `"ID": "orders-1"`, `(?m)^127\.0\.0\.1$`, fmt.Sprintf(`1 1 %d n1\.node\.dc1\.consul\.`, app), `orders\s+v1`)

	watch := exec.Command("bash", "-ec", strings.ReplaceAll(ported.Replace(doc["4. Watch"]), " &\n", "\n"))
	var answer syncBuffer
	watch.Stdout = &answer
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	web.Process.Kill()
	instances(0)
	if err := watch.Wait(); err != nil || strings.TrimSpace(answer.String()) != "[]" {
		t.Errorf("the watch of step 4 got %q, %v; want []", answer.String(), err)
	}
	doc["5. Lose"] = withoutLines(doc["5. Lose"], "pkill")
	shell("5. Lose", "status: NXDOMAIN")
	var services map[string]any
	if err := a.get("/v1/agent/services", &services); err != nil || len(services) != 0 {
		t.Errorf("after the last step the agent has %v, %v", services, err)
	}
}

func withoutLines(text, prefix string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, prefix) {
			b.WriteString(line)
		}
	}
	return b.String()
}
