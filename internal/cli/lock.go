package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/muster-discovery/muster/internal/child"
)

var lockCommand = &command{
	name:  "lock",
	args:  "PREFIX CHILD...",
	short: "Run a program while holding a lock",
	leads: true,
	long: `
Waits for the lock PREFIX/.lock, runs the child while it is held and gives it
back. With -n above 1 it is a semaphore: up to that many run at once. All who
use a prefix must give the same -n.

The child finds CONSUL_LOCK_HELD=true in its environment, and a fencing token
with the key that it belongs to in MUSTER_FENCING_TOKEN and
MUSTER_FENCING_KEY: a write that carries them as fence and fence-key is
refused once the lock is lost and somebody else has it.

When the lock is lost or can't be confirmed, and on SIGINT and SIGTERM, the
child and what it started get SIGTERM, and SIGKILL 5 seconds later. SIGHUP,
SIGQUIT, SIGUSR1 and SIGUSR2 are handed on.

    muster lock jobs/nightly ./nightly.sh
    muster lock -n=3 -timeout=1m jobs/import ./import.sh

Exit code: 0; 1 if the lock was not taken or was lost, or the child could not
be run; 2 with -child-exit-code if the child failed.`,
	setup: func(f *flags) func([]string) int {
		l := &lock{f: f, until: interruptible}
		f.BoolVar(&l.childCode, "child-exit-code", false, "Exit with 2 if the child fails.")
		f.IntVar(&l.retries, "monitor-retry", 3, "`Number` of tries, one a second, before an agent that answers with errors means that the lock is lost. Default: 3.")
		f.IntVar(&l.limit, "n", 1, "`Number` of holders at a time. Default: 1.")
		f.StringVar(&l.name, "name", "", "`Name` of the session. Default: made of the child.")
		f.BoolVar(&l.stdin, "pass-stdin", false, "Give the child this program's standard input.")
		f.BoolVar(&l.shell, "shell", true, "Run the child in the shell that SHELL names, or /bin/sh.")
		f.DurationVar(&l.timeout, "timeout", 0, "`Time` to wait for the lock. Default: for ever.")
		f.DurationVar(&l.try, "try", 0, "The same as -timeout, by its old name: a `time`.")
		f.BoolVar(&l.verbose, "verbose", false, "Tell what is being done.")
		f.DurationVar(&l.ttl, "session-ttl", 15*time.Second, "`Time` after which a holder that is not heard of loses the lock. Default: 15s.")
		f.DurationVar(&l.delay, "lock-delay", 15*time.Second, "`Time` for which nobody gets a lock that was lost. Default: 15s.")
		l.conn = f.connect(false)
		f.StringVar(&l.conn.datacenter, "datacenter", "", "`Name` of the datacenter with the lock. Default: the agent's own.")
		f.shared["datacenter"] = true
		return l.run
	},
}

// lock is the command under way.
type lock struct {
	f                                *flags
	conn                             *connection
	childCode, stdin, shell, verbose bool
	retries, limit                   int
	name                             string
	timeout, try, ttl, delay         time.Duration
	until                            func() (context.Context, context.CancelFunc)

	prefix   string
	args     []string // of the child
	client   *api.Client
	link     *link
	session  *lockSession
	requests context.Context // of the lock that is held; ends with the session
	lost     <-chan struct{} // closed when the lock is known to be lost
}

// Exit codes besides 0.
const (
	exitFailed      = 1
	exitChildFailed = 2
)

// handBack bounds what is done for good order after the child has ended. The session
// ends by itself in any case.
const handBack = 5 * time.Second

func (l *lock) run(args []string) int {
	if err := l.check(args); err != nil {
		return l.f.fail("muster lock: %v.", err)
	}
	l.link = &link{}
	l.conn.wrap = l.link.wrap
	var err error
	if l.client, err = l.conn.client(); err != nil {
		return l.f.fail("%v", err)
	}
	interrupted, cancel := l.until()
	defer cancel()
	holder, code := l.acquire(interrupted)
	if holder == nil {
		return code
	}
	defer l.release(holder)
	key, token, err := l.fence(holder)
	if err != nil {
		return l.conn.fail("asking for the fencing token", err)
	}
	return l.guard(interrupted, key, token)
}

func (l *lock) check(args []string) error {
	if l.try != 0 && l.timeout != 0 {
		return errors.New("only one of -timeout and -try may be given")
	}
	l.timeout += l.try
	switch {
	case len(args) < 2:
		return errors.New("it takes a PREFIX and a CHILD")
	case strings.Trim(args[0], "/") == "":
		return errors.New("the PREFIX is empty")
	case l.limit < 1:
		return errors.New("-n must be at least 1")
	case l.timeout < 0 || l.ttl <= 0 || l.delay < 0 || l.retries < 0:
		return errors.New("times and -monitor-retry must not be negative")
	}
	l.prefix, l.args = strings.TrimPrefix(args[0], "/"), args[1:]
	if l.name == "" {
		l.name = fmt.Sprintf("muster lock %s for %s", l.prefix, strings.Join(l.args, " "))
	}
	return nil
}

func (l *lock) say(format string, args ...any) {
	if l.verbose {
		fmt.Fprintf(l.f.stdout, format+"\n", args...)
	}
}

// fence is the token of this acquisition with the key that it is of.
func (l *lock) fence(h lockHolder) (key, token string, err error) {
	key = h.key(l.session.id)
	ctx := context.WithValue(l.requests, wantsToken{}, &token)
	pair, _, err := l.client.KV().Get(key, (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx))
	if err != nil {
		return "", "", err
	}
	if pair == nil || pair.Session != l.session.id {
		return "", "", errors.New("the lock was lost at once")
	}
	return key, token, nil // a Consul agent has none
}

// command is the child, not yet started.
func (l *lock) command(key, token string) *exec.Cmd {
	if l.shell {
		return l.furnish(child.Shell(strings.Join(l.args, " ")), key, token)
	}
	return l.furnish(exec.Command(l.args[0], l.args[1:]...), key, token)
}

// release gives back the lock and removes its key if nobody else wants it.
func (l *lock) release(h lockHolder) {
	ctx, cancel := context.WithTimeout(context.Background(), handBack)
	defer cancel()
	l.session.stop() // a renewal must not come after the end
	l.link.use(ctx)
	l.say("Releasing the lock at %s", path.Join(l.prefix, api.DefaultSemaphoreKey))
	if err := h.giveBack(); err != nil {
		l.say("The lock was not given back: %v", err)
	}
	l.session.destroy()
	if err := h.cleanUp(); err != nil && !errors.Is(err, api.ErrLockInUse) && !errors.Is(err, api.ErrSemaphoreInUse) {
		l.say("The key of the lock stays: %v", err)
	}
}
