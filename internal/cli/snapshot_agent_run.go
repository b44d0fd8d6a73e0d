package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/muster-discovery/muster/internal/retry"
)

// saver saves snapshots, while it holds the lock.
type saver struct {
	client *api.Client
	conf   *agentSettings
	query  *api.QueryOptions
	log    *slog.Logger
	now    func() time.Time
	health agentService
}

// run takes turns with other agents until ctx ends.
func (s *saver) run(ctx context.Context) {
	s.log.Info("snapshot agent running", "path", s.conf.path, "interval", s.conf.interval, "retain", s.conf.retain)
	s.health = agentService{client: s.client, conf: s.conf, log: s.log}
	alive := make(chan struct{})
	go func() {
		defer close(alive)
		s.health.run(ctx)
	}()
	defer func() { <-alive }()
	backoff := retry.Backoff{Min: time.Second, Max: time.Minute, Jitter: 0.5}
	for ctx.Err() == nil {
		led, err := s.lead(ctx)
		if led {
			backoff.Reset()
		}
		if err != nil && ctx.Err() == nil {
			s.log.Warn("cannot save snapshots now, trying again", "err", err)
		}
		if !backoff.Wait(ctx) {
			return
		}
	}
}

// lead waits for the lock and saves until it is lost, ctx ends, or saving fails too
// often: then another agent may be better off.
func (s *saver) lead(ctx context.Context) (led bool, err error) {
	name, _ := os.Hostname()
	lock, err := s.client.LockOpts(&api.LockOptions{
		Key: s.conf.lockKey, Value: []byte(name), SessionName: s.conf.service, MonitorRetries: 5,
	})
	if err != nil {
		return false, err
	}
	s.log.Info("waiting for the lock", "key", s.conf.lockKey)
	lost, err := lock.Lock(ctx.Done())
	if err != nil || lost == nil {
		return false, err
	}
	s.log.Info("obtained the lock")
	defer func() {
		if uerr := lock.Unlock(); uerr != nil && uerr != api.ErrLockNotHeld {
			s.log.Warn("cannot give the lock back, it ends with its session", "err", uerr)
		}
		s.health.standBy()
	}()
	return true, s.saveAll(ctx, lost)
}

func (s *saver) saveAll(ctx context.Context, lost <-chan struct{}) error {
	backoff := retry.Backoff{Min: min(5*time.Second, s.conf.interval), Max: s.conf.interval, Jitter: 0.5}
	for {
		err := s.save()
		s.health.saved(err)
		// A tenth less now and then, so that agents of many clusters don't keep step.
		wait := retry.Spread(s.conf.interval, 0.1, nil)
		if err != nil {
			s.log.Error("cannot save a snapshot", "err", err, "attempt", backoff.Attempts()+1)
			if backoff.Attempts()+1 >= s.conf.maxFailures {
				return fmt.Errorf("%d failures in a row, the last: %w", s.conf.maxFailures, err)
			}
			wait = backoff.Next()
		} else {
			backoff.Reset()
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-lost:
			timer.Stop()
			return fmt.Errorf("the lock was lost")
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}

const (
	savedPrefix = "muster-"
	savedSuffix = ".snap"
)

// save saves one snapshot and removes old ones. Its id is the time, so that the files
// are in the order of their names.
func (s *saver) save() error {
	id := strconv.FormatInt(s.now().UnixNano(), 10)
	meta, err := download(s.client, s.query, filepath.Join(s.conf.path, savedPrefix+id+savedSuffix))
	if err != nil {
		return err
	}
	s.log.Info("saved snapshot "+id, "index", meta.Index)
	if err := s.rotate(); err != nil {
		s.log.Warn("cannot remove old snapshots", "err", err)
	}
	return nil
}

// rotate keeps the newest files. Only what has the name of a snapshot of ours is ever
// removed, and what a crash has left of one.
func (s *saver) rotate() error {
	entries, err := os.ReadDir(s.conf.path)
	if err != nil {
		return err
	}
	var ids []int64
	for _, e := range entries {
		name, unfinished := strings.CutSuffix(e.Name(), ".tmp")
		id, ok := savedID(name)
		switch {
		case !ok:
		case unfinished:
			if err := os.Remove(filepath.Join(s.conf.path, e.Name())); err != nil {
				return err
			}
		default:
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for len(ids) > s.conf.retain && s.conf.retain > 0 {
		if err := os.Remove(filepath.Join(s.conf.path, savedPrefix+strconv.FormatInt(ids[0], 10)+savedSuffix)); err != nil {
			return err
		}
		ids = ids[1:]
	}
	return nil
}

func savedID(name string) (int64, bool) {
	text, ok := strings.CutPrefix(name, savedPrefix)
	if text, ok2 := strings.CutSuffix(text, savedSuffix); ok && ok2 {
		id, err := strconv.ParseInt(text, 10, 64)
		return id, err == nil && strconv.FormatInt(id, 10) == text
	}
	return 0, false
}
