package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/hashicorp/raft"
)

// The numbers of file format 1; docs/format/log.md explains them. All are
// little-endian.
const (
	fileMagic   = "MUSWAL\x00"
	fileVersion = 1
	headerSize  = 32

	frameMagic = 0x4C57534D
	frameHead  = 32
	bodyHead   = 16
	frameAlign = 8

	// maxBody bounds what a damaged length can make a reader believe.
	maxBody = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	errBadHeader = errors.New("bad segment header")
	errBadFrame  = errors.New("bad frame")
)

// header is the first 32 bytes of a segment file.
type header struct {
	salt  uint32 // random, the checksums' start: stored data never passes for a frame
	first uint64 // index of the first entry
}

func (h header) encode() []byte {
	b := make([]byte, headerSize)
	copy(b, fileMagic)
	b[len(fileMagic)] = fileVersion
	binary.LittleEndian.PutUint32(b[8:], h.salt)
	binary.LittleEndian.PutUint64(b[16:], h.first)
	binary.LittleEndian.PutUint32(b[24:], crc32.Checksum(b[:24], castagnoli))
	return b
}

func decodeHeader(b []byte) (header, error) {
	if len(b) < headerSize || string(b[:len(fileMagic)]) != fileMagic {
		return header{}, errBadHeader
	}
	if crc32.Checksum(b[:24], castagnoli) != binary.LittleEndian.Uint32(b[24:]) {
		return header{}, errBadHeader
	}
	if v := b[len(fileMagic)]; v != fileVersion {
		return header{}, fmt.Errorf("segment has format %d, but this version of Muster knows format %d; run the newer version that wrote it", v, fileVersion)
	}
	return header{salt: binary.LittleEndian.Uint32(b[8:]), first: binary.LittleEndian.Uint64(b[16:])}, nil
}

// frame is one entry in a segment:
//
//	magic uint32, CRC-32C uint32 over the rest, body length uint32,
//	position in its batch uint32, index uint64, term uint64,
//	body: type byte, 3 zero bytes, extensions' length uint32, time int64, extensions, data
//	zero bytes up to a multiple of 8
type frame struct {
	batch uint32 // how many entries before it were written in the same write
	log   raft.Log
}

func appendFrame(b []byte, salt, batch uint32, log *raft.Log) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint32(b, frameMagic)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(bodyHead+len(log.Extensions)+len(log.Data)))
	b = binary.LittleEndian.AppendUint32(b, batch)
	b = binary.LittleEndian.AppendUint64(b, log.Index)
	b = binary.LittleEndian.AppendUint64(b, log.Term)
	b = append(b, byte(log.Type), 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(log.Extensions)))
	b = binary.LittleEndian.AppendUint64(b, uint64(unixNano(log.AppendedAt)))
	b = append(b, log.Extensions...)
	b = append(b, log.Data...)
	binary.LittleEndian.PutUint32(b[start+4:], crc32.Update(salt, castagnoli, b[start+8:]))
	for (len(b)-start)%frameAlign != 0 {
		b = append(b, 0)
	}
	return b
}

// decodeFrame reads the frame at the start of b and returns its size with the
// padding. The entry's bytes are b's.
func decodeFrame(b []byte, salt uint32) (frame, int, error) {
	if len(b) < frameHead+bodyHead || binary.LittleEndian.Uint32(b) != frameMagic {
		return frame{}, 0, errBadFrame
	}
	n := int(binary.LittleEndian.Uint32(b[8:]))
	if n < bodyHead || n > maxBody || n > len(b)-frameHead {
		return frame{}, 0, errBadFrame
	}
	end := frameHead + n
	if crc32.Update(salt, castagnoli, b[8:end]) != binary.LittleEndian.Uint32(b[4:]) {
		return frame{}, 0, errBadFrame
	}
	body := b[frameHead:end:end]
	ext := int64(binary.LittleEndian.Uint32(body[4:]))
	if ext > int64(n-bodyHead) {
		return frame{}, 0, errBadFrame
	}
	f := frame{batch: binary.LittleEndian.Uint32(b[12:])}
	f.log = raft.Log{
		Index:      binary.LittleEndian.Uint64(b[16:]),
		Term:       binary.LittleEndian.Uint64(b[24:]),
		Type:       raft.LogType(body[0]),
		AppendedAt: fromUnixNano(int64(binary.LittleEndian.Uint64(body[8:]))),
		Data:       body[bodyHead+ext:],
	}
	if ext > 0 {
		f.log.Extensions = body[bodyHead : bodyHead+ext : bodyHead+ext]
	}
	return f, (end + frameAlign - 1) &^ (frameAlign - 1), nil
}

func unixNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromUnixNano(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}

// isZero reports whether b is all zeros: space that was reserved and never
// written.
func isZero(b []byte) bool {
	var zero [4096]byte
	for len(b) > 0 {
		n := min(len(b), len(zero))
		if !bytes.Equal(b[:n], zero[:n]) {
			return false
		}
		b = b[n:]
	}
	return true
}
