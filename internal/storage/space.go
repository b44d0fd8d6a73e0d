package storage

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-discovery/muster/internal/model"
)

// SpaceConfig are the settings of a Space. Zero values take the defaults given here.
type SpaceConfig struct {
	// Quota is how many bytes the data dir may take; 0: as much as there is.
	Quota int64
	// Reserve is the size of the ballast file; 0: see DefaultReserve, below 0: none.
	Reserve int64
	// Node is told in refusals: the full disk may be another server's than the one asked.
	Node     string
	Logger   *slog.Logger
	Registry prometheus.Registerer

	// disk is the file system; tests have their own.
	disk disk
}

// disk is what a Space asks of the file system.
type disk interface {
	// Size is how much there is and how much of it is free; false: not known.
	Size(path string) (total, free int64, ok bool)
	// Usage is what the files below path take, and the largest of them, without the
	// ballast.
	Usage(path string) (total, largest int64, err error)
}

// SpaceState is how a data dir is off.
type SpaceState int32

const (
	SpaceOK      SpaceState = iota
	SpaceWarning            // little is left, or will be soon
	SpaceRefusing
)

func (s SpaceState) String() string { return [...]string{"ok", "warning", "refusing"}[s] }

const (
	// lookEvery is how often free space is asked for. It costs microseconds; between two
	// looks what this process lets in is counted.
	lookEvery = 500 * time.Millisecond
	// usageEvery is how often the files are counted.
	usageEvery = 5 * time.Second
)

// Space watches the space that a data dir has left, holds a reserve, and says when
// writes have to be refused. What was decided is taken back by itself once there is
// space again. All methods may be called at the same time; a nil Space knows of no end.
type Space struct {
	dir *Dir
	cfg SpaceConfig
	m   *spaceMetrics

	state atomic.Int32
	room  atomic.Int64 // free bytes at the last look
	spent atomic.Int64 // let in since then
	marks atomic.Pointer[marks]

	ballast ballast
	looking sync.Mutex // held over a look

	mu       sync.Mutex // guards what follows
	used     int64
	largest  int64
	counted  time.Time // when used and largest were
	forecast forecast
	fullIn   time.Duration
}

// NewSpace begins to watch a data dir, looks once, and makes the reserve. Journals of
// the directory that are opened later use the reserve. The caller runs Run.
func NewSpace(d *Dir, c SpaceConfig) *Space {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.disk == nil {
		c.disk = statDisk{}
	}
	s := &Space{dir: d, cfg: c, fullIn: never}
	s.ballast.path = d.Path(ballastFile)
	s.marks.Store(&marks{})
	s.m = newSpaceMetrics(c.Registry, s)
	d.makeRoom = s.MakeRoom
	s.look(time.Now(), 0)
	return s
}

// Run looks until ctx ends.
func (s *Space) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			s.look(now, 0)
		case <-ctx.Done():
			return nil
		}
	}
}

// State is that of the last look.
func (s *Space) State() SpaceState {
	if s == nil {
		return SpaceOK
	}
	return SpaceState(s.state.Load())
}

// Admit is asked before a write of so many bytes enters the log. The error has the kind
// NoSpace.
func (s *Space) Admit(bytes int) error {
	if s == nil {
		return nil
	}
	marks := s.marks.Load()
	if s.State() != SpaceRefusing {
		if marks.total == 0 || s.room.Load()-s.spent.Add(int64(bytes)) >= marks.refuse {
			return nil
		}
		// By what was let in since the last look the space is used up. It may not be.
		s.look(time.Now(), int64(bytes))
		if s.State() != SpaceRefusing {
			return nil
		}
	}
	s.m.refused.Inc()
	room := s.room.Load()
	return model.Errorf(model.KindNoSpace, "no space for new writes on server %s: %s has %s free, and %s are kept for deregistrations, health and the log; %s; writes are accepted again by themselves then",
		s.cfg.Node, s.dir.path, size(room), size(marks.refuse), s.remedy())
}

func (s *Space) remedy() string {
	if s.cfg.Quota > 0 {
		return "delete keys or services, free space on its disk, or raise storage.quota"
	}
	return "free space on its disk or enlarge it"
}

// MakeRoom gives up the reserve for a write that met a full disk; false: there is none.
// It is made again once there is space.
func (s *Space) MakeRoom() bool {
	if s == nil || !s.ballast.release() {
		return false
	}
	s.m.released.Inc()
	s.cfg.Logger.Error("disk full: the reserve was released, so that this agent can go on", "path", s.dir.path, "remedy", s.remedy())
	return true
}

// look measures, decides whether so many bytes more still fit, and tells of a change.
func (s *Space) look(now time.Time, wanted int64) {
	s.looking.Lock()
	defer s.looking.Unlock()
	total, free, ok := s.cfg.disk.Size(s.dir.path)
	if !ok {
		return
	}
	used, largest := s.usage(now)
	if s.cfg.Quota > 0 {
		total = min(total, s.cfg.Quota)
		free = min(free, s.cfg.Quota-used-s.ballast.size())
	}
	free = max(free, 0)
	m := newMarks(total, largest)
	s.marks.Store(&m)
	s.room.Store(free)
	s.spent.Store(wanted)
	s.reserve(total, free, &m)

	s.mu.Lock()
	s.forecast.add(now, free)
	s.fullIn = s.forecast.until(m.refuse)
	left := s.fullIn
	s.mu.Unlock()
	was := s.State()
	is := m.next(was, free-wanted, left)
	s.state.Store(int32(is))
	if is != was {
		s.tell(was, is, free, &m, left)
	}
}

// reserve makes the ballast where it does not itself bring the end nearer.
func (s *Space) reserve(total, free int64, m *marks) {
	want := s.cfg.Reserve
	if want == 0 {
		want = DefaultReserve(total)
	}
	if want <= 0 || s.ballast.size() > 0 || free-want < m.resume {
		return
	}
	if err := s.ballast.make(want); err != nil {
		s.cfg.Logger.Debug("cannot make the reserve", "err", err) // the next look tries again
		return
	}
	s.room.Add(-want)
}

// usage counts the files now and then.
func (s *Space) usage(now time.Time) (used, largest int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.counted.IsZero() && now.Sub(s.counted) < usageEvery {
		return s.used, s.largest
	}
	// Files come and go meanwhile; what can't be counted is left out.
	if used, largest, err := s.cfg.disk.Usage(s.dir.path); err == nil {
		s.used, s.largest = used, largest
	}
	s.counted = now
	return s.used, s.largest
}

func (s *Space) tell(was, is SpaceState, free int64, m *marks, left time.Duration) {
	args := []any{"path", s.dir.path, "free", size(free), "state", is.String(), "before", was.String()}
	switch is {
	case SpaceRefusing:
		s.cfg.Logger.Error("disk nearly full: new writes are refused, deregistrations and health go on", append(args, "remedy", s.remedy())...)
	case SpaceWarning:
		if left < never {
			args = append(args, "full_in", left.Round(time.Second).String())
		}
		s.cfg.Logger.Warn("disk: space runs out", append(args, "refused_below", size(m.refuse), "remedy", s.remedy())...)
	default:
		s.cfg.Logger.Info("disk: there is space again", args...)
	}
}

// never is a forecast without an end.
const never = time.Duration(math.MaxInt64)

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", n)
}
