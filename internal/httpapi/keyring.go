package httpapi

import (
	"context"
	"strconv"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/wire"
)

// Keyring is the keys that encrypt gossip. Relay is the relay factor. Calls may
// overlap; each asks all members.
type Keyring interface {
	Keys(ctx context.Context, relay int) ([]wire.Keyring, error)
	InstallKey(ctx context.Context, key string, relay int) error
	UseKey(ctx context.Context, key string, relay int) error
	RemoveKey(ctx context.Context, key string, relay int) error
}

const maxRelay = 5

// relayFactor reads the parameter that all keyring requests have.
func (c *call) relayFactor() (int, error) {
	text, ok := c.get("relay-factor")
	if !ok || text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, model.Errorf(model.KindInvalid, "Invalid relay-factor: Error parsing relay factor: %v", err)
	}
	if n < 0 || n > maxRelay {
		return 0, model.Errorf(model.KindInvalid, "Invalid relay-factor: Relay factor must be in range: [0, %d]", maxRelay)
	}
	return n, nil
}

// keyringList answers for this datacenter; with one, local-only changes nothing.
func keyringList(c *call) error {
	relay, err := c.relayFactor()
	if err != nil {
		return err
	}
	if text, ok := c.get("local-only"); ok && text != "" {
		if _, err := strconv.ParseBool(text); err != nil {
			return model.Errorf(model.KindInvalid, "Invalid local-only: %v", err)
		}
	}
	rings, err := c.s.cfg.Keyring.Keys(c.r.Context(), relay)
	if err != nil {
		return rpc(err)
	}
	return c.json(rings)
}

func keyringInstall(c *call) error { return c.changeKey(c.s.cfg.Keyring.InstallKey) }
func keyringUse(c *call) error     { return c.changeKey(c.s.cfg.Keyring.UseKey) }
func keyringRemove(c *call) error  { return c.changeKey(c.s.cfg.Keyring.RemoveKey) }

func (c *call) changeKey(change func(ctx context.Context, key string, relay int) error) error {
	relay, err := c.relayFactor()
	if err != nil {
		return err
	}
	if _, ok := c.get("local-only"); ok {
		return model.Errorf(model.KindInvalid, "Invalid local-only: it is only for listing the keys")
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	key, err := wire.DecodeKey(body)
	if err != nil {
		return err
	}
	if err := change(c.r.Context(), key, relay); err != nil {
		return internal(err)
	}
	return c.nothing()
}
