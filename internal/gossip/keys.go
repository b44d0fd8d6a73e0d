package gossip

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/serf/serf"

	"github.com/muster-discovery/muster/internal/model"
)

// MaxRelay is the largest relay factor.
const MaxRelay = 5

// Keys is which gossip keys the members of a pool have.
type Keys struct {
	WAN      bool
	Keys     map[string]int    // members that have a key, by key
	Primary  map[string]int    // members that encrypt with it
	Messages map[string]string // of members that could not answer as asked
	Nodes    int               // members that were asked
}

// KeyChange is what can be done with a key on all members.
type KeyChange uint8

const (
	// InstallKey lets all members know a key besides those that they have.
	InstallKey KeyChange = iota
	// UseKey makes all members encrypt with a key that they have.
	UseKey
	// RemoveKey makes all members forget a key that they don't encrypt with.
	RemoveKey
)

func (c KeyChange) String() string { return [...]string{"install", "use", "remove"}[c] }

// Keys asks all members of each pool. Members answer also through relay others.
func (p *Pools) Keys(relay int) ([]Keys, error) {
	return p.eachPool(func(pl *pool) (*serf.KeyResponse, error) {
		return pl.serf.KeyManager().ListKeysWithOptions(options(relay))
	})
}

// ChangeKey does something with a key on all members of each pool: the WAN first, as
// it has fewer members, none of which may be missing. The error names the members that
// did not do it, and what to do.
func (p *Pools) ChangeKey(change KeyChange, key string, relay int) error {
	if _, err := DecodeKey(key); err != nil {
		return model.Errorf(model.KindInvalid, "keyring: %v", err)
	}
	_, err := p.eachPool(func(pl *pool) (*serf.KeyResponse, error) {
		manager := pl.serf.KeyManager()
		do := map[KeyChange]func(string, *serf.KeyRequestOptions) (*serf.KeyResponse, error){
			InstallKey: manager.InstallKeyWithOptions, UseKey: manager.UseKeyWithOptions, RemoveKey: manager.RemoveKeyWithOptions,
		}[change]
		r, err := do(key, options(relay))
		if err == nil {
			pl.logger.Info("gossip key changed on all members", "change", change.String(), "count", r.NumNodes)
		}
		return r, err
	})
	return err
}

func options(relay int) *serf.KeyRequestOptions {
	return &serf.KeyRequestOptions{RelayFactor: uint8(min(max(relay, 0), MaxRelay))}
}

// eachPool asks the WAN pool, then the LAN, and stops at the first failure.
func (p *Pools) eachPool(ask func(*pool) (*serf.KeyResponse, error)) ([]Keys, error) {
	var list []Keys
	for _, pl := range []*pool{p.wan, p.lan} {
		if pl == nil {
			continue
		}
		if !pl.serf.EncryptionEnabled() {
			return nil, model.Errorf(model.KindInvalid, "Keyring is empty (encryption not enabled): set encrypt in the configuration of all agents")
		}
		r, err := ask(pl)
		if err != nil {
			return nil, keysError(pl.name(), r, err)
		}
		list = append(list, Keys{WAN: pl.wan, Keys: r.Keys, Primary: r.PrimaryKeys, Messages: r.Messages, Nodes: r.NumNodes})
	}
	return list, nil
}

// keysError tells which members failed, by name.
func keysError(pool string, r *serf.KeyResponse, err error) error {
	text := fmt.Sprintf("keyring of the %s pool: %v", pool, err)
	if r != nil {
		var failed []string
		for _, name := range slices.Sorted(maps.Keys(r.Messages)) {
			failed = append(failed, fmt.Sprintf("%s: %s", name, cmp.Or(r.Messages[name], "no reason given")))
		}
		if len(failed) > 0 {
			text += " (" + strings.Join(failed, "; ") + ")"
		}
		if missing := r.NumNodes - r.NumResp; missing > 0 {
			text += fmt.Sprintf("; %d of %d members did not answer in time: see `muster members`, then repeat the command, "+
				"which does no harm to those that have done it", missing, r.NumNodes)
		}
	}
	return &model.Error{Kind: model.KindUnavailable, Text: text}
}
