package cli

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
)

var keygenCommand = &command{
	name:  "keygen",
	short: "Make a key for the encryption of gossip",
	long:  "Prints a new random key for the setting encrypt: 32 bytes in base64.",
	setup: func(f *flags) func([]string) int {
		return func([]string) int {
			var key [32]byte
			rand.Read(key[:]) // never fails
			fmt.Fprintln(f.stdout, base64.StdEncoding.EncodeToString(key[:]))
			return 0
		}
	},
}
