package state

import (
	"bytes"
	"maps"
	"slices"

	"github.com/muster-discovery/muster/internal/model"
)

// Equality is strict about nil and empty: clients see null and {}, so a change
// from one to the other is a change of the answer.

func equalMaps[V comparable](a, b map[string]V) bool {
	return (a == nil) == (b == nil) && maps.Equal(a, b)
}

func equalStrings(a, b []string) bool {
	return (a == nil) == (b == nil) && slices.Equal(a, b)
}

func equalBytes(a, b []byte) bool {
	return (a == nil) == (b == nil) && bytes.Equal(a, b)
}

func equalNode(a, b *model.Node) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Address == b.Address && a.Datacenter == b.Datacenter &&
		equalMaps(a.TaggedAddresses, b.TaggedAddresses) && equalMaps(a.Meta, b.Meta) &&
		a.Indexes == b.Indexes
}

func equalService(a, b *model.Service) bool {
	return a.Node == b.Node && a.ID == b.ID && a.Name == b.Name && a.Kind == b.Kind &&
		equalStrings(a.Tags, b.Tags) && a.Address == b.Address && a.Port == b.Port &&
		a.SocketPath == b.SocketPath && equalMaps(a.TaggedAddresses, b.TaggedAddresses) &&
		equalMaps(a.Meta, b.Meta) && a.Weights == b.Weights && a.EnableTagOverride == b.EnableTagOverride &&
		equalProxy(a.Proxy, b.Proxy) && a.Connect == b.Connect && equalPointed(a.Locality, b.Locality) &&
		a.PeerName == b.PeerName && a.RegisteredAt.Equal(b.RegisteredAt) && a.Indexes == b.Indexes
}

func equalProxy(a, b *model.Proxy) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.DestinationServiceName == b.DestinationServiceName &&
		a.DestinationServiceID == b.DestinationServiceID &&
		a.LocalServiceAddress == b.LocalServiceAddress && a.LocalServicePort == b.LocalServicePort &&
		equalBytes(a.Raw, b.Raw)
}

func equalCheck(a, b *model.Check) bool {
	return a.Node == b.Node && a.ID == b.ID && a.Name == b.Name && a.Status == b.Status && a.Notes == b.Notes &&
		a.Output == b.Output && a.ServiceID == b.ServiceID && a.ServiceName == b.ServiceName &&
		equalStrings(a.ServiceTags, b.ServiceTags) && a.Type == b.Type && a.Interval == b.Interval &&
		a.Timeout == b.Timeout && a.ExposedPort == b.ExposedPort && equalBytes(a.Definition, b.Definition) &&
		a.StatusSince.Equal(b.StatusSince) && a.Indexes == b.Indexes
}

func equalRoot(a, b *model.CARoot) bool {
	return a.ID == b.ID && a.Name == b.Name && a.SerialNumber == b.SerialNumber &&
		a.SigningKeyID == b.SigningKeyID && a.ExternalTrustDomain == b.ExternalTrustDomain &&
		a.NotBefore.Equal(b.NotBefore) && a.NotAfter.Equal(b.NotAfter) && a.CertPEM == b.CertPEM &&
		a.KeyPEM == b.KeyPEM && a.KeyType == b.KeyType && a.KeyBits == b.KeyBits && a.Active == b.Active &&
		a.Indexes == b.Indexes
}

func equalPointed[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
