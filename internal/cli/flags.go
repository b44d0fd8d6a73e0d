package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/muster-discovery/muster/internal/config"
)

// flags are a command's flags and its outputs.
type flags struct {
	*flag.FlagSet
	cmd            *command
	stdout, stderr io.Writer
	shared         map[string]bool // flags that say which agent to ask
	hidden         map[string]bool // flags that are only there to be refused
}

func newFlags(c *command, stdout, stderr io.Writer) *flags {
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // what went wrong is told once, by parse
	return &flags{FlagSet: fs, cmd: c, stdout: stdout, stderr: stderr, shared: map[string]bool{}, hidden: map[string]bool{}}
}

// fail prints a message and returns exit code 1.
func (f *flags) fail(format string, args ...any) int {
	fmt.Fprintf(f.stderr, format+"\n", args...)
	return 1
}

// parse returns the arguments behind the flags. If ok is false the command is over
// with the given code.
func (f *flags) parse(args []string) (rest []string, code int, ok bool) {
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		f.help(f.stdout)
		return nil, 0, false
	case err != nil:
		f.mistake(err)
		return nil, 1, false
	}
	for _, a := range f.Args() {
		if f.cmd.leads {
			break
		}
		if strings.HasPrefix(a, "-") && a != "-" && f.Lookup(strings.TrimLeft(strings.SplitN(a, "=", 2)[0], "-")) != nil {
			return nil, f.fail("muster %s: %s must stand before the arguments.", f.cmd.name, a), false
		}
	}
	return f.Args(), 0, true
}

func (f *flags) mistake(err error) {
	text := err.Error()
	name, unknown := strings.CutPrefix(text, "flag provided but not defined: -")
	if !unknown {
		f.fail("muster %s: %s.", f.cmd.name, text)
		return
	}
	var names []string
	f.VisitAll(func(fl *flag.Flag) {
		if !f.hidden[fl.Name] {
			names = append(names, fl.Name)
		}
	})
	text = fmt.Sprintf("muster %s: unknown flag -%s.", f.cmd.name, name)
	if close := config.Closest(name, names); close != "" {
		text += fmt.Sprintf(" Did you mean -%s?", close)
	}
	f.fail("%s See muster %s -help.", text, f.cmd.name)
}

func (f *flags) help(w io.Writer) {
	usage := "muster " + f.cmd.name + " [options]"
	if f.cmd.args != "" {
		usage += " " + f.cmd.args
	}
	fmt.Fprintf(w, "Usage: %s\n\n", usage)
	for line := range strings.Lines(strings.TrimSpace(f.cmd.long)) {
		fmt.Fprint(w, indent(line, "  "))
	}
	fmt.Fprintln(w)
	f.list(w, "Options", func(name string) bool { return !f.shared[name] })
	f.list(w, "Options to reach an agent", func(name string) bool { return f.shared[name] })
}

func indent(line, by string) string {
	if strings.TrimSpace(line) == "" {
		return line
	}
	return by + line
}

func (f *flags) list(w io.Writer, title string, wanted func(string) bool) {
	f.VisitAll(func(fl *flag.Flag) {
		if f.hidden[fl.Name] || !wanted(fl.Name) {
			return
		}
		if title != "" {
			fmt.Fprintf(w, "\n%s:\n\n", title)
			title = ""
		}
		value, text := flag.UnquoteUsage(fl)
		if value != "" {
			if value != strings.ToUpper(value) { // UUID stays
				value = strings.ToLower(value[:1]) + value[1:]
			}
			value = "=<" + value + ">"
		}
		fmt.Fprintf(w, "  -%s%s\n", fl.Name, value)
		for _, line := range wrap(text, 72) {
			fmt.Fprintf(w, "      %s\n", line)
		}
	})
}

// wrap breaks a text into lines of at most width bytes.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(s string) error {
	*l = append(*l, s)
	return nil
}

// pairs is a repeatable flag of the form key=value.
type pairs map[string]string

func (p *pairs) String() string { return "" }

func (p *pairs) Set(s string) error {
	k, v, ok := strings.Cut(s, "=")
	if !ok || k == "" {
		return errors.New("want key=value")
	}
	if *p == nil {
		*p = pairs{}
	}
	(*p)[k] = v
	return nil
}
