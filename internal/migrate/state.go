package migrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// State is what a run leaves for the next one, in a file.
type State struct {
	Format   int      `json:"format"`
	From     string   `json:"from"`
	To       string   `json:"to"`
	Position Position `json:"position"`
	Report   Report   `json:"report"`
}

const stateFormat = 1

// ReadState reads the state that an earlier run left, nil if there is none. One of
// another migration is an error: to go on at its position would leave things out.
func ReadState(file, from, to string) (*State, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := new(State)
	if err := json.Unmarshal(data, s); err != nil || s.Format != stateFormat {
		return nil, fmt.Errorf("%s is not the state of a migration: give another -state-file, or remove it", file)
	}
	if s.From != from || s.To != to {
		return nil, fmt.Errorf("%s belongs to the migration from %s to %s: give another -state-file, or remove it", file, s.From, s.To)
	}
	return s, nil
}

// write replaces the file in one step, so that a kill leaves the old one or the new.
func (s *State) write(file string) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}
