package local

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/muster-discovery/muster/internal/model"
)

// virtualAddress is a tagged address that the servers add by themselves.
const virtualAddress = "consul-virtual"

// sameService compares what a registration says of a service. Empty and absent
// count as equal.
func sameService(a, b *model.Service) bool {
	if a == b {
		return true
	}
	return a.ID == b.ID && a.Name == b.Name && a.Kind == b.Kind &&
		a.Address == b.Address && a.Port == b.Port && a.SocketPath == b.SocketPath &&
		a.Weights == b.Weights && a.EnableTagOverride == b.EnableTagOverride &&
		a.Connect == b.Connect && a.PeerName == b.PeerName &&
		sameStrings(a.Tags, b.Tags) && sameMap(a.Meta, b.Meta) &&
		sameAddresses(a.TaggedAddresses, b.TaggedAddresses) &&
		sameLocality(a.Locality, b.Locality) && sameProxy(a.Proxy, b.Proxy)
}

func sameStrings(a, b []string) bool { return slices.Equal(a, b) }

func sameMap(a, b map[string]string) bool { return maps.Equal(a, b) }

func sameAddresses(a, b map[string]model.ServiceAddress) bool {
	count := func(m map[string]model.ServiceAddress) int {
		if _, ok := m[virtualAddress]; ok {
			return len(m) - 1
		}
		return len(m)
	}
	if count(a) != count(b) {
		return false
	}
	for name, v := range a {
		if w, ok := b[name]; name != virtualAddress && (!ok || v != w) {
			return false
		}
	}
	return true
}

func sameLocality(a, b *model.Locality) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func sameProxy(a, b *model.Proxy) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.DestinationServiceName == b.DestinationServiceName && a.DestinationServiceID == b.DestinationServiceID &&
		a.LocalServiceAddress == b.LocalServiceAddress && a.LocalServicePort == b.LocalServicePort &&
		sameJSON(a.Raw, b.Raw)
}

func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}

// sameCheck compares all that the catalog must know at once of a check: all but
// its output.
func sameCheck(a, b *model.Check) bool {
	return a == b || a.ID == b.ID && a.Name == b.Name && a.Status == b.Status && a.Notes == b.Notes &&
		a.ServiceID == b.ServiceID && a.Type == b.Type && a.Interval == b.Interval &&
		a.Timeout == b.Timeout && a.ExposedPort == b.ExposedPort
}

func sameNode(a, b *model.Node) bool {
	return a.ID == b.ID && a.Address == b.Address &&
		sameMap(a.TaggedAddresses, b.TaggedAddresses) && sameMap(a.Meta, b.Meta)
}
