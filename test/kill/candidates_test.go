//go:build candidates

package kill

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"
	raftwal "github.com/hashicorp/raft-wal"
	"go.etcd.io/bbolt"
)

// The log stores that were considered besides wal. To see them fail or pass:
//
//	go test -tags=candidates ./test/kill -run=LogStore -kills=200 -store=raft-wal
func init() {
	openers["raft-wal"] = func(dir string) (logStore, error) {
		return raftwal.Open(dir, raftwal.WithSegmentSize(segmentSize))
	}
	openers["bbolt"] = openBolt
}

// boltStore is the least that bbolt needs to be a log store.
type boltStore struct{ db *bbolt.DB }

var bucket = []byte("log")

func openBolt(dir string) (logStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	db, err := bbolt.Open(filepath.Join(dir, "log.db"), 0o600, &bbolt.Options{NoFreelistSync: true})
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket)
		return err
	})
	return boltStore{db}, err
}

func boltKey(index uint64) []byte { return binary.BigEndian.AppendUint64(nil, index) }

func (s boltStore) edge(move func(*bbolt.Cursor) ([]byte, []byte)) (index uint64, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		if k, _ := move(tx.Bucket(bucket).Cursor()); k != nil {
			index = binary.BigEndian.Uint64(k)
		}
		return nil
	})
	return index, err
}

func (s boltStore) FirstIndex() (uint64, error) { return s.edge((*bbolt.Cursor).First) }
func (s boltStore) LastIndex() (uint64, error)  { return s.edge((*bbolt.Cursor).Last) }

func (s boltStore) GetLog(index uint64, log *raft.Log) error {
	return s.db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucket).Get(boltKey(index))
		if b == nil {
			return raft.ErrLogNotFound
		}
		return new(raftwal.BinaryCodec).Decode(append([]byte(nil), b...), log)
	})
}

func (s boltStore) StoreLog(log *raft.Log) error { return s.StoreLogs([]*raft.Log{log}) }

func (s boltStore) StoreLogs(logs []*raft.Log) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		for _, l := range logs {
			w := &sliceWriter{}
			if err := new(raftwal.BinaryCodec).Encode(l, w); err != nil {
				return err
			}
			if err := tx.Bucket(bucket).Put(boltKey(l.Index), w.b); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s boltStore) DeleteRange(min, max uint64) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		var err error
		for i := min; i <= max; i++ {
			err = errors.Join(err, tx.Bucket(bucket).Delete(boltKey(i)))
		}
		return err
	})
}

func (s boltStore) Close() error { return s.db.Close() }

type sliceWriter struct{ b []byte }

func (w *sliceWriter) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}
