package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/consul/api"
)

var snapshotSaveCommand = &command{
	name:  "snapshot save",
	args:  "FILE",
	short: "Save the state of the servers in a file",
	long: `
Saves the whole state of the servers as of now: catalog, keys, sessions,
queries, certificates. The file appears once it is complete and was read back;
an older one of that name is replaced. It holds private keys: keep it safe.

    muster snapshot save backup.snap
    muster snapshot save -append-filename=dc,node backup.snap`,
	setup: func(f *flags) func([]string) int {
		s := &snapshotSave{}
		f.StringVar(&s.append, "append-filename", "", "`List` of what to add to the file's name before its ending: version, dc, node, status; with commas.")
		s.conn = f.connect(true)
		return s.run
	},
}

type snapshotSave struct {
	conn   *connection
	append string
}

func (s *snapshotSave) run(args []string) int {
	f := s.conn.f
	path, err := oneFile(args)
	if err != nil {
		return f.fail("muster snapshot save: %v.", err)
	}
	client, err := s.conn.client()
	if err != nil {
		return f.fail("%v", err)
	}
	if s.append != "" {
		if path, err = appended(client, path, strings.Split(s.append, ",")); err != nil {
			return s.conn.fail("naming the file", err)
		}
	}
	meta, err := download(client, s.conn.query(), path)
	if err != nil {
		return s.conn.fail("saving the snapshot", err)
	}
	fmt.Fprintf(f.stdout, "Saved and verified snapshot to index %d\n", meta.Index)
	return 0
}

// appended puts what the agent says of itself into a file's name.
func appended(client *api.Client, path string, parts []string) (string, error) {
	self, err := client.Agent().Self()
	if err != nil {
		return "", err
	}
	status := "follower"
	if stats, ok := self["Stats"]["consul"].(map[string]any); ok && stats["leader"] == "true" {
		status = "leader"
	}
	ext := filepath.Ext(path)
	name := strings.TrimSuffix(path, ext)
	for _, part := range parts {
		value := ""
		switch strings.TrimSpace(part) {
		case "version":
			value, _ = self["Config"]["Version"].(string)
		case "dc":
			value, _ = self["Config"]["Datacenter"].(string)
		case "node":
			value, _ = self["Config"]["NodeName"].(string)
		case "status":
			value = status
		default:
			return "", fmt.Errorf("-append-filename=%s: want version, dc, node, status", part)
		}
		if value == "" || slices.Contains([]rune(value), filepath.Separator) {
			return "", errors.New("the agent has no " + part + " that fits into a file's name")
		}
		name += "-" + value
	}
	return name + ext, nil
}
