package consensus

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// entryFormat is the first byte of every log entry; docs/format/log.md specifies
// what follows it.
const entryFormat = 1

// maxEntryHead is the room for the version and the count.
const maxEntryHead = 1 + binary.MaxVarintLen64

var errEntry = errors.New("malformed log entry")

// entrySize is the length that a command takes in an entry.
func entrySize(command []byte) int { return binary.MaxVarintLen32 + len(command) }

// encodeEntry packs commands into one log entry.
func encodeEntry(commands [][]byte) []byte {
	size := maxEntryHead
	for _, c := range commands {
		size += entrySize(c)
	}
	b := append(make([]byte, 0, size), entryFormat)
	b = binary.AppendUvarint(b, uint64(len(commands)))
	for _, c := range commands {
		b = binary.AppendUvarint(b, uint64(len(c)))
		b = append(b, c...)
	}
	return b
}

// decodeEntry returns the commands of a log entry; they share b's memory.
func decodeEntry(b []byte) ([][]byte, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("%w: it is empty", errEntry)
	}
	if b[0] != entryFormat {
		return nil, fmt.Errorf("log entry has format %d, but this version of Muster knows format %d; run the newer version that wrote it",
			b[0], entryFormat)
	}
	rest := b[1:]
	count, rest, err := uvarint(rest)
	if err != nil {
		return nil, err
	}
	// Each command takes a byte at least; a damaged count must not allocate more.
	if count > uint64(len(rest)) {
		return nil, fmt.Errorf("%w: %d commands in %d bytes", errEntry, count, len(rest))
	}
	commands := make([][]byte, count)
	for i := range commands {
		var n uint64
		if n, rest, err = uvarint(rest); err != nil {
			return nil, err
		}
		if n > uint64(len(rest)) {
			return nil, fmt.Errorf("%w: command of %d bytes in %d", errEntry, n, len(rest))
		}
		commands[i], rest = rest[:n:n], rest[n:]
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%w: %d bytes behind the last command", errEntry, len(rest))
	}
	return commands, nil
}

func uvarint(b []byte) (uint64, []byte, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, fmt.Errorf("%w: bad length", errEntry)
	}
	return v, b[n:], nil
}
