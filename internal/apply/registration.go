package apply

import (
	"fmt"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// Limits of meta data, as clients know them.
const (
	maxMetaPairs    = 64
	maxMetaKeyLen   = 128
	maxMetaValueLen = 512
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
	if s.Kind == model.KindConnectProxy {
		if err := checkProxy(s); err != nil {
			return err
		}
	}
	if err := checkMeta(s.Meta); err != nil {
		return invalid("Service.Meta", "failed inserting service: Invalid Service Meta for node %s and serviceID %s: %v", r.Node.Name, s.ID, err)
	}
	return nil
}

func checkProxy(s *model.Service) error {
	var faults []string
	if s.Port == 0 && s.SocketPath == "" {
		faults = append(faults, "Port or SocketPath must be set for a connect-proxy")
	}
	if s.Proxy == nil || s.Proxy.DestinationServiceName == "" {
		faults = append(faults, "Proxy.DestinationServiceName must be non-empty for Connect proxy services")
	}
	if s.Connect.Native {
		faults = append(faults, "A Proxy cannot also be Connect Native, only typical services")
	}
	switch len(faults) {
	case 0:
		return nil
	case 1:
		return invalid("Service", "1 error occurred:\n\t* %s\n\n", faults[0])
	}
	return invalid("Service", "%d errors occurred:\n\t* %s\n\n", len(faults), strings.Join(faults, "\n\t* "))
}

func checkMeta(meta map[string]string) error {
	if len(meta) > maxMetaPairs {
		return fmt.Errorf("Node metadata cannot contain more than %d key/value pairs", maxMetaPairs)
	}
	for k, v := range meta {
		if fault := metaFault(k, v); fault != "" {
			return fmt.Errorf("Couldn't load metadata pair ('%s', '%s'): %s", k, v, fault)
		}
	}
	return nil
}

func metaFault(k, v string) string {
	switch {
	case k == "":
		return "Key cannot be blank"
	case strings.ContainsFunc(k, func(r rune) bool { return !metaKeyRune(r) }):
		return "Key contains invalid characters"
	case len(k) > maxMetaKeyLen:
		return fmt.Sprintf("Key is too long (limit: %d characters)", maxMetaKeyLen)
	case len(v) > maxMetaValueLen:
		return fmt.Sprintf("Value is too long (limit: %d characters)", maxMetaValueLen)
	}
	return ""
}

func metaKeyRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}

func validUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range []byte(s) {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
				return false
			}
		}
	}
	return true
}

func invalid(field, format string, args ...any) error {
	return &model.Error{Kind: model.KindInvalid, Field: field, Text: fmt.Sprintf(format, args...)}
}
