package httpapi

import (
	"context"
	"net/http"

	"github.com/muster-discovery/muster/internal/model"
)

// Elsewhere has other agents answer what this one can't. Calls may overlap.
type Elsewhere interface {
	// Pass has a server answer a request as it is, the leader or any one. It reports
	// false if this agent may answer itself. With an error nothing was written.
	Pass(w http.ResponseWriter, r *http.Request, leader bool) (passed bool, err error)
}

// passed is the context key of how often a request was passed on.
type passed struct{}

// MarkPassed marks a request that another agent passed on, times in all. It may ask for
// nothing but what agents pass on: whoever reaches the port between agents is to have
// no more of the API than that.
func MarkPassed(r *http.Request, times int) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), passed{}, times))
}

// Passed is how often a request was passed on from one agent to another.
func Passed(ctx context.Context) int {
	n, _ := ctx.Value(passed{}).(int)
	return n
}

// pass hands the request on if another agent has to answer it.
func (c *call) pass() (done bool, err error) {
	where := c.route.options & (leads | serves)
	if where == 0 {
		if Passed(c.r.Context()) > 0 {
			return false, &model.Error{Kind: model.KindDenied, Text: "Agents don't pass on requests for this endpoint: use an HTTP address"}
		}
		return false, nil
	}
	if c.s.cfg.Elsewhere == nil {
		return false, nil
	}
	done, err = c.s.cfg.Elsewhere.Pass(c.w, c.r, where&leads != 0 && !c.stale)
	c.wrote = c.wrote || done
	return done, err
}
