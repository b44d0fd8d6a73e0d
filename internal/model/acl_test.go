package model

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestSecretNeverPrints(t *testing.T) {
	token := &Token{AccessorID: "a", SecretID: "hunter2"}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", token.SecretID)
	for _, text := range []string{
		fmt.Sprint(token.SecretID), fmt.Sprintf("%s %q %v %+v %#v", token.SecretID, token.SecretID, token, token, token),
		log.String(),
	} {
		if strings.Contains(text, "hunter2") || !strings.Contains(text, "redacted") {
			t.Errorf("printed as %s", text)
		}
	}
	if string(token.SecretID) != "hunter2" {
		t.Error("the conversion does not reveal it")
	}
}

func TestTokenExpired(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if (&Token{}).Expired(at) {
		t.Error("a token without an end has ended")
	}
	token := &Token{ExpirationTime: at}
	for d, want := range map[time.Duration]bool{-1: false, 0: true, 1: true} {
		if got := token.Expired(at.Add(d)); got != want {
			t.Errorf("%v after its end: expired %v", d, got)
		}
	}
}
