package cli

import (
	"fmt"
	"io"
	"strings"
)

// edit is one line of a comparison: ' ' in both, '-' only before, '+' only after.
type edit struct {
	op   byte
	line string
}

// maxCells bounds the table of a comparison to 16 MB. Texts that differ in more than
// that, some 2,000 lines, count as replaced.
const maxCells = 4 << 20

// diffLines compares two texts. What is the same at both ends is set aside first.
func diffLines(a, b []string) []edit {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	edits := edited(nil, ' ', a[:head])
	edits = diffMiddle(edits, a[head:len(a)-tail], b[head:len(b)-tail])
	return edited(edits, ' ', a[len(a)-tail:])
}

func edited(to []edit, op byte, lines []string) []edit {
	for _, l := range lines {
		to = append(to, edit{op, l})
	}
	return to
}

// diffMiddle follows a longest common subsequence. Where there is a choice, what goes
// comes before what is new.
func diffMiddle(edits []edit, a, b []string) []edit {
	width := len(b) + 1
	if len(a) > 0 && width > maxCells/len(a) {
		return edited(edited(edits, '-', a), '+', b)
	}
	common := make([]int32, (len(a)+1)*width) // of the rest from a place in each
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			edits = append(edits, edit{' ', a[i]})
			i, j = i+1, j+1
		case common[(i+1)*width+j] >= common[i*width+j+1]:
			edits = append(edits, edit{'-', a[i]})
			i++
		default:
			edits = append(edits, edit{'+', b[j]})
			j++
		}
	}
	return edited(edited(edits, '-', a[i:]), '+', b[j:])
}

// diffContext is the number of unchanged lines around a change.
const diffContext = 3

// unified prints a comparison as diff -u does.
func unified(w io.Writer, edits []edit) {
	for at := 0; at < len(edits); {
		first := nextChange(edits, at)
		if first == len(edits) {
			return
		}
		last := first
		for next := first; next < len(edits) && next-last <= 2*diffContext+1; next = nextChange(edits, next+1) {
			last = next
		}
		from, to := max(first-diffContext, at), min(last+1+diffContext, len(edits))
		hunk(w, edits, from, to)
		at = to
	}
}

func nextChange(edits []edit, at int) int {
	for at < len(edits) && edits[at].op == ' ' {
		at++
	}
	return at
}

func hunk(w io.Writer, edits []edit, from, to int) {
	oldAt, newAt := countLines(edits[:from])
	oldLen, newLen := countLines(edits[from:to])
	fmt.Fprintf(w, "@@ -%s +%s @@\n", lineRange(oldAt, oldLen), lineRange(newAt, newLen))
	for _, e := range edits[from:to] {
		fmt.Fprintf(w, "%c%s", e.op, e.line)
		if !strings.HasSuffix(e.line, "\n") {
			fmt.Fprint(w, "\n\\ No newline at end of file\n")
		}
	}
}

func countLines(edits []edit) (old, now int) {
	for _, e := range edits {
		if e.op != '+' {
			old++
		}
		if e.op != '-' {
			now++
		}
	}
	return old, now
}

func lineRange(before, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", before)
	case 1:
		return fmt.Sprint(before + 1)
	}
	return fmt.Sprintf("%d,%d", before+1, n)
}
