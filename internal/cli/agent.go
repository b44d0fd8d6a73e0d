package cli

import (
	"bytes"
	"context"
	"os"
	"strconv"

	"github.com/muster-discovery/muster/internal/agent"
	"github.com/muster-discovery/muster/internal/config"
	"github.com/muster-discovery/muster/internal/telemetry"
	"github.com/muster-discovery/muster/internal/wire"
)

var agentCommand = &command{
	name:  "agent",
	short: "Run an agent",
	long: `
Runs an agent in the foreground until it is told to stop.

One server in memory, for trying out:

    muster agent -dev

One of three servers:

    muster agent -server -bootstrap-expect=3 -data-dir=/var/lib/muster \
        -retry-join=10.0.0.1

Flags override files. SIGHUP reads the files again; SIGINT and SIGTERM stop
the agent, a second one at once.

Exit code: 0 after an orderly stop, 1 otherwise.`,
	setup: func(f *flags) func([]string) int {
		options := agentOptions(f)
		return func([]string) int {
			o := options()
			o.DecodeService, o.DecodeCheck = wire.DecodeServiceDefinition, wire.DecodeCheckDefinition
			o.CheckWatch = checkWatch
			p := &process{f: f, options: o, run: runAgent, signals: osSignals, exit: os.Exit}
			return p.start()
		}
	},
}

// launch is what an agent is started with, and running what it says once it
// listens. They keep the rest of this package free of package agent.
type launch struct {
	cfg     *config.Config
	tel     *telemetry.Telemetry
	reload  func() (*config.Config, error)
	started func(running)
}

type running interface {
	Reload(ctx context.Context) error
}

// errLeave, as the cause of the end, makes the agent leave the cluster.
var errLeave = agent.ErrLeave

func runAgent(ctx context.Context, l launch) error {
	return agent.Run(ctx, agent.Options{
		Config: l.cfg, Telemetry: l.tel, Reload: l.reload,
		Started: func(a *agent.Agent) { l.started(a) },
	})
}

// process is the agent as a process: configuration, log, signals, exit code.
type process struct {
	f       *flags
	options config.Options
	run     func(context.Context, launch) error
	signals func() (c <-chan os.Signal, stop func())
	exit    func(int)

	tel  *telemetry.Telemetry
	read string // fingerprint of the files before they were read
}

func (p *process) start() int {
	p.read = fingerprint(p.options.Paths)
	cfg, warnings, err := config.Load(p.options)
	if err != nil {
		return p.f.fail("%v", err)
	}
	file, err := openLogFile(cfg.Log)
	if err != nil {
		return p.f.fail("open the log file: %v", err)
	}
	defer func() { _ = file.Close() }() // nothing left to do about it at the end
	output := p.f.stdout
	if file != nil {
		output = tee{p.f.stdout, file}
	}
	p.tel, err = telemetry.New(telemetry.Config{
		Level: cfg.Log.Level, JSON: cfg.Log.JSON, Output: output,
		Prefix: cfg.Telemetry.MetricsPrefix, DisableHostname: cfg.Telemetry.DisableHostname,
	})
	if err != nil {
		return p.f.fail("%v", err)
	}
	p.warn(warnings)
	remove, err := writePID(cfg.Storage.PIDFile)
	if err != nil {
		return p.f.fail("write the pid file: %v", err)
	}
	defer remove()

	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	started := make(chan running, 1)
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		p.watchSignals(ctx, cancel, cfg, started, ended)
	}()
	err = p.run(ctx, launch{
		cfg: cfg, tel: p.tel, reload: p.reload,
		started: func(r running) {
			if !cfg.Log.JSON { // every line must be JSON then
				var b bytes.Buffer
				banner(&b, cfg)
				_ = p.tel.Print(b.Bytes()) // standard output may be closed; the agent runs all the same
			}
			started <- r
		},
	})
	close(ended)
	cancel(nil)
	<-done
	if err != nil {
		return p.f.fail("muster agent: %v", err)
	}
	return 0
}

// reload reads the configuration again; a mistake leaves the old one in force.
func (p *process) reload() (*config.Config, error) {
	cfg, warnings, err := config.Load(p.options)
	p.warn(warnings)
	return cfg, err
}

func (p *process) warn(warnings []config.Warning) {
	log := p.tel.Logger("agent.config")
	for _, w := range warnings {
		log.Warn(w.Text, "key", w.Key, "at", w.Place.String())
	}
}

// writePID writes the process id and returns what removes the file again.
func writePID(file string) (remove func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	if err := os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
		return nil, err
	}
	return func() { _ = os.Remove(file) }, nil // nothing left to do about it at the end
}
