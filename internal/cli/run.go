package cli

import (
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/muster-discovery/muster/internal/config"
	"github.com/muster-discovery/muster/internal/version"
)

// command is one command or, with a name of two words, a subcommand.
type command struct {
	name  string
	args  string // after the options in the usage line
	short string // one line for lists
	long  string // paragraphs for its help, each line at most 76 wide
	leads bool   // its arguments are another program's command line
	// setup declares the flags and returns what to do after they are parsed.
	setup func(*flags) func(args []string) int
}

func commands() []*command {
	all := []*command{
		agentCommand, membersCommand, versionCommand, validateCommand,
		servicesRegisterCommand, servicesDeregisterCommand,
		kvGetCommand, kvPutCommand, kvDeleteCommand, kvExportCommand, kvImportCommand,
		kvHistoryCommand, kvDiffCommand, kvRestoreCommand,
		importConsulCommand, importFileCommand, exportCommand, watchCommand, lockCommand,
		eventCommand, rttCommand,
		sessionCreateCommand, sessionListCommand, sessionInfoCommand, sessionRenewCommand, sessionDestroyCommand,
		queryListCommand, queryReadCommand, queryCreateCommand, queryUpdateCommand, queryDeleteCommand, queryExecuteCommand, queryExplainCommand,
		catalogDatacentersCommand, catalogNodesCommand, catalogServicesCommand,
		leaveCommand, reloadCommand, infoCommand, maintCommand,
		joinCommand, forceLeaveCommand, monitorCommand, debugCommand,
		keygenCommand, keyringCommand,
		snapshotSaveCommand, snapshotRestoreCommand, snapshotInspectCommand, snapshotVerifyCommand, snapshotAgentCommand,
		raftListCommand, raftRemoveCommand, raftTransferCommand,
		autopilotGetCommand, autopilotSetCommand, autopilotStateCommand,
	}
	all = append(all, completionOf(&all))
	return all
}

// families are the first words of subcommands.
var families = map[string]string{
	"operator":           "Look after the servers",
	"operator raft":      "Show and change who takes part in consensus",
	"operator autopilot": "Show and change how the servers look after themselves",
	"services":           "Register and deregister services",
	"catalog":            "Look into the catalog",
	"kv":                 "Read and write keys",
	"session":            "Look after sessions, which hold locks",
	"query":              "Keep and run prepared queries",
	"snapshot":           "Save and restore the state of the servers",
	"import":             "Bring in what another registry has",
}

// Run executes the command line and returns the exit code of the process.
func Run(args []string, stdout, stderr io.Writer) int {
	all := commands()
	if len(args) == 0 {
		overview(stderr, all)
		return 1
	}
	first, rest := args[0], args[1:]
	switch first {
	case "help", "-h", "-help", "--help":
		if len(rest) == 0 {
			overview(stdout, all)
			return 0
		}
		return Run(append(rest, "-help"), stdout, stderr)
	case "-v", "-version", "--version":
		first = "version"
	case "-autocomplete-install", "--autocomplete-install":
		return autocomplete(true, stdout, stderr)
	case "-autocomplete-uninstall", "--autocomplete-uninstall":
		return autocomplete(false, stdout, stderr)
	}
	if _, ok := families[first]; ok {
		return runFamily(first, rest, all, stdout, stderr)
	}
	for _, c := range all {
		if c.name == first {
			return c.run(rest, stdout, stderr)
		}
	}
	unknown(stderr, "", first, all)
	return 1
}

func runFamily(family string, args []string, all []*command, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		if sub := family + " " + args[0]; families[sub] != "" {
			return runFamily(sub, args[1:], all, stdout, stderr)
		}
		for _, c := range all {
			if c.name == family+" "+args[0] {
				return c.run(args[1:], stdout, stderr)
			}
		}
	}
	switch {
	case len(args) == 0:
		familyHelp(stderr, family, all)
		return 1
	case isHelp(args[0]):
		familyHelp(stdout, family, all)
		return 0
	}
	unknown(stderr, family+" ", args[0], all)
	return 1
}

func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

func (c *command) run(args []string, stdout, stderr io.Writer) int {
	f := newFlags(c, stdout, stderr)
	do := c.setup(f)
	rest, code, ok := f.parse(args)
	if !ok {
		return code
	}
	if c.args == "" && len(rest) > 0 {
		return f.fail("muster %s: unexpected argument %q. Options begin with a dash; see muster %s -help.", c.name, rest[0], c.name)
	}
	return do(rest)
}

// unknown tells that there is no such command, and which one may be meant.
func unknown(w io.Writer, family, name string, all []*command) {
	var names []string
	for _, c := range all {
		if short, ok := strings.CutPrefix(c.name, family); ok {
			first, _, _ := strings.Cut(short, " ")
			names = append(names, first)
		}
	}
	fmt.Fprintf(w, "Unknown command %q.", family+name)
	if close := config.Closest(name, names); close != "" {
		fmt.Fprintf(w, " Did you mean %q?", family+close)
	}
	fmt.Fprintf(w, " See muster help.\n")
}

func overview(w io.Writer, all []*command) {
	fmt.Fprintf(w, "Muster %s: service discovery that speaks Consul's API (%s).\n\nUsage: muster <command> [options] [arguments]\n\nCommands:\n", version.Muster, version.API)
	lines := map[string]string{}
	for _, c := range all {
		if family, _, sub := strings.Cut(c.name, " "); sub {
			lines[family] = families[family]
			continue
		}
		lines[c.name] = c.short
	}
	table(w, lines)
	fmt.Fprint(w, "\nmuster <command> -help explains a command. Try: muster agent -dev\n")
}

func familyHelp(w io.Writer, family string, all []*command) {
	fmt.Fprintf(w, "Usage: muster %s <subcommand> [options] [arguments]\n\n  %s.\n\nSubcommands:\n", family, families[family])
	lines := map[string]string{}
	for _, c := range all {
		sub, ok := strings.CutPrefix(c.name, family+" ")
		if first, _, nested := strings.Cut(sub, " "); ok && nested {
			lines[first] = families[family+" "+first]
		} else if ok {
			lines[sub] = c.short
		}
	}
	table(w, lines)
}

func table(w io.Writer, lines map[string]string) {
	names := make([]string, 0, len(lines))
	for n := range lines {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Fprintf(w, "  %-12s  %s\n", n, lines[n])
	}
}
