package failover

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Connections of this package carry frames: two bytes of length, big-endian, and that
// many bytes of JSON. Who has dialed asks, who has accepted answers. A message of a
// type that the other side does not know is answered by a bare answer.
const maxFrame = 4 << 10

// writeTimeout bounds a write: frames are small, so only a peer that does not read
// can hold one up.
const writeTimeout = time.Second

type messageType string

const (
	typeAnswer  messageType = "answer"
	typeHello   messageType = "hello"   // ID, Name: who has dialed
	typeLost    messageType = "lost"    // ID: has your connection to that server ended? Answer: Yes, place
	typeProbe   messageType = "probe"   // Name, ID, Addr: is that node dead? Answer: Verdict
	typeDown    messageType = "down"    // Name, ID, Addr: the servers' verdict is that it is
	typeLeaving messageType = "leaving" // Name, ID, Addr: it takes itself out of the catalog
	typeUp      messageType = "up"      // Name: a sign of life lifts what was said
)

// message is every frame's content; each type uses a few of the fields.
type message struct {
	Type     messageType `json:"type"`
	Seq      uint32      `json:"seq,omitempty"` // of a question, repeated in its answer
	ID       string      `json:"id,omitempty"`
	Name     string      `json:"name,omitempty"`
	Addr     string      `json:"addr,omitempty"`
	Yes      bool        `json:"yes,omitempty"`
	Led      bool        `json:"led,omitempty"`
	Standing bool        `json:"standing,omitempty"`
	Current  uint64      `json:"current,omitempty"`
	Term     uint64      `json:"term,omitempty"`
	Index    uint64      `json:"index,omitempty"`
	Verdict  verdict     `json:"verdict,omitempty"`
}

var errFrame = errors.New("malformed frame")

func writeMessage(conn net.Conn, m *message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(body) > maxFrame {
		return fmt.Errorf("%w: %d bytes", errFrame, len(body))
	}
	frame := append(binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(body)), uint16(len(body))), body...)
	if err := conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err = conn.Write(frame)
	return err
}

func readMessage(r io.Reader) (*message, error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint16(head[:]))
	if n > maxFrame {
		return nil, fmt.Errorf("%w: %d bytes", errFrame, n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, err
	}
	m := new(message)
	if err := json.Unmarshal(body, m); err != nil {
		return nil, fmt.Errorf("%w: %v", errFrame, err)
	}
	return m, nil
}
