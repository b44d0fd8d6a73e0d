package httpapi

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/telemetry"
)

// monitorWrite bounds how long one line may take to reach the client.
const monitorWrite = 10 * time.Second

// agentMonitor streams the agent's log until the client goes away. A client that
// reads slower than the log is written loses lines and does not hold anyone up.
func agentMonitor(c *call) error {
	level, err := monitorLevel(c)
	if err != nil {
		return err
	}
	lines, stop := c.s.cfg.Agent.Monitor(level, c.has("logjson"))
	defer stop()

	c.w.Header()["Content-Type"] = contentPlain
	c.writeHeader(http.StatusOK)
	rc := http.NewResponseController(c.w)
	for {
		// Not every writer can flush or has deadlines (tests' recorders); the end
		// of the request ends the loop in any case.
		_ = rc.Flush()
		select {
		case line := <-lines:
			_ = rc.SetWriteDeadline(time.Now().Add(monitorWrite))
			if _, err := c.w.Write(line); err != nil {
				return nil // the client is gone
			}
			// An idle log must not run into the server's bound for answers.
			_ = rc.SetWriteDeadline(time.Time{})
		case <-c.r.Context().Done():
			return nil
		}
	}
}

func monitorLevel(c *call) (slog.Level, error) {
	name, _ := c.get("loglevel")
	if name == "" {
		name = "info"
	}
	level, err := telemetry.ParseLevel(name)
	if err != nil {
		return 0, &model.Error{Kind: model.KindInvalid, Field: "loglevel", Text: "Unknown log level: " + strings.TrimSpace(name)}
	}
	return level, nil
}
