package consensus

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// closeTimeout bounds each step of Close that depends on others: peers, and a disk
// that may hang.
const closeTimeout = 2 * time.Second

// Log is a replicated log and this server's part in its cluster. All methods may
// be called at the same time.
type Log struct {
	config    Config
	raft      *raft.Raft
	transport raft.Transport
	stores    *stores
	metrics   *metrics
	batcher   *batcher
	reads     *reads
	nudger    *nudger
	replay    *replay
	novice    *novice // nil: this server had state when it started

	changes chan bool
	leaders signal // the known leader changed
	// leaderless is since when none has been known, in unix nanoseconds; 0: one is.
	leaderless atomic.Int64
	noReads    chan struct{} // closed: read indexes end
	over       chan struct{} // closed: Raft has ended
	followed   sync.WaitGroup

	closing sync.Once
	closed  error
}

// Open restores the machine from the newest snapshot and starts the server. It
// returns before the entries behind the snapshot are applied: that takes a leader.
// The caller closes the machine's dependencies after Close.
func Open(c Config, m Machine) (*Log, error) {
	l := &Log{
		config:  c.withDefaults(),
		changes: make(chan bool, 1),
		noReads: make(chan struct{}),
		over:    make(chan struct{}),
	}
	l.metrics = newMetrics(c.Registry)
	l.metrics.watchDisk(c.Registry, newSlowness(l.config.HeartbeatTimeout*time.Duration(l.config.Multiplier)/3, l.config.Logger))
	l.replay = newReplay(l.config.SnapshotBytes)
	notices := make(chan bool)
	rc, err := l.config.raftConfig(notices)
	if err != nil {
		return nil, err
	}
	if l.stores, err = openStores(&l.config, l.metrics, rc.Logger); err != nil {
		return nil, err
	}
	l.transport = newTransport(&l.config, rc.Logger)
	if err := l.start(rc, machineFSM{m, l.replay, l.metrics}); err != nil {
		return nil, errors.Join(err, l.closeParts())
	}
	l.reads = newReads(l)
	l.nudger = newNudger(l)
	l.batcher = newBatcher(l, l.config.Queue)
	watchQueue(c.Registry, l.batcher)
	go l.reads.run(l.noReads)
	l.followed.Go(func() { l.followLeadership(notices) })
	l.followed.Go(l.snapshotBySize)
	l.observeLeader()
	l.followed.Go(func() { l.nudger.run(l.over) })
	l.tellStranger()
	if err := l.hurry(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// start recovers the cluster or bootstraps a new single server if that is asked for,
// and starts Raft.
func (l *Log) start(rc *raft.Config, fsm raft.FSM) error {
	s := l.stores
	if err := l.recoverCluster(rc, fsm); err != nil {
		return err
	}
	if l.config.Bootstrap {
		self := Server{ID: l.config.NodeID, Addr: string(l.transport.LocalAddr()), Voter: true}
		configuration := raft.Configuration{Servers: []raft.Server{self.raftServer()}}
		err := raft.BootstrapCluster(rc, s.log, s.stable, s.snapshots, l.transport, configuration)
		if err == nil {
			err = s.unmarkNovice()
		}
		if err != nil && !errors.Is(err, raft.ErrCantBootstrap) {
			return fmt.Errorf("bootstrap cluster: %w", err)
		}
	}
	if err := l.guardNovice(rc); err != nil {
		return fmt.Errorf("start raft: %w", err)
	}
	var err error
	if l.raft, err = raft.NewRaft(rc, fsm, s.log, s.stable, s.snapshots, l.transport); err != nil {
		return fmt.Errorf("start raft: %w", err)
	}
	if l.novice != nil {
		l.novice.start()
	}
	return nil
}

// Close stops taking commands, finishes those under way, hands leadership over if
// there is another voter, and stops the server.
func (l *Log) Close() error {
	l.closing.Do(func() { l.closed = l.close() })
	return l.closed
}

func (l *Log) close() error {
	// Raft answers everything it was asked only as long as it runs.
	within(closeTimeout, l.batcher.close)
	if l.IsLeader() && !l.onlyVoter() {
		// Without success the others elect a leader by themselves, only later.
		within(closeTimeout, func() { _ = l.TransferLeadership() })
	}
	close(l.noReads)
	within(closeTimeout, func() { <-l.reads.done })
	ended := within(closeTimeout, func() { _ = l.raft.Shutdown().Error() })
	close(l.over)
	l.followed.Wait()
	if !ended {
		// Its goroutines are still in the stores; to close those under them would
		// only add a second fault.
		return errors.New("stop raft: it did not end in time; is the disk hanging?")
	}
	return l.closeParts()
}

func (l *Log) closeParts() error {
	var err error
	if t, ok := l.transport.(io.Closer); ok {
		err = t.Close()
	}
	return errors.Join(err, l.stores.close())
}

// within waits for f to end, but no longer than limit; f goes on then.
func within(limit time.Duration, f func()) (ended bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// Snapshot writes a snapshot now; if nothing came in since the last one it does
// nothing.
func (l *Log) Snapshot() error {
	err := l.raft.Snapshot().Error()
	if err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) {
		return fmt.Errorf("take snapshot: %w", err)
	}
	return nil
}

// Stats are Raft's figures for operators, under the names that Consul's users know.
func (l *Log) Stats() map[string]string { return l.raft.Stats() }
