package httpapi

import (
	"net/http"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/wire"
)

// statusMaintenance is what local health says of instances that are taken out.
const statusMaintenance = "maintenance"

// severity orders states; the worst one counts.
var severity = map[string]int{
	model.StatusPassing: 0, model.StatusWarning: 1, model.StatusCritical: 2, statusMaintenance: 3,
}

// healthStatuses let load balancers read an instance's health off the status code.
var healthStatuses = map[string]int{
	model.StatusPassing: http.StatusOK, model.StatusWarning: http.StatusTooManyRequests,
	model.StatusCritical: http.StatusServiceUnavailable, statusMaintenance: http.StatusServiceUnavailable,
}

// checksOf are the checks that count for a local instance: its own and the node's.
func checksOf(id string, all []*model.Check) (checks []*model.Check, worst string) {
	worst = model.StatusPassing
	for _, check := range all {
		if check.ServiceID != "" && check.ServiceID != id {
			continue
		}
		checks = append(checks, check)
		if s := stateOf(check); severity[s] > severity[worst] {
			worst = s
		}
	}
	return checks, worst
}

func stateOf(c *model.Check) string {
	if c.ID == model.CheckNodeMaintenance || strings.HasPrefix(c.ID, model.CheckServiceMaintenancePrefix) {
		return statusMaintenance
	}
	if _, ok := severity[c.Status]; !ok {
		return model.StatusCritical
	}
	return c.Status
}

func (s *Server) healthOf(svc *model.Service, all []*model.Check) *wire.AgentHealth {
	checks, worst := checksOf(svc.ID, all)
	return wire.AgentHealthOf(svc, checks, worst, s.cfg.Datacenter)
}

func agentHealthByID(c *call) error {
	if c.id == "" {
		return &statusError{http.StatusInternalServerError, "Missing serviceID"}
	}
	svc, ok := c.s.cfg.Local.Service(c.id)
	if !ok {
		missing := &wire.AgentHealth{AggregatedStatus: model.StatusCritical}
		return c.health(http.StatusNotFound, "ServiceId "+c.id+" not found", missing)
	}
	h := c.s.healthOf(svc, c.s.cfg.Local.Checks())
	return c.health(healthStatuses[h.AggregatedStatus], h.AggregatedStatus, h)
}

func agentHealthByName(c *call) error {
	if c.id == "" {
		return &statusError{http.StatusInternalServerError, "Missing service Name"}
	}
	all, worst := []*wire.AgentHealth{}, model.StatusPassing
	checks := c.s.cfg.Local.Checks()
	for _, svc := range c.s.cfg.Local.Services() {
		if svc.Name != c.id {
			continue
		}
		h := c.s.healthOf(svc, checks)
		all = append(all, h)
		if severity[h.AggregatedStatus] > severity[worst] {
			worst = h.AggregatedStatus
		}
	}
	if len(all) == 0 {
		return c.health(http.StatusNotFound, "ServiceName "+c.id+" Not Found", all)
	}
	return c.health(healthStatuses[worst], worst, all)
}

// health answers with the reason alone where text is asked for.
func (c *call) health(status int, reason string, v any) error {
	c.w.Header()["X-Consul-Reason"] = []string{headerText(reason)}
	format, _ := c.get("format")
	if format == "text" || format == "" && strings.HasPrefix(c.r.Header.Get("Accept"), "text/plain") {
		c.w.Header()["Content-Type"] = contentPlain
		c.write(status, []byte(reason))
		return nil
	}
	return c.jsonStatus(status, v)
}

// headerText replaces what must not be in a header: the id comes from the path.
func headerText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}
