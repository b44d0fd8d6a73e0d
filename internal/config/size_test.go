package config

import (
	"strings"
	"testing"
)

func TestSize(t *testing.T) {
	for text, want := range map[Size]int64{
		"": 0, "0": 0, "4096": 4096, "64MiB": 64 << 20, "64 mib": 64 << 20, "1.5G": 3 << 29, "10GB": 1e10, " 7b ": 7, "1TiB": 1 << 40,
	} {
		if got, err := text.Bytes(); got != want || err != nil {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []Size{"much", "-1", "10XB", "MiB", "1e400TB", "9999999TiB", "0x10"} {
		if got, err := text.Bytes(); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}

func TestSizesAreChecked(t *testing.T) {
	_, _, err := Load(Options{Dev: true, HCL: []string{`storage { quota = "much" reserve = "-1" }`}})
	for _, part := range []string{"storage.quota", "much", "storage.reserve", "64MiB"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
}

func FuzzSize(f *testing.F) {
	f.Add("64MiB")
	f.Add("1.5.5G")
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := Size(text).Bytes(); n < 0 || err != nil && n != 0 {
			t.Errorf("%d, %v", n, err)
		}
	})
}
