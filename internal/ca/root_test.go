package ca

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"
)

func TestNewRoot(t *testing.T) {
	const cluster = "11111111-2222-3333-4444-555555555555"
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	root, err := NewRoot(cluster, 7, now)
	if err != nil {
		t.Fatal(err)
	}
	block, rest := pem.Decode([]byte(root.CertPEM))
	if block == nil || len(rest) != 0 {
		t.Fatalf("not one PEM block: %q", root.CertPEM)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if err := cert.CheckSignatureFrom(cert); err != nil {
		t.Errorf("not self-signed: %v", err)
	}
	if got, want := cert.URIs[0].String(), "spiffe://"+cluster+".consul"; got != want {
		t.Errorf("SPIFFE id %q, want %q", got, want)
	}
	if key, ok := cert.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve.Params().BitSize != 256 {
		t.Errorf("public key %T, want ECDSA P-256", cert.PublicKey)
	}
	if now.Before(root.NotBefore) || now.Add(9*365*24*time.Hour).After(root.NotAfter) {
		t.Errorf("valid from %v to %v does not cover ten years from %v", root.NotBefore, root.NotAfter, now)
	}
	if strings.Count(root.ID, ":") != 19 {
		t.Errorf("id %q is not a colon-separated SHA-1", root.ID)
	}
	if _, err := tls.X509KeyPair([]byte(root.CertPEM), []byte(root.KeyPEM)); err != nil {
		t.Errorf("key does not fit the certificate: %v", err)
	}
}

func TestRootsDiffer(t *testing.T) {
	a, err := NewRoot("11111111-2222-3333-4444-555555555555", 1, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewRoot("11111111-2222-3333-4444-555555555555", 2, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if a.ID == b.ID || a.KeyPEM == b.KeyPEM {
		t.Error("two roots share an id or a key")
	}
}
