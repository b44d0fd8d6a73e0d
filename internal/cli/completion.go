package cli

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// shells are the completion scripts. Each asks the program itself, which knows its
// commands and flags, with the line so far in COMP_LINE.
var shells = map[string]string{
	"bash": `_muster() {
  local IFS=$'\n'
  COMPREPLY=($(COMP_LINE="${COMP_LINE:0:COMP_POINT}" PROGRAM completion candidates))
}
complete -o default -F _muster muster
`,
	"zsh": `#compdef muster
_muster() {
  local -a found
  found=("${(@f)$(COMP_LINE="${(j: :)words[1,CURRENT]}" PROGRAM completion candidates)}")
  compadd -Q -a found
}
compdef _muster muster
`,
	"fish": `complete -c muster -a '(COMP_LINE=(commandline -cp) PROGRAM completion candidates)'
`,
}

// program is this one, as a shell finds it also without PATH.
func program() string {
	path, err := os.Executable()
	if err != nil {
		return "muster"
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// completionOf is the command that completes all, itself among them.
func completionOf(all *[]*command) *command {
	return &command{
		name:  "completion",
		args:  "bash|zsh|fish",
		short: "Print what lets a shell complete commands and flags",
		long:  completionHelp,
		setup: func(f *flags) func([]string) int {
			return func(args []string) int { return complete(f, *all, args) }
		},
	}
}

const completionHelp = `
Prints a script that lets a shell complete the commands and flags of muster.
Load it in the file that the shell reads at its start:

    source <(muster completion bash)

or let "muster -autocomplete-install" do so for bash, zsh and fish, and
"muster -autocomplete-uninstall" undo it.`

func complete(f *flags, all []*command, args []string) int {
	if len(args) != 1 {
		return f.fail("muster completion: name one shell: bash, zsh or fish.")
	}
	if args[0] == "candidates" {
		for _, c := range candidates(all, os.Getenv("COMP_LINE")) {
			fmt.Fprintln(f.stdout, c)
		}
		return 0
	}
	script, ok := shells[args[0]]
	if !ok {
		return f.fail("muster completion: unknown shell %q: want bash, zsh or fish.", args[0])
	}
	fmt.Fprint(f.stdout, strings.ReplaceAll(script, "PROGRAM", program()))
	return 0
}

// candidates are what the last word of a line may become.
func candidates(all []*command, line string) []string {
	words := strings.Fields(line)
	if line == "" || strings.HasSuffix(line, " ") {
		words = append(words, "")
	}
	if len(words) < 2 {
		return nil
	}
	last, before := words[len(words)-1], words[1:len(words)-1]
	var names []string
	if c, ok := commandOf(all, before); ok {
		if strings.HasPrefix(last, "-") {
			names = c.flagNames()
		}
	} else {
		names = nextWords(all, before)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, strings.Replace(last, "--", "-", 1)) })
	slices.Sort(names)
	return slices.Compact(names)
}

// commandOf is the command that the words begin with.
func commandOf(all []*command, words []string) (*command, bool) {
	for _, c := range all {
		own := strings.Fields(c.name)
		if len(words) >= len(own) && slices.Equal(own, words[:len(own)]) {
			return c, true
		}
	}
	return nil, false
}

// nextWords are the words that commands have behind the given ones.
func nextWords(all []*command, before []string) []string {
	var names []string
	for _, c := range all {
		own := strings.Fields(c.name)
		if len(own) > len(before) && slices.Equal(own[:len(before)], before) {
			names = append(names, own[len(before)])
		}
	}
	return names
}

func (c *command) flagNames() []string {
	f := newFlags(c, io.Discard, io.Discard)
	c.setup(f)
	names := []string{"-help"}
	f.VisitAll(func(fl *flag.Flag) {
		if !f.hidden[fl.Name] {
			names = append(names, "-"+fl.Name)
		}
	})
	return names
}
