package failover

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
)

func TestMessages(t *testing.T) {
	near, far := net.Pipe()
	want := message{Type: typeProbe, Seq: 7, ID: "id", Name: "n1", Addr: "10.0.0.1:8301", Term: 1 << 63, Index: 3, Yes: true, Verdict: verdictDead}
	go func() {
		_ = writeMessage(near, &want)
		_ = near.Close()
	}()
	got, err := readMessage(far)
	if err != nil || *got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := readMessage(far); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if err := writeMessage(near, &message{Name: string(make([]byte, maxFrame))}); !errors.Is(err, errFrame) {
		t.Errorf("oversized message: %v", err)
	}
}

func FuzzReadMessage(f *testing.F) {
	f.Add([]byte("\x00\x10{\"type\":\"hello\"}"))
	f.Add([]byte("\xff\xff"))
	f.Add([]byte("\x00\x02[]"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := readMessage(bytes.NewReader(b))
		if (m == nil) == (err == nil) {
			t.Errorf("%v, %v", m, err)
		}
	})
}
