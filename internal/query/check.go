package query

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/muster-discovery/muster/internal/model"
)

// redacted is what is shown in place of a token to those who may not see it.
const redacted = "<hidden>"

// Check reports why a definition can't be stored. The error's kind is Invalid and
// its text the one that clients know.
func Check(q *model.Query) error {
	if err := check(q); err != nil {
		return model.Errorf(model.KindInvalid, "Invalid prepared query: %v", err)
	}
	if q.Template.Type == "" {
		return nil
	}
	if _, err := Compile(q); err != nil {
		return model.Errorf(model.KindInvalid, "raft apply failed: failed compiling template: %v", err)
	}
	return nil
}

func check(q *model.Query) error {
	if q.Name == "" && q.Template.Type == "" && q.Session == "" {
		return errors.New("Must be bound to a session")
	}
	if q.Token == redacted {
		return fmt.Errorf("Bad Token '%s', it looks like a query definition with a redacted token was submitted", q.Token)
	}
	if err := checkService(&q.Service); err != nil {
		return err
	}
	if q.DNSTTL == "" {
		return nil
	}
	ttl, err := time.ParseDuration(q.DNSTTL)
	if err != nil {
		return fmt.Errorf("Bad DNS TTL '%s': %v", q.DNSTTL, err)
	}
	if ttl < 0 {
		return fmt.Errorf("DNS TTL '%d', must be >=0", ttl)
	}
	return nil
}

func checkService(s *model.QueryService) error {
	f := &s.Failover
	switch {
	case s.Service == "":
		return errors.New("Must provide a Service name to query")
	case f.NearestN < 0:
		return fmt.Errorf("Bad NearestN '%d', must be >= 0", f.NearestN)
	case len(f.Targets) > 0 && (f.NearestN != 0 || len(f.Datacenters) > 0):
		return errors.New("Targets cannot be populated with NearestN or Datacenters")
	}
	if err := model.CheckMeta(s.NodeMeta, true); err != nil {
		return fmt.Errorf("Invalid NodeMeta filter: %v", err)
	}
	if err := model.CheckMeta(s.ServiceMeta, true); err != nil {
		return fmt.Errorf("Invalid ServiceMeta filter: %v", err)
	}
	return nil
}

// CheckID reports why an id can't be one of a query.
func CheckID(id string) error {
	switch {
	case len(id) != 36:
		return errors.New("UUID must be 36 characters")
	case uuid.Validate(id) != nil:
		return fmt.Errorf("Invalid UUID: %q", id)
	}
	return nil
}
