package wire

import "github.com/muster-discovery/muster/internal/model"

// Keyring is which gossip keys the members of a pool have.
type Keyring struct {
	WAN         bool
	Datacenter  string
	Segment     string            // always empty: there are none
	Messages    map[string]string `json:",omitempty"` // by member
	Keys        map[string]int    // members that have a key, by key
	PrimaryKeys map[string]int    // members that encrypt with it
	NumNodes    int
}

// DecodeKey reads the body of a request that changes a gossip key. Its errors do not
// hold the key.
func DecodeKey(data []byte) (string, error) {
	var body struct{ Key string }
	if err := decode(data, &body, looseBody); err != nil {
		return "", model.Errorf(model.KindInvalid, "Request decode failed: %v", err)
	}
	return body.Key, nil
}
