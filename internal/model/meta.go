package model

import (
	"fmt"
	"slices"
	"strings"
)

// Limits of a node's, service's or query's metadata, as clients know them.
const (
	MaxMetaPairs = 64
	MaxMetaKey   = 128 // bytes
	MaxMetaValue = 512
)

// reservedMeta begins the keys that only agents may set.
const reservedMeta = "consul-"

// CheckMeta checks metadata against its limits. The text has no prefix: where it
// comes from differs. With several mistakes it is about the first key.
func CheckMeta(meta map[string]string, allowReserved bool) error {
	if len(meta) > MaxMetaPairs {
		return fmt.Errorf("Node metadata cannot contain more than %d key/value pairs", MaxMetaPairs)
	}
	keys := make([]string, 0, len(meta))
	for k := range meta {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if why := metaProblem(k, meta[k], allowReserved); why != "" {
			return fmt.Errorf("Couldn't load metadata pair ('%s', '%s'): %s", k, meta[k], why)
		}
	}
	return nil
}

func metaProblem(key, value string, allowReserved bool) string {
	switch {
	case key == "":
		return "Key cannot be blank"
	case strings.ContainsFunc(key, notInMetaKey):
		return "Key contains invalid characters"
	case len(key) > MaxMetaKey:
		return fmt.Sprintf("Key is too long (limit: %d characters)", MaxMetaKey)
	case strings.HasPrefix(key, reservedMeta) && !allowReserved:
		return fmt.Sprintf("Key prefix '%s' is reserved for internal use", reservedMeta)
	case len(value) > MaxMetaValue:
		return fmt.Sprintf("Value is too long (limit: %d characters)", MaxMetaValue)
	}
	return ""
}

func notInMetaKey(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
		return false
	}
	return true
}
