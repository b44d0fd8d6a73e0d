package cli

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/muster-discovery/muster/internal/wire"
)

var kvDiffCommand = &command{
	name:  "kv diff",
	args:  "KEY [REVISION [REVISION]]",
	short: "Compare two revisions of a key",
	long: `
Prints what changed between two revisions of a key, given by their indexes: as
a unified diff if both are text, else their sizes and checksums. Without the
second one, the present value is compared; without both, the present value
with the one before it.

    muster kv diff app/config
    muster kv diff app/config 1234 1300`,
	setup: func(f *flags) func([]string) int {
		conn := f.connect(true)
		return func(args []string) int { return kvDiff(conn, args) }
	},
}

func kvDiff(conn *connection, args []string) int {
	f := conn.f
	key, err := oneKey(args[:min(1, len(args))], false)
	if err == nil && len(args) > 3 {
		err = fmt.Errorf("it takes a KEY and two revisions, not %d arguments", len(args))
	}
	if err != nil {
		return f.fail("muster kv diff: %v.", err)
	}
	list, code := conn.revisions(key, nil)
	if list == nil {
		return code
	}
	from, to, err := compared(list, args[1:])
	if err != nil {
		return f.fail("muster kv diff: %v.", err)
	}
	printDiff(f, key, from, to)
	return 0
}

// compared finds the two revisions that the arguments name.
func compared(list []wire.Revision, args []string) (from, to *wire.Revision, err error) {
	to = &list[0]
	if len(args) == 0 {
		if len(list) == 1 {
			return nil, nil, fmt.Errorf("only one revision is kept, that of index %d", to.Index)
		}
		return &list[1], to, nil
	}
	var found [2]*wire.Revision
	for i, a := range args {
		index, err := strconv.ParseUint(a, 10, 64)
		if err != nil {
			return nil, nil, fmt.Errorf("%q is not the index of a revision", a)
		}
		if found[i], err = revisionAt(list, index); err != nil {
			return nil, nil, err
		}
	}
	if found[1] != nil {
		to = found[1]
	}
	return found[0], to, nil
}

func printDiff(f *flags, key string, from, to *wire.Revision) {
	w := f.stdout
	if from.Flags != to.Flags {
		fmt.Fprintf(w, "Flags: %d, then %d\n", from.Flags, to.Flags)
	}
	if !isText(from.Value) || !isText(to.Value) {
		for _, r := range []*wire.Revision{from, to} {
			fmt.Fprintf(w, "%s: %s\n", revisionName(key, r), binarySummary(r))
		}
		return
	}
	if bytes.Equal(from.Value, to.Value) && from.Deleted == to.Deleted {
		fmt.Fprintf(w, "The values are the same\n")
		return
	}
	fmt.Fprintf(w, "--- %s\n+++ %s\n", revisionName(key, from), revisionName(key, to))
	unified(w, diffLines(textLines(from.Value), textLines(to.Value)))
}

func revisionName(key string, r *wire.Revision) string {
	name := fmt.Sprintf("%s\t%d %s", shown(key), r.Index, revisionTime(r))
	if r.Deleted {
		name += " (deleted)"
	}
	return name
}

func binarySummary(r *wire.Revision) string {
	if r.Deleted {
		return "-"
	}
	return fmt.Sprintf("%d bytes, SHA-256 %x", len(r.Value), sha256.Sum256(r.Value))
}

// isText is whether a value can be shown: no terminal should be given anything else.
func isText(b []byte) bool {
	return utf8.Valid(b) && !bytes.ContainsFunc(b, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f || 0x80 <= r && r < 0xa0
	})
}

// textLines splits text into lines, which keep their ends, so that a missing last one
// is a difference.
func textLines(b []byte) (lines []string) {
	for line := range strings.Lines(string(b)) {
		lines = append(lines, line)
	}
	return lines
}
