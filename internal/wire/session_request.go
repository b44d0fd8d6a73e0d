package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

const (
	defaultLockDelay = 15 * time.Second
	// Numbers below this are seconds, others nanoseconds: what clients mean.
	lockDelaySeconds = 1000
)

// DecodeSession reads the body of a session's creation, which may be empty. A session
// without checks of its own hangs on its node's health; an explicit empty list means
// none.
func DecodeSession(data []byte) (*model.Session, error) {
	in := struct {
		Name, Node, Behavior, TTL string
		LockDelay                 any
		Checks, NodeChecks        []string
		ServiceChecks             []model.ServiceCheck
		Namespace, Partition      string
	}{}
	if len(bytes.TrimSpace(data)) > 0 {
		if err := decode(data, &in, looseBody); err != nil {
			return nil, decodeFailed(err)
		}
	}
	if err := (enterprise{in.Namespace, in.Partition}).refuse(); err != nil {
		return nil, err
	}
	s := &model.Session{Name: in.Name, Node: in.Node, Behavior: in.Behavior, TTL: in.TTL,
		NodeChecks: in.NodeChecks, ServiceChecks: in.ServiceChecks}
	if s.NodeChecks == nil {
		s.NodeChecks = in.Checks
	}
	if s.NodeChecks == nil {
		s.NodeChecks = []string{model.CheckSerfHealth}
	}
	var err error
	if s.LockDelay, err = lockDelay(in.LockDelay); err != nil {
		return nil, decodeFailed(err)
	}
	return s, nil
}

func lockDelay(v any) (time.Duration, error) {
	switch v := v.(type) {
	case nil:
		return defaultLockDelay, nil
	case string:
		if v == "" {
			return defaultLockDelay, nil
		}
		return time.ParseDuration(v)
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("LockDelay: %s is not a whole number in range", v)
		}
		if n < lockDelaySeconds {
			n *= int64(time.Second)
		}
		return time.Duration(n), nil
	}
	return 0, mismatch("LockDelay", "a duration", v)
}
