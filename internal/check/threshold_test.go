package check

import (
	"strings"
	"testing"

	"github.com/muster-discovery/muster/internal/model"
)

// expand turns "pwc" into states.
var letters = map[rune]string{'p': model.StatusPassing, 'w': model.StatusWarning, 'c': model.StatusCritical}

func TestThresholds(t *testing.T) {
	for _, tt := range []struct {
		name                       string
		success, warning, critical int
		known                      bool
		initial                    rune
		results, want              string
	}{
		{name: "none: at once", initial: 'c', results: "pcwp", want: "pcwp"},
		{name: "first result counts at once", success: 3, initial: 'c', results: "pcppp", want: "pcccp"},
		{name: "first failure counts at once", critical: 3, initial: 'p', results: "cp", want: "cp"},
		{name: "a known state is kept by the counts", critical: 3, known: true, initial: 'p', results: "ccpccc", want: "pppppc"},
		{name: "a known failure is kept by the counts", success: 2, known: true, initial: 'c', results: "pcpp", want: "cccp"},
		{name: "successes must be in a row", success: 2, initial: 'c', results: "pcpcpp", want: "pccccp"},
		{name: "warning before critical", warning: 2, critical: 4, initial: 'c', results: "pccccp", want: "ppwwcp"},
		{name: "warning threshold above critical is critical's", warning: 9, critical: 2, known: true, initial: 'p', results: "cc", want: "pc"},
		{name: "a warning of the probe is no failure", critical: 2, known: true, initial: 'p', results: "wcwc", want: "wwww"},
		{name: "negative counts are none", success: -1, critical: -1, initial: 'c', results: "pc", want: "pc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			th := NewThresholds(&model.CheckDefinition{
				SuccessBeforePassing: tt.success, FailuresBeforeWarning: tt.warning, FailuresBeforeCritical: tt.critical,
			}, tt.known)
			state := letters[tt.initial]
			var got strings.Builder
			for _, r := range tt.results {
				state = th.Next(state, letters[r])
				got.WriteByte(state[0])
			}
			if got.String() != tt.want {
				t.Errorf("results %s give %s, want %s", tt.results, got.String(), tt.want)
			}
		})
	}
}
