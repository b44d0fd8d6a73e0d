package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/muster-discovery/muster/internal/version"
)

// captures are what debug can collect.
var captures = []string{"agent", "host", "logs", "members", "metrics", "pprof"}

var debugCommand = &command{
	name:  "debug",
	short: "Collect what helps to find the cause of a problem",
	long: `
Watches an agent for a while and writes what it tells about itself into one
file, muster-debug-TIME.tar.gz: its configuration without secrets, the host,
the members, metrics, the log and, if the agent runs with enable_debug,
profiles. Interrupted, it writes what it has by then.

    muster debug -duration=30s -interval=10s
    muster debug -duration=0 -capture=agent -capture=members

Read the archive before you pass it on: it names your hosts and services.`,
	setup: func(f *flags) func([]string) int {
		d := &debug{until: interruptible, now: time.Now}
		f.DurationVar(&d.duration, "duration", 5*time.Minute, "How long to watch: a `time`; 0 looks once. Default: 5m.")
		f.DurationVar(&d.interval, "interval", 30*time.Second, "`Time` between two looks. Default: 30s.")
		f.Var((*list)(&d.capture), "capture", "`Thing` to collect: "+strings.Join(captures, ", ")+". May be repeated. Default: all.")
		f.StringVar(&d.output, "output", "", "`Path` of the result without its ending. Default: muster-debug-TIME.")
		f.BoolVar(&d.archive, "archive", true, "Write one .tar.gz file; with -archive=false, a folder.")
		d.conn = f.connect(false)
		return d.run
	},
}

// debug is a command under way: what was asked, and what was found.
type debug struct {
	conn               *connection
	duration, interval time.Duration
	capture            list
	output             string
	archive            bool
	until              func() (context.Context, context.CancelFunc)
	now                func() time.Time

	client *api.Client
	mu     sync.Mutex
	files  map[string][]byte
	failed map[string]string // what could not be had, and why
}

func (d *debug) check() error {
	for _, c := range d.capture {
		if c == "cluster" { // Consul's name of before 1.12
			continue
		}
		if !slices.Contains(captures, c) {
			return fmt.Errorf("-capture=%s: want one of %s", c, strings.Join(captures, ", "))
		}
	}
	switch {
	case d.duration < 0:
		return errors.New("-duration must not be negative")
	case d.duration > 0 && d.interval < time.Second:
		return errors.New("-interval must be at least 1s")
	case d.duration > 0 && d.duration < d.interval:
		return errors.New("-duration must be longer than -interval")
	}
	return nil
}

func (d *debug) wants(capture string) bool {
	return len(d.capture) == 0 || slices.Contains(d.capture, capture) || capture == "members" && slices.Contains(d.capture, "cluster")
}

func (d *debug) run([]string) int {
	f := d.conn.f
	if err := d.check(); err != nil {
		return f.fail("muster debug: %v.", err)
	}
	var err error
	if d.client, err = d.conn.client(); err != nil {
		return f.fail("%v", err)
	}
	self, err := d.client.Agent().Self()
	if err != nil {
		return d.conn.fail("asking the agent", err)
	}
	d.files, d.failed = map[string][]byte{}, map[string]string{}
	start := d.now().UTC()
	if d.output == "" {
		d.output = "muster-debug-" + start.Format("2006-01-02T15-04-05Z")
	}
	fmt.Fprintf(f.stdout, "==> Watching the agent at %s for %s, every %s\n", d.conn.addr, d.duration, d.interval)
	ctx, cancel := d.until()
	defer cancel()
	d.watch(ctx, self)
	d.index(start)
	if err := d.write(); err != nil {
		return f.fail("muster debug: %v", err)
	}
	for _, name := range sortedNames(d.failed) {
		fmt.Fprintf(f.stderr, "Missing: %s: %s\n", name, d.failed[name])
	}
	fmt.Fprintf(f.stdout, "Saved debug archive: %s\n", d.result())
	return 0
}

// watch fills files until the duration is over or whole ends.
func (d *debug) watch(whole context.Context, self map[string]map[string]any) {
	debugging, _ := self["DebugConfig"]["EnableDebug"].(bool)
	if d.wants("agent") {
		d.keepJSON("agent.json", self, nil)
	}
	if d.wants("host") {
		host, err := d.client.Agent().Host()
		d.keepJSON("host.json", host, err)
	}
	if d.wants("members") {
		members, err := d.client.Agent().Members(false)
		d.keepJSON("members.json", members, err)
	}
	profiles := d.wants("pprof")
	if profiles && !debugging {
		d.miss("pprof", errors.New("the agent runs without enable_debug"))
		profiles = false
	}
	ctx, cancel := context.WithTimeout(whole, max(d.duration, time.Nanosecond))
	defer cancel()
	var group sync.WaitGroup
	if d.duration > 0 && d.wants("logs") {
		group.Go(func() { d.log(ctx) })
	}
	if d.duration > 0 && profiles {
		seconds := max(1, int(d.duration/time.Second))
		group.Go(func() { d.profile(whole, "profile", "profile.prof", seconds) })
		group.Go(func() { d.profile(whole, "trace", "trace.out", min(seconds, int(d.interval/time.Second))) })
	}
	d.looks(ctx, profiles)
	group.Wait()
}

// looks takes what changes, once an interval.
func (d *debug) looks(ctx context.Context, profiles bool) {
	tick := time.NewTicker(max(d.interval, time.Second))
	defer tick.Stop()
	for n := 1; ; n++ {
		// Without ctx: a look that has begun is finished.
		if d.wants("metrics") {
			metrics, err := d.client.Agent().Metrics()
			d.keepJSON("metrics.json", metrics, err)
		}
		if profiles {
			d.profile(context.Background(), "heap", fmt.Sprintf("%d/heap.prof", n), 0)
			d.profile(context.Background(), "goroutine", fmt.Sprintf("%d/goroutine.prof", n), 0)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// profile keeps a profile of the Go runtime. A CPU profile is only sent when it is
// complete, so one that is interrupted is missing.
func (d *debug) profile(ctx context.Context, name, file string, seconds int) {
	body, err := d.client.Debug().PProf(ctx, name, max(seconds, 1))
	if err != nil {
		d.miss(file, err)
		return
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		d.miss(file, err)
	}
	d.keep(file, data)
}

// log keeps the log of the agent until ctx ends.
func (d *debug) log(ctx context.Context) {
	lines, err := logLines(ctx, d.client, "DEBUG", false)
	if err != nil {
		d.miss("muster.log", err)
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case line := <-lines:
			if line == "" {
				return
			}
			d.keep("muster.log", []byte(line+"\n"))
		}
	}
}

// index tells what is in the archive, and what is not.
func (d *debug) index(start time.Time) {
	d.keepJSON("index.json", struct {
		Version  string
		API      string
		Agent    string
		Begin    time.Time
		End      time.Time
		Interval string
		Duration string
		Missing  map[string]string `json:",omitempty"`
	}{version.Muster, version.API, d.conn.addr, start, d.now().UTC(), d.interval.String(), d.duration.String(), d.failed}, nil)
}

// keepJSON adds a line of JSON to a file.
func (d *debug) keepJSON(file string, v any, err error) {
	var data []byte
	if err == nil {
		data, err = json.Marshal(v)
	}
	if err != nil {
		d.miss(file, err)
		return
	}
	d.keep(file, append(data, '\n'))
}

func (d *debug) keep(file string, data []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files[file] = append(d.files[file], data...)
}

func (d *debug) miss(file string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failed[file] = strings.TrimSpace(err.Error())
}
