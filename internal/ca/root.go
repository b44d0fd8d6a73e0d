// Package ca makes the mesh's certificates. Today that is the root; leaf
// certificates and rotation come with the mesh. It keeps no state: roots live in
// the replicated state, and the leader decides when one is made.
package ca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// rootLifetime is what Consul's built-in CA uses: long enough that a root is
// rotated by decision and not by surprise.
const rootLifetime = 10 * 365 * 24 * time.Hour

// backdate tolerates clocks of other machines that run behind.
const backdate = time.Minute

// TrustDomain is the SPIFFE trust domain of a cluster id.
func TrustDomain(clusterID string) string { return clusterID + ".consul" }

// NewRoot makes a self-signed root (ECDSA P-256) for a cluster, with the trust
// domain as its SPIFFE id. The serial number must be unused in the cluster.
func NewRoot(clusterID string, serial uint64, now time.Time) (*model.CARoot, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate root key: %w", err)
	}
	keyID, err := subjectKeyID(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          new(big.Int).SetUint64(serial),
		Subject:               pkix.Name{CommonName: "pri-" + hex.EncodeToString(keyID[:4]) + ".consul.ca." + clusterID[:8] + ".consul"},
		URIs:                  []*url.URL{{Scheme: "spiffe", Host: TrustDomain(clusterID)}},
		BasicConstraintsValid: true,
		IsCA:                  true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		NotBefore:             now.Add(-backdate).UTC().Truncate(time.Second),
		NotAfter:              now.Add(rootLifetime).UTC().Truncate(time.Second),
		SubjectKeyId:          keyID,
		AuthorityKeyId:        keyID,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("sign root certificate: %w", err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode root key: %w", err)
	}
	fingerprint := sha1.Sum(der) // the id's form is given by existing clients, it protects nothing
	return &model.CARoot{
		ID:                  colonHex(fingerprint[:]),
		Name:                "Consul CA Primary Cert",
		SerialNumber:        serial,
		SigningKeyID:        colonHex(keyID),
		ExternalTrustDomain: clusterID,
		NotBefore:           template.NotBefore,
		NotAfter:            template.NotAfter,
		CertPEM:             string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		KeyPEM:              string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})),
		KeyType:             "ec",
		KeyBits:             256,
		Active:              true,
	}, nil
}

// subjectKeyID is the SHA-256 of the public key, RFC 7093 section 2 method 1
// without its truncation.
func subjectKeyID(key *ecdsa.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode root's public key: %w", err)
	}
	sum := sha256.Sum256(der)
	return sum[:], nil
}

func colonHex(b []byte) string {
	parts := make([]string, len(b))
	for i := range b {
		parts[i] = hex.EncodeToString(b[i : i+1])
	}
	return strings.Join(parts, ":")
}
