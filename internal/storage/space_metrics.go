package storage

import (
	"io/fs"
	"math"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type spaceMetrics struct {
	refused  prometheus.Counter
	released prometheus.Counter
}

func newSpaceMetrics(reg prometheus.Registerer, s *Space) *spaceMetrics {
	auto := promauto.With(reg)
	gauge := func(name, help string, value func() float64) {
		auto.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	gauge("muster_storage_free_bytes", "Space that is left for the data dir: on its file system or below its quota, whichever is less.",
		func() float64 { return float64(s.room.Load()) })
	gauge("muster_storage_refuse_bytes", "Free space below which new writes are refused.",
		func() float64 { return float64(s.marks.Load().refuse) })
	gauge("muster_storage_used_bytes", "What the files of the data dir take, without the reserve.",
		func() float64 { s.mu.Lock(); defer s.mu.Unlock(); return float64(s.used) })
	gauge("muster_storage_reserve_bytes", "Size of the reserve; 0: it was given up, or there is no room for one.",
		func() float64 { return float64(s.ballast.size()) })
	gauge("muster_storage_full_in_seconds", "Time until new writes will be refused, if free space goes on to shrink as in the last ten minutes; +Inf: it does not.",
		s.fullInSeconds)
	gauge("muster_storage_state", "How the data dir is off: 0 well, 1 little space or little soon, 2 new writes are refused.",
		func() float64 { return float64(s.State()) })
	return &spaceMetrics{
		refused: auto.NewCounter(prometheus.CounterOpts{
			Name: "muster_storage_refused_writes_total",
			Help: "Writes that were refused for want of space on this server.",
		}),
		released: auto.NewCounter(prometheus.CounterOpts{
			Name: "muster_storage_reserve_released_total",
			Help: "How often the reserve was given up to a full disk.",
		}),
	}
}

func (s *Space) fullInSeconds() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fullIn == never {
		return math.Inf(1)
	}
	return s.fullIn.Seconds()
}

// statDisk is the operating system's.
type statDisk struct{}

func (statDisk) Size(path string) (total, free int64, ok bool) { return diskSize(path) }

func (statDisk) Usage(path string) (total, largest int64, err error) {
	ballast := filepath.Join(path, ballastFile)
	err = filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || p == ballast {
			return nil // it is gone by now
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		n := blocks(info)
		total += n
		largest = max(largest, n)
		return nil
	})
	return total, largest, err
}
