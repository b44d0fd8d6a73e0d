package wal

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"reflect"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// sum puts a header's checksum right.
func sum(h []byte) {
	binary.LittleEndian.PutUint32(h[24:], crc32.Checksum(h[:24], castagnoli))
}

// The bytes of format 1. If this test fails, the format has changed: give it a new
// number, and keep reading the old one.
func TestGoldenBytes(t *testing.T) {
	h := header{salt: 0x01020304, first: 7}
	const wantHeader = "4d555357414c0001" + "04030201" + "00000000" + "0700000000000000" + "6bda6742" + "00000000"
	if got := hex.EncodeToString(h.encode()); got != wantHeader {
		t.Errorf("header\n%s, want\n%s", got, wantHeader)
	}
	frame := appendFrame(nil, h.salt, 2, &raft.Log{
		Index: 9, Term: 3, Type: raft.LogConfiguration, Data: []byte("data"), Extensions: []byte("ex"), AppendedAt: time.Unix(0, 5),
	})
	const wantFrame = "4d53574c" + "7fb120f2" + "16000000" + "02000000" + "0900000000000000" + "0300000000000000" +
		"05000000" + "02000000" + "0500000000000000" + "6578" + "64617461" + "0000"
	if got := hex.EncodeToString(frame); got != wantFrame {
		t.Errorf("frame\n%s, want\n%s", got, wantFrame)
	}
}

func FuzzDecodeFrame(f *testing.F) {
	f.Add(appendFrame(nil, 9, 0, &raft.Log{Index: 1, Term: 1, Data: []byte("data"), Extensions: []byte("ext")}))
	f.Add(appendFrame(nil, 9, 3, &raft.Log{Index: 1 << 60, AppendedAt: time.Unix(1, 1)}))
	f.Fuzz(func(t *testing.T, b []byte) {
		// A right checksum lets the fuzzer reach what is behind it.
		if len(b) >= frameHead {
			n := int64(frameHead) + int64(binary.LittleEndian.Uint32(b[8:]))
			if n <= int64(len(b)) {
				binary.LittleEndian.PutUint32(b[4:], crc32.Update(9, castagnoli, b[8:n]))
			}
		}
		got, n, err := decodeFrame(b, 9)
		if err != nil {
			return
		}
		again := appendFrame(nil, 9, got.batch, &got.log)
		if len(again) != n {
			t.Fatalf("size %d, then %d", n, len(again))
		}
		second, _, err := decodeFrame(again, 9)
		if err != nil || !reflect.DeepEqual(second, got) {
			t.Fatalf("%+v, then %+v, %v", got, second, err)
		}
	})
}

func FuzzDecodeHeader(f *testing.F) {
	f.Add(header{salt: 1, first: 2}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= headerSize {
			sum(b)
		}
		if h, err := decodeHeader(b); err == nil {
			if again, err := decodeHeader(h.encode()); err != nil || again != h {
				t.Fatalf("%+v, then %+v, %v", h, again, err)
			}
		}
	})
}
