package consensus

import (
	"bytes"
	"encoding/hex"
	"io"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/muster-discovery/muster/internal/fsm"
)

// The bytes of format 1. If this test fails, the format has changed: give it a new
// number, and keep reading the old one.
func TestEntryGoldenBytes(t *testing.T) {
	got := hex.EncodeToString(encodeEntry([][]byte{[]byte("abc"), nil, bytes.Repeat([]byte("x"), 200)}))
	want := "01" + "03" + "03616263" + "00" + "c801" + strings.Repeat("78", 200)
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDecodeEntryRefuses(t *testing.T) {
	for name, b := range map[string]string{
		"it is empty":   "",
		"format 2":      "\x02\x00",
		"bad length":    "\x01",
		"commands in":   "\x01\xff\xff\xff\xff\x0f",
		"of 5 bytes":    "\x01\x01\x05abc",
		"behind":        "\x01\x01\x01ab",
		"newer version": "\xff",
	} {
		if _, err := decodeEntry([]byte(b)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", b, err)
		}
	}
}

func FuzzDecodeEntry(f *testing.F) {
	f.Add(encodeEntry(nil))
	f.Add(encodeEntry([][]byte{[]byte("a"), nil, bytes.Repeat([]byte("b"), 300)}))
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		commands, err := decodeEntry(b)
		if err != nil {
			return
		}
		again, err := decodeEntry(encodeEntry(commands))
		if err != nil || len(again) != len(commands) {
			t.Fatalf("%d commands, then %d, %v", len(commands), len(again), err)
		}
		for i := range again {
			if !bytes.Equal(again[i], commands[i]) {
				t.Errorf("command %d differs", i)
			}
		}
	})
}

// What the machine can't be sure of stops the process, with the entry named.
func TestMachinePanics(t *testing.T) {
	tests := map[string]struct {
		machine Machine
		data    []byte
	}{
		"entry 7 of term 3: log entry has format 9": {&listMachine{}, []byte{9}},
		"entry 7 of term 3: malformed":              {&listMachine{}, []byte{1, 5}},
		"entry 7 of term 3: 0 results":              {muteMachine{}, encodeEntry([][]byte{nil})},
	}
	for want, tt := range tests {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, want) {
					t.Errorf("panic %q, want %q", text, want)
				}
			}()
			machineFSM{Machine: tt.machine, metrics: newMetrics(nil)}.Apply(&raft.Log{Index: 7, Term: 3, Data: tt.data})
		}()
	}
}

type muteMachine struct{}

func (muteMachine) Apply([][]byte) []fsm.Result    { return nil }
func (muteMachine) Snapshot() (io.WriterTo, error) { return nil, io.ErrUnexpectedEOF }
func (muteMachine) Restore(io.Reader) error        { return nil }
