package local

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/btree"

	"github.com/muster-discovery/muster/internal/check"
	"github.com/muster-discovery/muster/internal/model"
)

// Local is what is registered on this agent. Its methods may be called at the
// same time, also before Run.
type Local struct {
	cfg     Config
	log     *slog.Logger
	sched   *check.Scheduler
	metrics *metrics
	push    *pusher
	follow  *follower
	states  stateWriter
	names   nameLocks
	seq     atomic.Uint64 // number of the last record written

	mu       sync.RWMutex
	node     model.Node
	units    map[string]*unit
	services btree.Map[string, *serviceEntry]
	checks   btree.Map[string, *checkEntry]
	aliases  map[string]map[string]bool // service id (empty: node) to the ids of local alias checks of it
	ports    map[int]int                // ports of the sidecar range in use or reserved, with their number of users
	reapable map[string]bool            // ids of checks that may remove their service
	nodeOwn  map[string]bool            // ids of the checks that concern the node itself
	stored   map[string]bool            // keys of the units that have a record on disk
	overlays map[string]*unit           // stored checks of services from files, until the files are read
	restored map[string]stateRecord     // states from disk that no check has claimed yet
	warm     bool                       // states of probed checks are young enough to be taken over
	loading  bool                       // the tables are being filled from disk
}

// serviceEntry is a service of the tables.
type serviceEntry struct {
	service *model.Service
	token   string
	unit    string
	changed chan struct{}  // closed at the next change; made when someone watches
	synced  *model.Service // what the catalog is known to have; nil: not known
}

// checkEntry is a check of the tables, with the state of its runner.
type checkEntry struct {
	checkDef
	unit       string
	state      *model.Check
	thresholds check.Thresholds
	deadline   time.Time // of a TTL check
	armed      bool      // its deadline is in the schedule
	failingAt  time.Time // since when it is critical; zero: it is not
	synced     *model.Check
	outputDue  time.Time // when an output that the catalog misses must go out; zero: nothing missed
	saveAfter  time.Time // earliest next write of a state that only got older
}

// Open reads what is stored and returns with all of it in place; checks start and
// the catalog is written once Run is called. Definitions from configuration files
// come in through SetFileDefinitions, best before Run.
func Open(cfg Config) (*Local, error) {
	cfg.setDefaults()
	l := &Local{
		cfg:      cfg,
		log:      cfg.Logger,
		sched:    check.NewScheduler(cfg.Checks),
		metrics:  newMetrics(cfg.Registry),
		node:     cfg.Node,
		units:    map[string]*unit{},
		aliases:  map[string]map[string]bool{},
		ports:    map[int]int{},
		reapable: map[string]bool{},
		nodeOwn:  map[string]bool{},
		stored:   map[string]bool{},
		overlays: map[string]*unit{},
		restored: map[string]stateRecord{},
	}
	l.push = newPusher(l)
	l.follow = newFollower(l)
	l.states.init(l)
	if err := l.load(); err != nil {
		return nil, err
	}
	return l, nil
}

// Run runs checks and keeps the catalog up to date until ctx is done. On return
// all check states are stored and nothing runs any more.
func (l *Local) Run(ctx context.Context) error {
	l.forgetUnclaimed(ctx)

	var wg sync.WaitGroup
	wg.Go(func() { _ = l.sched.Run(ctx) })
	wg.Go(func() { l.push.run(ctx) })
	wg.Go(func() { l.follow.run(ctx) })
	wg.Go(func() { l.reap(ctx) })
	// States are written last, so that the final ones are on disk.
	stopped := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.states.run(stopped)
	}()
	wg.Wait()
	close(stopped)
	<-done
	return nil
}

// Sync asks for a full comparison with the catalog now, and for pending writes to
// be tried again at once: a leader is back, or the connection is.
func (l *Local) Sync() { l.push.syncNow() }

// SetNode changes the node's own entry (address, meta) after a reload.
func (l *Local) SetNode(node model.Node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	node.Name = l.node.Name // everything registered hangs on the name
	if sameNode(&node, &l.node) {
		return
	}
	l.node = node
	l.push.nodeChangedLocked()
}
