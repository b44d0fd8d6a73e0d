package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/google/uuid"
)

// NodeID returns the id in the file node-id, a UUID, and makes one up on the
// first call in a new directory.
func (d *Dir) NodeID() (string, error) {
	path := d.Path(nodeIDFile)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		id := uuid.NewString()
		if err := WriteFile(path, []byte(id+"\n"), 0o600); err != nil {
			return "", explain(d.path, "write to", err)
		}
		return id, nil
	}
	if err != nil {
		return "", explain(d.path, "read", err)
	}
	id, err := uuid.Parse(strings.TrimSpace(string(content)))
	if err != nil {
		// A new id would make this agent a stranger to its own cluster.
		return "", fmt.Errorf("node id in %q: %w; restore the file from a backup, or remove it to start as a new node", path, err)
	}
	return id.String(), nil
}
