package wire

import (
	"fmt"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// invalid is an error of a definition, with the field that is wrong.
func invalid(field, format string, args ...any) error {
	return &model.Error{Kind: model.KindInvalid, Field: field, Text: fmt.Sprintf(format, args...)}
}

// maxWeight is the largest weight that a DNS record can carry.
const maxWeight = 65535

func validateWeights(w model.Weights) error {
	switch {
	case w.Passing < 1:
		return invalid("Weights", "Invalid Weights: Passing must be greater than 0")
	case w.Warning < 0:
		return invalid("Weights", "Invalid Weights: Warning must be greater or equal than 0")
	case w.Passing > maxWeight || w.Warning > maxWeight:
		return invalid("Weights", "Invalid Weights: DNS Weight must be between 0 and %d", maxWeight)
	}
	return nil
}

// validateCheck checks a check definition by itself.
func validateCheck(d *model.CheckDefinition) error {
	switch d.Status {
	case "", model.StatusPassing, model.StatusWarning, model.StatusCritical:
	default:
		return invalid("Status", "Bad check status")
	}
	if why := checkProblem(d); why != "" {
		return invalid("Check", "Invalid check: %s", why)
	}
	return nil
}

func checkProblem(d *model.CheckDefinition) string {
	probes := probeKinds(d)
	alias := d.AliasNode != "" || d.AliasService != ""
	switch {
	case d.Interval > 0 && d.TTL > 0:
		return "Interval and TTL cannot both be specified"
	case len(probes) > 0 && d.Interval <= 0:
		return "Interval must be > 0 for Script, HTTP, H2PING, TCP, UDP or OSService checks"
	case len(probes) == 0 && !alias && d.TTL <= 0:
		return "TTL must be > 0 for TTL checks"
	case alias && d.Interval > 0 && len(probes) == 0:
		return "Interval cannot be set for Alias checks"
	case alias && d.TTL > 0:
		return "TTL must be not be set for Alias checks"
	case len(probes) > 1:
		return fmt.Sprintf("only one of %s can be specified", strings.Join(probes, ", "))
	case alias && len(probes) > 0:
		return fmt.Sprintf("%s cannot be specified for Alias checks", probes[0])
	case d.OutputMaxSize < 0:
		return "MaxOutputMaxSize must be positive"
	case d.FailuresBeforeCritical != 0 && d.FailuresBeforeWarning > d.FailuresBeforeCritical,
		d.FailuresBeforeCritical == 0 && d.FailuresBeforeWarning > 1:
		return "FailuresBeforeWarning can't be higher than FailuresBeforeCritical"
	}
	return ""
}

// probeKinds are the kinds of probes with an interval that a definition names.
func probeKinds(d *model.CheckDefinition) []string {
	var kinds []string
	for _, p := range []struct {
		name string
		set  bool
	}{
		{"HTTP", d.HTTP != ""}, {"TCP", d.TCP != ""}, {"UDP", d.UDP != ""}, {"GRPC", d.GRPC != ""},
		{"H2PING", d.H2PING != ""}, {"OSService", d.OSService != ""},
		{"DockerContainerID", d.DockerContainerID != ""},
		// A Docker check's script runs in the container.
		{"ScriptArgs", len(d.ScriptArgs) > 0 && d.DockerContainerID == ""},
	} {
		if p.set {
			kinds = append(kinds, p.name)
		}
	}
	return kinds
}

// problems are several mistakes in the form in which Consul's clients see them.
type problems []string

func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	errs := "errors"
	if len(p) == 1 {
		errs = "error"
	}
	return fmt.Errorf("%d %s occurred:\n\t* %s\n\n", len(p), errs, strings.Join(p, "\n\t* "))
}
