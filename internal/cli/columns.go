package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// columns prints rows with two spaces between columns, as Consul does; nothing
// follows the last one.
func columns(w io.Writer, rows [][]string) {
	var width []int
	for _, r := range rows {
		for i, cell := range r {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, r := range rows {
		var b strings.Builder
		for i, cell := range r {
			b.WriteString(cell)
			if i < len(r)-1 {
				b.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		fmt.Fprintln(w, b.String())
	}
}

// shown is a name as it is, or quoted if it would not stand as one on a terminal:
// names are free, and one may have line ends or escape sequences.
func shown(name string) string {
	notShown := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(name) || strings.TrimSpace(name) != name || strings.HasPrefix(name, `"`) || strings.ContainsFunc(name, notShown) {
		return strconv.Quote(name)
	}
	return name
}

func allShown(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = shown(n)
	}
	return out
}
