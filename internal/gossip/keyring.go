package gossip

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/memberlist"
)

// DecodeKey reads a gossip key: base64 of 16, 24 or 32 bytes. Its error does not hold
// the key, which must not get into logs.
func DecodeKey(text string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("the key is not base64; make one with `muster keygen`")
	}
	switch len(key) {
	case 16, 24, 32:
		return key, nil
	}
	return nil, fmt.Errorf("the key has %d bytes, it must have 16, 24 or 32; make one with `muster keygen`", len(key))
}

// openKeyring makes a pool's keyring: from its file if there is one, since keys may
// have been rotated after the configuration was written, else from the configured key,
// which then begins the file. Nil: no encryption.
func openKeyring(path, configured string, log *slog.Logger) (*memberlist.Keyring, error) {
	var keys [][]byte
	if configured != "" {
		key, err := DecodeKey(configured)
		if err != nil {
			return nil, fmt.Errorf("gossip: encrypt: %w", err)
		}
		keys = [][]byte{key}
	}
	kept, err := readKeyring(path)
	switch {
	case err != nil && keys != nil:
		log.Warn("the keyring file is damaged, going on with the key of the configuration; if the others don't know it, "+
			"set encrypt to a key that `muster keyring -list` shows at one of them", "err", err)
	case err != nil:
		return nil, fmt.Errorf("gossip: %w; set encrypt to a key that `muster keyring -list` shows at another agent, and remove the file", err)
	case kept != nil:
		if keys != nil && !slices.Equal(keys[0], kept[0]) {
			log.Info("the key of the configuration is only for the first start: the keyring file holds the keys in use", "path", path)
		}
		keys = kept
	}
	if keys == nil {
		return nil, nil
	}
	ring, err := memberlist.NewKeyring(keys, keys[0])
	if err != nil {
		return nil, fmt.Errorf("gossip: keyring: %w", err)
	}
	if kept == nil && path != "" {
		return ring, writeKeyring(path, keys)
	}
	return ring, nil
}

// readKeyring reads a file as serf writes it: a JSON list of keys, the one in use
// first. Nil: there is no file.
func readKeyring(path string) ([][]byte, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the keyring: %w", err)
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil || len(list) == 0 {
		return nil, fmt.Errorf("the keyring %s is not a list of keys", path)
	}
	var keys [][]byte
	for _, text := range list {
		key, err := DecodeKey(text)
		if err != nil {
			return nil, fmt.Errorf("the keyring %s: %w", path, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// writeKeyring writes beside the file and renames: it is whole or not there.
func writeKeyring(path string, keys [][]byte) error {
	list := make([]string, len(keys))
	for i, key := range keys {
		list[i] = base64.StdEncoding.EncodeToString(key)
	}
	data, err := json.MarshalIndent(list, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path+".tmp", append(data, '\n'), 0o600)
	}
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err != nil {
		return fmt.Errorf("gossip: write the keyring: %w", err)
	}
	return nil
}
