package apply

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/wire"
)

// completeRegistration checks a registration and fills in what it leaves open.
// The error texts are those that existing clients show to their users.
func completeRegistration(r *model.Registration) error {
	if r.Node.Name == "" {
		return invalid("Node", "Must provide node")
	}
	if r.Node.Address == "" && !r.SkipNodeUpdate {
		return invalid("Address", "Must provide address if SkipNodeUpdate is not set")
	}
	if id := r.Node.ID; id != "" && !validUUID(id) {
		return invalid("ID", "Bad request: ID %q is not a valid UUID", id)
	}
	if r.Service != nil {
		if err := completeService(r); err != nil {
			return err
		}
	}
	for _, c := range r.Checks {
		if c.ID == "" {
			c.ID = c.Name
		}
		if c.ID == "" {
			return invalid("CheckID", "Must provide check ID or name")
		}
		if c.Status == "" {
			c.Status = model.StatusCritical
		}
		c.Node = r.Node.Name
	}
	return nil
}

func completeService(r *model.Registration) error {
	s := r.Service
	if s.Name == "" {
		if s.ID != "" {
			return invalid("Service.Service", "Must provide service name (Service.Service) when service ID is provided")
		}
		return invalid("Service.Service", "Must provide service name (Service.Service)")
	}
	if s.ID == "" {
		s.ID = s.Name
	}
	s.Node = r.Node.Name
	if s.Weights == (model.Weights{}) {
		s.Weights = model.Weights{Passing: 1, Warning: 1}
	}
	if s.Port < 0 || s.Port > 65535 {
		return invalid("Service.Port", "Invalid port %d: must be between 0 and 65535", s.Port)
	}
	if err := wire.ValidateService(s); err != nil {
		return invalid("Service", "%v", err)
	}
	if err := model.CheckMeta(s.Meta, true); err != nil {
		return invalid("Service.Meta", "failed inserting service: Invalid Service Meta for node %s and serviceID %s: %v", r.Node.Name, s.ID, err)
	}
	return nil
}

// validUUID takes the one form that clients write; the library knows more.
func validUUID(s string) bool { return len(s) == 36 && uuid.Validate(s) == nil }

func invalid(field, format string, args ...any) error {
	return &model.Error{Kind: model.KindInvalid, Field: field, Text: fmt.Sprintf(format, args...)}
}
