package migrate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
)

// keys walks through all keys after one. Their names may be more than fits into
// memory, so the list is put aside in a file first; it is also the one moment at which
// which keys there are is decided.
func (s *HTTPSource) keys(ctx context.Context, after string, to Sink) error {
	spool, err := os.CreateTemp(s.Temp, "muster-keys-*")
	if err != nil {
		return err
	}
	defer os.Remove(spool.Name())
	defer spool.Close()
	total := 0
	err = s.From.call(ctx, request{method: "GET", path: "/v1/kv/", params: url.Values{"keys": {""}}, timeout: listTimeout},
		func(r io.Reader) (err error) {
			total, err = spoolKeys(spool, r, after)
			return err
		})
	if err != nil && statusOf(err) != 404 {
		return fmt.Errorf("list the keys: %w", err)
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	to.Begin(StageKeys, total)
	if err := s.batches(ctx, spool, to); err != nil {
		return err
	}
	return to.End(ctx, StageKeys)
}

// spoolKeys copies the names of a JSON list to a file, one a line, in one piece
// whatever an earlier try left there.
func spoolKeys(spool *os.File, from io.Reader, after string) (n int, err error) {
	if err := errors.Join(spool.Truncate(0), func() error { _, err := spool.Seek(0, io.SeekStart); return err }()); err != nil {
		return 0, badAnswer{err}
	}
	w := bufio.NewWriterSize(spool, 64<<10)
	lines := json.NewEncoder(w)
	dec := json.NewDecoder(from)
	switch t, err := dec.Token(); {
	case err == nil && t == nil:
		return 0, nil // null: there are none
	case err != nil || t != json.Delim('['):
		return 0, errors.Join(errors.New("the list of keys is not understood"), err)
	}
	for dec.More() {
		var key string
		if err := dec.Decode(&key); err != nil {
			return 0, fmt.Errorf("the list of keys: %w", err)
		}
		if after != "" && key <= after {
			continue
		}
		if err := lines.Encode(key); err != nil {
			return 0, badAnswer{err}
		}
		n++
	}
	if _, err := dec.Token(); err != nil {
		return 0, fmt.Errorf("the list of keys: %w", err)
	}
	if err := w.Flush(); err != nil {
		return 0, badAnswer{err}
	}
	return n, nil
}

func (s *HTTPSource) batches(ctx context.Context, spool io.Reader, to Sink) error {
	size := s.Batch
	if size == 0 {
		size = defaultBatch
	}
	dec := json.NewDecoder(bufio.NewReaderSize(spool, 64<<10))
	for {
		var names []string
		for len(names) < size && dec.More() {
			var key string
			if err := dec.Decode(&key); err != nil {
				return fmt.Errorf("the list of keys that was put aside: %w", err)
			}
			names = append(names, key)
		}
		if len(names) == 0 {
			return nil
		}
		b := &Batch{Keys: names, Load: func(ctx context.Context) ([]Pair, []string, error) { return s.load(ctx, names) }}
		if err := to.Keys(ctx, b); err != nil {
			return err
		}
	}
}

// load reads keys in one transaction, or one by one if some of them are gone: then
// the whole transaction fails.
func (s *HTTPSource) load(ctx context.Context, names []string) (pairs []Pair, gone []string, err error) {
	found, err := readKeys(ctx, s.From, names)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		if e := found[name]; e != nil {
			pairs = append(pairs, Pair{Key: name, Flags: e.Flags, Value: e.Value, Locked: e.Session != ""})
		} else {
			gone = append(gone, name)
		}
	}
	return pairs, gone, nil
}

// entry is a key as the API has it.
type entry struct {
	Key         string
	Flags       uint64
	Value       []byte
	Session     string
	ModifyIndex uint64
}

// readKeys reads keys; those that don't exist are missing in the result. One that is
// missing fails the whole transaction, whose errors name all of them.
func readKeys(ctx context.Context, e *Endpoint, names []string) (map[string]*entry, error) {
	found := make(map[string]*entry, len(names))
	for len(names) > 0 {
		ops := make([]any, len(names))
		for i, name := range names {
			ops[i] = kvOp{Verb: "get", Key: name}.op()
		}
		answer, err := transact(ctx, e, ops)
		if err != nil {
			return nil, fmt.Errorf("read keys from %q on: %w", names[0], err)
		}
		if len(answer.Errors) == 0 {
			for i := range answer.Results {
				if kv := answer.Results[i].KV; kv != nil {
					found[kv.Key] = kv
				}
			}
			return found, nil
		}
		if names, err = withoutMissing(names, answer); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// withoutMissing takes the keys off that an answer says don't exist, one at least.
func withoutMissing(names []string, answer *txnAnswer) ([]string, error) {
	missing := make(map[int]bool, len(answer.Errors))
	for _, e := range answer.Errors {
		if e.OpIndex < 0 || e.OpIndex >= len(names) || !strings.Contains(e.What, "doesn't exist") {
			return nil, fmt.Errorf("read keys from %q on: %s", names[0], e.What)
		}
		missing[e.OpIndex] = true
	}
	var rest []string
	for i, name := range names {
		if !missing[i] {
			rest = append(rest, name)
		}
	}
	return rest, nil
}
