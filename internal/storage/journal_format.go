package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
)

// A journal file is a header and then batches, one for each group commit.
//
//	header: "MUSJRN", zero, version byte, salt uint32
//	batch:  magic uint32, CRC-32C uint32 over the rest, length uint32 of the records, records
//	record: operation byte, key length uint32, value length uint32, key, value
//
// All numbers are little-endian. A batch is one write, and is begun only after
// the one before it is on disk; so a bad batch with a good one behind it is
// damage, and a bad batch with none behind it is a write that was cut off. The
// checksum starts from the file's random salt, so that a value which holds bytes
// of a journal is never taken for a batch.
const (
	journalMagic   = "MUSJRN\x00"
	journalVersion = 1
	journalHeader  = len(journalMagic) + 1 + 4
	batchMagic     = 0xB10CC0DE
	batchHead      = 12
	recordHead     = 9

	opPut    = 1
	opDelete = 2

	// maxBatch bounds what a damaged length can make a reader allocate.
	maxBatch = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errBadBatch = errors.New("bad batch")

// record is one change in a journal; value is nil for a deletion.
type record struct {
	op    byte
	key   string
	value []byte
	// at is the value's offset from the batch's first byte.
	at int64
}

func appendRecord(b []byte, op byte, key string, value []byte) []byte {
	b = append(b, op)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(key)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(value)))
	b = append(b, key...)
	return append(b, value...)
}

// beginBatch leaves room for the head that sealBatch fills in.
func beginBatch() []byte { return make([]byte, batchHead, 512) }

func newHeader() (header []byte, salt uint32) {
	salt = rand.Uint32()
	header = append([]byte(journalMagic), journalVersion)
	return binary.LittleEndian.AppendUint32(header, salt), salt
}

func sealBatch(b []byte, salt uint32) {
	binary.LittleEndian.PutUint32(b[0:], batchMagic)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(b)-batchHead))
	binary.LittleEndian.PutUint32(b[4:], crc32.Update(salt, castagnoli, b[8:]))
}

// decodeBatch reads the batch at the start of b and returns its length.
func decodeBatch(b []byte, salt uint32) (records []record, size int, err error) {
	if len(b) < batchHead || binary.LittleEndian.Uint32(b) != batchMagic {
		return nil, 0, errBadBatch
	}
	n := int64(binary.LittleEndian.Uint32(b[8:]))
	if n > maxBatch || n > int64(len(b)-batchHead) {
		return nil, 0, errBadBatch
	}
	size = batchHead + int(n)
	if crc32.Update(salt, castagnoli, b[8:size]) != binary.LittleEndian.Uint32(b[4:]) {
		return nil, 0, errBadBatch
	}
	for at := batchHead; at < size; {
		r, n, err := decodeRecord(b[at:size])
		if err != nil {
			return nil, 0, err
		}
		r.at += int64(at)
		records, at = append(records, r), at+n
	}
	return records, size, nil
}

// decodeRecord reads a record of a batch whose checksum is right.
func decodeRecord(b []byte) (record, int, error) {
	if len(b) < recordHead {
		return record{}, 0, fmt.Errorf("%w: record is cut off", errBadBatch)
	}
	keyLen, valLen := uint64(binary.LittleEndian.Uint32(b[1:])), uint64(binary.LittleEndian.Uint32(b[5:]))
	if keyLen+valLen > uint64(len(b)-recordHead) {
		return record{}, 0, fmt.Errorf("%w: record is cut off", errBadBatch)
	}
	r := record{op: b[0], at: recordHead + int64(keyLen)}
	if r.op != opPut && r.op != opDelete {
		return record{}, 0, fmt.Errorf("%w: unknown operation %d", errBadBatch, r.op)
	}
	r.key = string(b[recordHead : recordHead+keyLen])
	end := recordHead + int(keyLen+valLen)
	if r.op == opPut {
		r.value = b[r.at:end:end]
	}
	return r, end, nil
}
