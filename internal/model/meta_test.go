package model

import (
	"fmt"
	"strings"
	"testing"
)

func TestCheckMeta(t *testing.T) {
	many := map[string]string{}
	for i := range MaxMetaPairs {
		many[fmt.Sprint(i)] = ""
	}
	long := strings.Repeat("k", MaxMetaKey)
	for _, tc := range []struct {
		name     string
		meta     map[string]string
		reserved bool
		want     string // part of the error; empty: none
	}{
		{"none", nil, false, ""},
		{"as many as allowed", many, false, ""},
		{"longest", map[string]string{long: strings.Repeat("v", MaxMetaValue)}, false, ""},
		{"blank key", map[string]string{"": "v"}, false, "Key cannot be blank"},
		{"key's characters", map[string]string{"a b": ""}, false, "Key contains invalid characters"},
		{"key too long", map[string]string{long + "k": ""}, false, "Key is too long (limit: 128 characters)"},
		{"value too long", map[string]string{"k": strings.Repeat("v", MaxMetaValue+1)}, false, "Value is too long (limit: 512 characters)"},
		{"reserved", map[string]string{"consul-version": "1"}, false, "reserved"},
		{"reserved, by its owner", map[string]string{"consul-version": "1"}, true, ""},
		{"first of two mistakes", map[string]string{"z z": "", "a a": ""}, false, "('a a', '')"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := CheckMeta(tc.meta, tc.reserved)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	many["one more"] = ""
	if CheckMeta(many, false) == nil {
		t.Error("one pair more than the limit is accepted")
	}
}
