package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// mark is at the end of each line that we write into a file of the user, so that we
// find it again.
const mark = " # muster completion"

// startFiles are what shells read at their start, below the home folder, and the
// line that loads the completion.
var startFiles = []struct {
	shell, file, line string
	ours              bool // the file is only for us: made, and removed as a whole
}{
	{"bash", ".bashrc", `source <(PROGRAM completion bash)`, false},
	{"zsh", ".zshrc", `autoload -U compinit && compinit && source <(PROGRAM completion zsh)`, false},
	{"fish", ".config/fish/completions/muster.fish", `PROGRAM completion fish | source`, true},
}

// autocomplete installs or removes the completion of the shells that the user has.
func autocomplete(install bool, stdout, stderr io.Writer) int {
	home, err := os.UserHomeDir()
	if err != nil {
		fmt.Fprintf(stderr, "muster: %v\n", err)
		return 1
	}
	changed := 0
	for _, s := range startFiles {
		file := filepath.Join(home, s.file)
		did, err := removeMarked(file, s.ours)
		if err == nil && install && present(file, s.ours) {
			did, err = true, appendLine(file, strings.ReplaceAll(s.line, "PROGRAM", program())+mark)
		}
		if err != nil {
			fmt.Fprintf(stderr, "muster: completion of %s: %v\n", s.shell, err)
			return 1
		}
		if did {
			changed++
			fmt.Fprintf(stdout, "%s: %s\n", s.shell, file)
		}
	}
	if changed == 0 && install {
		fmt.Fprintln(stderr, "muster: no start file of bash, zsh or fish found; see muster completion -help.")
		return 1
	}
	return 0
}

// present says whether the user has the shell: its file, or the folder for ours.
func present(file string, ours bool) bool {
	if ours {
		file = filepath.Dir(filepath.Dir(file))
	}
	_, err := os.Stat(file)
	return err == nil
}

func appendLine(file, line string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(old) > 0 && old[len(old)-1] != '\n' {
		line = "\n" + line
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(line + "\n"); err != nil {
		_ = f.Close() // the first error is the one to tell
		return err
	}
	return f.Close()
}

// removeMarked takes our lines out of a file again, and says whether there were any.
func removeMarked(file string, ours bool) (bool, error) {
	old, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var kept strings.Builder
	for line := range strings.Lines(string(old)) {
		if !strings.HasSuffix(strings.TrimRight(line, "\n"), mark) {
			kept.WriteString(line)
		}
	}
	switch {
	case kept.Len() == len(old):
		return false, nil
	case ours && kept.Len() == 0:
		return true, os.Remove(file)
	}
	info, err := os.Stat(file)
	if err != nil {
		return false, err
	}
	return true, os.WriteFile(file, []byte(kept.String()), info.Mode().Perm())
}
