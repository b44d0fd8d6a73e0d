package check

import "github.com/muster-discovery/muster/internal/model"

// Thresholds turn single results into a state: a check changes only after as many
// results in a row as its definition asks for. The zero value changes at once.
type Thresholds struct {
	success  int
	warning  int
	critical int

	successes int
	failures  int
	settled   bool // a first result has been counted, or a known state was given
}

// NewThresholds takes the counts from a definition. With known set, the check's
// present state is an earlier result (or the operator's word) and is left only
// by the counts; otherwise the first result counts at once.
func NewThresholds(def *model.CheckDefinition, known bool) Thresholds {
	t := Thresholds{
		success:  max(def.SuccessBeforePassing, 1),
		critical: max(def.FailuresBeforeCritical, 1),
		settled:  known,
	}
	t.warning = def.FailuresBeforeWarning
	if t.warning <= 0 || t.warning > t.critical {
		t.warning = t.critical
	}
	return t
}

// Next counts a result and returns the state that the check should have, given
// its present one.
func (t *Thresholds) Next(current, result string) string {
	if result == model.StatusCritical {
		return t.fail(current)
	}
	// Passing and warning are both successes of the probe; the target answered.
	t.failures = 0
	t.successes++
	if !t.settled || t.successes >= t.success || current == model.StatusPassing {
		t.settled = true
		return result
	}
	return current
}

func (t *Thresholds) fail(current string) string {
	t.successes = 0
	t.failures++
	switch {
	case !t.settled, t.failures >= t.critical:
		t.settled = true
		return model.StatusCritical
	case t.failures >= t.warning && current == model.StatusPassing:
		return model.StatusWarning
	}
	return current
}
