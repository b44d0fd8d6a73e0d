package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Size is a number of bytes as people write it: 64MiB, 10GB, 4096. Empty: none is given.
type Size string

// units by their names in lower case. Those of ten are what disks are sold by.
var units = map[string]float64{
	"": 1, "b": 1,
	"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
	"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// Bytes is the number; 0 if none is given.
func (s Size) Bytes() (int64, error) {
	text := strings.TrimSpace(string(s))
	if text == "" {
		return 0, nil
	}
	end := strings.LastIndexAny(text, "0123456789.") + 1
	unit, known := units[strings.ToLower(strings.TrimSpace(text[end:]))]
	number, err := strconv.ParseFloat(text[:end], 64)
	if n := number * unit; known && err == nil && n >= 0 && n < 1<<62 {
		return int64(n), nil
	}
	return 0, fmt.Errorf("%q: want a size such as 64MiB or 10GB", string(s))
}
