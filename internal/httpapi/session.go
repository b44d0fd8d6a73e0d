package httpapi

import (
	"errors"
	"net/http"

	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/wire"
)

func sessionCreate(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	s, err := wire.DecodeSession(body)
	if err != nil {
		return err
	}
	if s.Node == "" {
		s.Node = c.s.cfg.Node
	}
	id, err := c.s.cfg.Keys.CreateSession(c.r.Context(), c.caller(), c.dc, s)
	if err != nil {
		return sessionRefused(err)
	}
	return c.json(struct{ ID string }{id})
}

// sessionRefused gives what the state found the text that clients know.
func sessionRefused(err error) error {
	var e *model.Error
	if errors.As(err, &e) {
		switch e.Field {
		case model.CodeMissingNode, model.CodeMissingCheck, model.CodeCritical:
			return &statusError{http.StatusInternalServerError, "apply failed: " + e.Text}
		}
	}
	return rpc(err)
}

func sessionDestroy(c *call) error {
	if err := c.need("Missing session"); err != nil {
		return err
	}
	if err := c.s.cfg.Keys.DestroySession(c.r.Context(), c.caller(), c.dc, c.id); err != nil {
		return rpc(err)
	}
	return c.json(true)
}

func sessionRenew(c *call) error {
	if err := c.need("Missing session"); err != nil {
		return err
	}
	s, err := c.s.cfg.Keys.RenewSession(c.r.Context(), c.caller(), c.dc, c.id)
	if err != nil {
		return rpc(err)
	}
	return c.json(wire.SessionList(s))
}

func sessionInfo(c *call) error {
	if err := c.need("Missing session"); err != nil {
		return err
	}
	return c.sessions(model.NewTopic(model.TopicSession, c.id))
}

func sessionNode(c *call) error {
	if err := c.need("Missing node name"); err != nil {
		return err
	}
	return c.sessions(model.NewTopic(model.TopicNodeSessions, c.id))
}

func sessionList(c *call) error { return c.sessions(model.NewTopic(model.TopicSessions, "")) }

func (c *call) sessions(t model.Topic) error {
	if err := c.lookup(t, wire.SessionsJSON, lookup.Question{}); err != nil {
		return err
	}
	return c.sendAnswer()
}
