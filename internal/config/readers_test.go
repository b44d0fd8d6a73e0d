package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const module = "github.com/muster-discovery/muster/internal/"

// shows are functions and files that only show settings, which has no effect.
var shows = map[string]bool{"debugConfig": true, "banner.go": true}

// becomes are the settings that package config itself turns into others, which then
// must have a reader.
var becomes = map[string]string{
	"bind_addr": "Listen.SerfLAN", "client_addr": "Listen.HTTP", "serf_lan": "Listen.SerfLAN", "serf_wan": "Listen.SerfWAN",
	"advertise_addr": "Advertise.LAN", "advertise_addr_wan": "Advertise.WAN",
	"advertise_addr_ipv4": "Advertise.Tagged", "advertise_addr_ipv6": "Advertise.Tagged",
	"advertise_addr_wan_ipv4": "Advertise.Tagged", "advertise_addr_wan_ipv6": "Advertise.Tagged",
	"addresses.dns": "Listen.DNS", "addresses.http": "Listen.HTTP", "addresses.https": "Listen.HTTPS",
	"addresses.grpc": "Listen.GRPC", "addresses.grpc_tls": "Listen.GRPCTLS",
	"ports.dns": "Listen.DNS", "ports.http": "Listen.HTTP", "ports.https": "Listen.HTTPS",
	"ports.grpc": "Listen.GRPC", "ports.grpc_tls": "Listen.GRPCTLS",
	"ports.serf_lan": "Listen.SerfLAN", "ports.serf_wan": "Listen.SerfWAN", "ports.server": "Listen.Server",
	"raft_protocol":            "", // only 3 is accepted
	"connect.ca_provider":      "", // only consul is accepted
	"disable_host_node_id":     "", // ids are random either way
	"disable_remote_exec":      "HTTP.RemoteExec",
	"verify_incoming_https":    "TLS.HTTPS",
	"verify_incoming_rpc":      "TLS.InternalRPC",
	"acl.tokens.agent":         "Tokens.Agent",
	"config_entries.bootstrap": "Config.Entries",
}

// A setting is either read by someone or said to have no effect, and not both. A
// rule with its own reason may also cover a setting that is only partly there.
func TestEverySettingHasAReaderOrIsPending(t *testing.T) {
	if testing.Short() {
		t.Skip("type-checks packages agent and cli")
	}
	read := readers(t)
	for _, key := range Keys() {
		isRead := true
		if to, ok := becomes[key]; ok {
			isRead = to == "" || read[to]
		} else {
			for _, f := range fieldNames(key) {
				isRead = isRead && read[f]
			}
		}
		r, covered := pendingRule(key)
		switch {
		case !isRead && !covered:
			t.Errorf("%s: nobody reads %v, and no rule says so", key, fieldNames(key))
		case isRead && covered && r.why == "":
			t.Errorf("%s: is read now; remove the pending rule", key)
		}
	}
}

// fieldNames are the fields that lead to a key, as "Type.Field".
func fieldNames(key string) []string {
	var names []string
	ty := reflect.TypeFor[draft]()
	for _, i := range fields[key] {
		f := ty.Field(i)
		if !f.Anonymous {
			owner := ty.Name()
			names = append(names, strings.Replace(owner, "draft", "Config", 1)+"."+f.Name)
		}
		ty = f.Type
	}
	return names
}

// readers has the fields of this package's types that packages agent and cli select.
func readers(t *testing.T) map[string]bool {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,GoFiles,Export", "./agent", "./cli")
	cmd.Dir = ".."
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("packages agent and cli do not build, which other tests tell: %s", &problems)
	}
	exports := map[string]string{}
	type goPackage struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	var ours []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if p.ImportPath == module+"agent" || p.ImportPath == module+"cli" {
			ours = append(ours, p)
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	read := map[string]bool{}
	for _, p := range ours {
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
		if _, err := (&types.Config{Importer: imports}).Check(p.ImportPath, fset, files, info); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !shows[filepath.Base(fset.File(f.Pos()).Name())] {
				selected(f, info, read)
			}
		}
	}
	return read
}

func selected(f *ast.File, info *types.Info, read map[string]bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if fn, ok := n.(*ast.FuncDecl); ok && shows[fn.Name.Name] {
			return false
		}
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || info.Selections[sel] == nil || info.Selections[sel].Kind() != types.FieldVal {
			return true
		}
		owner := info.Selections[sel].Recv()
		if p, ok := owner.(*types.Pointer); ok {
			owner = p.Elem()
		}
		if named, ok := owner.(*types.Named); ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == module+"config" {
			read[named.Obj().Name()+"."+sel.Sel.Name] = true
		}
		return true
	})
}
