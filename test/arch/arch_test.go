package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/muster-discovery/muster/"

type goPackage struct {
	ImportPath string
	Doc        string
	Imports    []string
	GoFiles    []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Doc,Imports,GoFiles", "./...")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// room is the first folder below internal/ of a package of ours.
func room(importPath string) (string, bool) {
	rest, ok := strings.CutPrefix(importPath, module+"internal/")
	if !ok {
		return "", false
	}
	name, _, _ := strings.Cut(rest, "/")
	return name, true
}

func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		rel := strings.TrimPrefix(p.ImportPath, module)
		name, inside := room(p.ImportPath)
		allowed, listed := layers[name]
		if inside && !listed {
			t.Errorf("package %s has no row in test/arch/layers.go and in ARCHITECTURE.md", rel)
			continue
		}
		for _, imp := range p.Imports {
			to, ours := room(imp)
			if !ours || to == name {
				continue
			}
			if inside && !slices.Contains(allowed, "*") && !slices.Contains(allowed, to) {
				t.Errorf("%s imports internal/%s; its row allows only %v", rel, to, allowed)
			}
			if want := only[to]; want != "" && rel != want && rel != "internal/"+want && !strings.HasPrefix(rel, "test/") {
				t.Errorf("%s imports internal/%s, which is for %s alone", rel, to, want)
			}
			if strings.HasSuffix(imp, "test") && !strings.HasPrefix(rel, "test/") && !strings.HasSuffix(rel, "test") {
				t.Errorf("product package %s imports the test kit %s", rel, imp)
			}
		}
	}
}

func TestPackageComments(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("%s has no package comment", strings.TrimPrefix(p.ImportPath, module))
		}
	}
}

// TestDocumentsNameRealFiles keeps the tour through the code true.
func TestDocumentsNameRealFiles(t *testing.T) {
	path := regexp.MustCompile("`((?:cmd|internal|test|docs|tools)/[A-Za-z0-9_./-]+)`")
	for _, doc := range []string{"ARCHITECTURE.md", "README.md"} {
		text, err := os.ReadFile(filepath.Join(root(t), doc))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range path.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(root(t), m[1])); err != nil {
				t.Errorf("%s names %s: %v", doc, m[1], err)
			}
		}
	}
}

// TestArchitectureListsEveryPackage: a newcomer finds each room in the plan.
func TestArchitectureListsEveryPackage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range layers {
		if !strings.Contains(string(text), "| `"+name+"` |") {
			t.Errorf("ARCHITECTURE.md has no row for internal/%s", name)
		}
	}
}
