package agent

import (
	"context"

	"github.com/muster-discovery/muster/internal/gossip"
	"github.com/muster-discovery/muster/internal/httpapi"
	"github.com/muster-discovery/muster/internal/wire"
)

// keyring is the keys of both pools, as HTTP has it. How long a change takes is
// bounded by serf, which waits a few seconds for members that do not answer.
type keyring struct {
	pools      *gossip.Pools
	datacenter string
}

var _ httpapi.Keyring = keyring{}

// Keys implements httpapi.Keyring.
func (k keyring) Keys(_ context.Context, relay int) ([]wire.Keyring, error) {
	list, err := k.pools.Keys(relay)
	if err != nil {
		return nil, err
	}
	rings := make([]wire.Keyring, len(list))
	for i, r := range list {
		rings[i] = wire.Keyring{WAN: r.WAN, Datacenter: k.datacenter, Messages: r.Messages, Keys: r.Keys, PrimaryKeys: r.Primary, NumNodes: r.Nodes}
	}
	return rings, nil
}

// InstallKey implements httpapi.Keyring.
func (k keyring) InstallKey(_ context.Context, key string, relay int) error {
	return k.pools.ChangeKey(gossip.InstallKey, key, relay)
}

// UseKey implements httpapi.Keyring.
func (k keyring) UseKey(_ context.Context, key string, relay int) error {
	return k.pools.ChangeKey(gossip.UseKey, key, relay)
}

// RemoveKey implements httpapi.Keyring.
func (k keyring) RemoveKey(_ context.Context, key string, relay int) error {
	return k.pools.ChangeKey(gossip.RemoveKey, key, relay)
}
