package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// agentFile is a file of settings. What it does not name is nil.
type agentFile struct {
	HTTPAddr      *string `json:"http_addr"`
	Token         *string `json:"token"`
	Datacenter    *string `json:"datacenter"`
	CAFile        *string `json:"ca_file"`
	CAPath        *string `json:"ca_path"`
	CertFile      *string `json:"cert_file"`
	KeyFile       *string `json:"key_file"`
	TLSServerName *string `json:"tls_server_name"`

	Log struct {
		Level *string `json:"level"`
	} `json:"log"`
	Snapshot struct {
		Interval        *jsonDuration `json:"interval"`
		Retain          *int          `json:"retain"`
		Stale           *bool         `json:"stale"`
		Service         *string       `json:"service"`
		DeregisterAfter *jsonDuration `json:"deregister_after"`
		LockKey         *string       `json:"lock_key"`
		MaxFailures     *int          `json:"max_failures"`
	} `json:"snapshot"`
	LocalStorage struct {
		Path *string `json:"path"`
	} `json:"local_storage"`

	// Named by Consul's documentation, and not there.
	AWS    json.RawMessage `json:"aws_storage"`
	Azure  json.RawMessage `json:"azure_blob_storage"`
	Google json.RawMessage `json:"google_storage"`
}

type jsonDuration time.Duration

func (d *jsonDuration) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("%s is no time: want a text such as \"30m\"", b)
	}
	v, err := time.ParseDuration(text)
	*d = jsonDuration(v)
	return err
}

// settingsFiles are the named files, and the JSON files in the folders by name.
func settingsFiles(files, folders []string) ([]string, error) {
	all := append([]string{}, files...)
	for _, folder := range folders {
		found, err := filepath.Glob(filepath.Join(folder, "*.json"))
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("-config-dir=%s: there is no such folder", folder)
		}
		all = append(all, found...)
	}
	return all, nil
}

func readAgentFile(path string) (*agentFile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var outer struct {
		Agent *agentFile `json:"snapshot_agent"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields() // a typo must not go unnoticed until the day of a restore
	err = dec.Decode(&outer)
	switch {
	case err != nil:
	case outer.Agent == nil:
		err = errors.New("it has no object \"snapshot_agent\"")
	case outer.Agent.AWS != nil || outer.Agent.Azure != nil || outer.Agent.Google != nil:
		err = errors.New("this version saves in a local folder only: take aws_storage, azure_blob_storage and google_storage out, and copy the files from local_storage.path")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return outer.Agent, nil
}

func override[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// merge takes over what a file names.
func (c *agentSettings) merge(f *agentFile) {
	s := &f.Snapshot
	override(&c.interval, (*time.Duration)(s.Interval))
	override(&c.deregisterAfter, (*time.Duration)(s.DeregisterAfter))
	override(&c.retain, s.Retain)
	override(&c.stale, s.Stale)
	override(&c.service, s.Service)
	override(&c.lockKey, s.LockKey)
	override(&c.maxFailures, s.MaxFailures)
	override(&c.path, f.LocalStorage.Path)
	override(&c.logLevel, f.Log.Level)
}

// prefer takes from a file how to reach the agent, where no flag says it.
func (c *connection) prefer(f *agentFile) {
	set := map[string]bool{}
	c.f.Visit(func(fl *flag.Flag) { set[fl.Name] = true })
	for _, p := range []struct {
		flag string
		to   *string
		from *string
	}{
		{"http-addr", &c.addr, f.HTTPAddr}, {"token", &c.token, f.Token}, {"datacenter", &c.datacenter, f.Datacenter},
		{"ca-file", &c.caFile, f.CAFile}, {"ca-path", &c.caPath, f.CAPath}, {"client-cert", &c.certFile, f.CertFile},
		{"client-key", &c.keyFile, f.KeyFile}, {"tls-server-name", &c.serverName, f.TLSServerName},
	} {
		if !set[p.flag] {
			override(p.to, p.from)
		}
	}
}
