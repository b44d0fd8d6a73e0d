package cli

import (
	"context"
	"errors"
	"flag"
	"os"
	"time"

	"github.com/muster-discovery/muster/internal/telemetry"
)

var snapshotAgentCommand = &command{
	name:  "snapshot agent",
	short: "Save the state of the servers again and again",
	long: `
Runs in the foreground and saves a snapshot in a local folder at every
interval, until it is interrupted. Several may run: one of them, which holds
a lock, saves; another takes over when it ends or fails. Each registers
itself as a service. With -interval=0 it saves once, without a lock, and ends.

    muster snapshot agent -interval=30m -retain=48 -local-path=/backup

Settings may stand in JSON files, in an object "snapshot_agent" as Consul's
documentation has it; flags win over files. Only local_storage is there: to
keep snapshots elsewhere, copy the files from the folder.`,
	setup: func(f *flags) func([]string) int {
		a := &snapshotAgent{f: f, flagged: defaultAgentSettings(), until: interruptible}
		s := &a.flagged
		f.DurationVar(&s.interval, "interval", s.interval, "`Time` between two snapshots; 0 saves once. Default: 1h.")
		f.IntVar(&s.retain, "retain", s.retain, "`Number` of snapshots to keep in the folder; 0 keeps all. Default: 30.")
		f.StringVar(&s.path, "local-path", s.path, "`Folder` for the snapshots. Default: the working folder.")
		f.StringVar(&s.lockKey, "lock-key", s.lockKey, "`Key` of the lock. Default: muster-snapshot/lock.")
		f.StringVar(&s.service, "service", s.service, "`Name` to register as. Default: muster-snapshot.")
		f.DurationVar(&s.deregisterAfter, "deregister-after", s.deregisterAfter, "`Time` after which the service of an agent that is gone is removed. Default: 72h.")
		f.IntVar(&s.maxFailures, "max-failures", s.maxFailures, "`Number` of failures in a row after which another agent may take over. Default: 3.")
		f.Var((*list)(&a.files), "config-file", "JSON `file` with settings. May be repeated.")
		f.Var((*list)(&a.folders), "config-dir", "`Folder` with such files, read in the order of their names. May be repeated.")
		a.conn = f.connect(true)
		return a.run
	},
}

type snapshotAgent struct {
	f              *flags
	conn           *connection
	flagged        agentSettings // as far as flags say
	files, folders []string
	until          func() (context.Context, context.CancelFunc)
}

func (a *snapshotAgent) run([]string) int {
	c, err := a.settings()
	if err != nil {
		return a.f.fail("muster snapshot agent: %v.", err)
	}
	client, err := a.conn.client()
	if err != nil {
		return a.f.fail("%v", err)
	}
	tel, err := telemetry.New(telemetry.Config{Output: a.f.stdout, Level: c.logLevel})
	if err != nil {
		return a.f.fail("muster snapshot agent: %v.", err)
	}
	s := &saver{client: client, conf: c, log: tel.Logger("snapshot-agent"), query: a.conn.query(), now: time.Now}
	if c.interval == 0 {
		if err := s.save(); err != nil {
			return a.conn.fail("saving a snapshot", err)
		}
		return 0
	}
	ctx, cancel := a.until()
	defer cancel()
	s.run(ctx)
	return 0
}

// settings are the defaults, what files say, and what flags say.
func (a *snapshotAgent) settings() (*agentSettings, error) {
	c := defaultAgentSettings()
	names, err := settingsFiles(a.files, a.folders)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		file, err := readAgentFile(name)
		if err != nil {
			return nil, err
		}
		c.merge(file)
		a.conn.prefer(file)
	}
	a.f.Visit(func(fl *flag.Flag) { c.take(fl.Name, &a.flagged) })
	if a.conn.stale {
		c.stale = true
	}
	a.conn.stale = c.stale
	return &c, c.check()
}

// agentSettings say how the snapshot agent works.
type agentSettings struct {
	interval        time.Duration
	retain          int
	path            string
	lockKey         string
	service         string
	deregisterAfter time.Duration
	maxFailures     int
	stale           bool
	logLevel        string
}

// defaultAgentSettings are Consul's, but for the names.
func defaultAgentSettings() agentSettings {
	return agentSettings{
		interval: time.Hour, retain: 30, path: ".", lockKey: "muster-snapshot/lock",
		service: "muster-snapshot", deregisterAfter: 72 * time.Hour, maxFailures: 3,
	}
}

// take copies what a flag has set.
func (c *agentSettings) take(name string, from *agentSettings) {
	switch name {
	case "interval":
		c.interval = from.interval
	case "retain":
		c.retain = from.retain
	case "local-path":
		c.path = from.path
	case "lock-key":
		c.lockKey = from.lockKey
	case "service":
		c.service = from.service
	case "deregister-after":
		c.deregisterAfter = from.deregisterAfter
	case "max-failures":
		c.maxFailures = from.maxFailures
	}
}

func (c *agentSettings) check() error {
	switch {
	case c.interval < 0, c.interval > 0 && c.interval < time.Second:
		return errors.New("the interval must be 0, or at least 1s")
	case c.retain < 0 || c.maxFailures < 1:
		return errors.New("retain must not be negative, and max-failures at least 1")
	case c.lockKey == "" || c.service == "":
		return errors.New("lock-key and service must not be empty")
	case c.deregisterAfter < time.Minute:
		return errors.New("deregister-after must be at least 1m")
	}
	info, err := os.Stat(c.path)
	if err == nil && !info.IsDir() {
		err = errors.New(c.path + " is no folder")
	}
	return err
}
