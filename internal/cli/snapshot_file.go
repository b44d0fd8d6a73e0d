package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/hashicorp/consul/api"

	"github.com/muster-discovery/muster/internal/snapshot"
)

// download saves a snapshot of the agent's cluster in a file. Nothing has the file's
// name before the whole snapshot is on disk and was read back.
func download(client *api.Client, q *api.QueryOptions, path string) (*snapshot.Meta, error) {
	body, _, err := client.Snapshot().Save(q)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	tmp := path + ".tmp"
	meta, err := receive(body, tmp)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(tmp))
	}
	return meta, syncFolder(filepath.Dir(path))
}

func receive(body io.Reader, path string) (*snapshot.Meta, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600) // it holds secrets
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := io.Copy(file, body); err != nil {
		return nil, fmt.Errorf("receive the snapshot: %w", err)
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	meta, err := snapshot.Read(file, snapshot.Options{})
	if err != nil {
		return nil, fmt.Errorf("the saved snapshot can't be read back: %w", err)
	}
	return meta, nil
}

// syncFolder makes a rename last.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}

// readSnapshot reads a file: an archive, or a bare state of a server's data dir.
func readSnapshot(path string, o snapshot.Options) (*snapshot.Meta, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if filepath.Base(path) == "state.bin" {
		return snapshot.ReadState(file, o)
	}
	return snapshot.Read(file, o)
}

// oneFile is the command's file.
func oneFile(args []string) (string, error) {
	if len(args) != 1 || args[0] == "" {
		return "", fmt.Errorf("it takes one FILE, not %d arguments", len(args))
	}
	return args[0], nil
}

// ownEndpoint sends the API client's restore to an endpoint of Muster's own, which the
// client has no words for, and keeps the answer.
type ownEndpoint struct {
	path   string
	params map[string]string
	next   http.RoundTripper
	answer []byte
}

func (e *ownEndpoint) wrap(next http.RoundTripper) http.RoundTripper {
	e.next = next
	return e
}

func (e *ownEndpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Path = e.path
	q := r.URL.Query()
	for name, value := range e.params {
		q.Set(name, value)
	}
	r.URL.RawQuery = q.Encode()
	resp, err := e.next.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	defer resp.Body.Close()
	if e.answer, err = io.ReadAll(resp.Body); err != nil {
		return nil, err
	}
	resp.Body = http.NoBody
	return resp, nil
}
