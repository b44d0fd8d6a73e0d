package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/wire"
)

// errNoConnect has the status that Consul's clients know.
var errNoConnect = rpc(model.Errorf(model.KindInternal, "Connect must be enabled in order to use this endpoint"))

// connectRoots serves the mesh's roots, as JSON or as PEM.
func connectRoots(c *call) error {
	asPEM := false
	if v, ok := c.get("pem"); ok {
		var err error
		if asPEM, err = strconv.ParseBool(v); err != nil {
			return model.Errorf(model.KindInvalid, "The 'pem' query parameter must be a boolean value")
		}
	}
	if err := c.roots(); err != nil {
		return err
	}
	if asPEM {
		return c.rootsPEM()
	}
	return c.sendAnswer()
}

// agentRoots is the same through the agent.
func agentRoots(c *call) error {
	if err := c.roots(); err != nil {
		return err
	}
	return c.sendAnswer()
}

func (c *call) roots() error {
	if c.s.cfg.ConnectDisabled {
		return errNoConnect
	}
	return c.lookup(model.NewTopic(model.TopicCARoots, ""), wire.CARootsJSON, lookup.Question{})
}

// rootsPEM takes the certificates out of the frame: it is a rare question.
func (c *call) rootsPEM() error {
	f, err := c.answerFrame()
	if err != nil {
		return err
	}
	var roots struct{ Roots []struct{ RootCert string } }
	if err := json.Unmarshal(f.Body, &roots); err != nil {
		return fmt.Errorf("read the roots' frame: %w", err)
	}
	var out bytes.Buffer
	for _, r := range roots.Roots {
		out.WriteString(r.RootCert)
	}
	h := c.w.Header()
	h["Content-Type"] = contentPEM
	h["Content-Length"] = []string{strconv.Itoa(out.Len())}
	c.write(http.StatusOK, out.Bytes())
	return nil
}
