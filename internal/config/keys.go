package config

import (
	"reflect"
	"sort"
	"strings"
)

// fields maps each key to the field of draft that it sets.
var fields = indexFields(reflect.TypeFor[draft](), "", nil)

// parents has each key that is an object with known keys below, and their names.
var parents = indexParents()

func indexFields(t reflect.Type, prefix string, path []int) map[string][]int {
	out := map[string][]int{}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		at := append(append([]int(nil), path...), i)
		key, tagged := f.Tag.Lookup("key")
		if f.Type.Kind() == reflect.Struct {
			if key != "" {
				key += "."
			}
			for k, v := range indexFields(f.Type, prefix+key, at) {
				out[k] = v
			}
		} else if tagged {
			out[prefix+key] = at
		}
	}
	return out
}

func indexParents() map[string][]string {
	out := map[string][]string{}
	seen := map[string]bool{}
	add := func(key string) {
		for {
			parent, name := "", key
			if i := strings.LastIndexByte(key, '.'); i >= 0 {
				parent, name = key[:i], key[i+1:]
			}
			if !seen[key] {
				seen[key] = true
				out[parent] = append(out[parent], name)
			}
			if parent == "" {
				return
			}
			key = parent
		}
	}
	for k := range fields {
		add(k)
	}
	for k := range rules {
		add(k)
	}
	for k := range oldNames {
		add(k)
	}
	for _, k := range []string{"service", "services", "check", "checks"} {
		add(k)
	}
	for _, names := range out {
		sort.Strings(names)
	}
	return out
}

// Keys lists all keys that set something, sorted.
func Keys() []string {
	out := make([]string, 0, len(fields))
	for k := range fields {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// Closest is the name among names that a typing mistake may have turned into name,
// or "".
func Closest(name string, names []string) string {
	best, bestDistance := "", 1+len(name)/3
	for _, n := range names {
		if d := distance(name, n); d < bestDistance || d == bestDistance && best == "" && d <= 2 {
			best, bestDistance = n, d
		}
	}
	return best
}

// distance is the number of letters to change, add, drop or swap.
func distance(a, b string) int {
	before := make([]int, len(b)+1)
	prev := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}

// pendingRule is the rule that says that a key has no effect yet: its own, or that
// of an object above it.
func pendingRule(key string) (rule, bool) {
	for {
		if r, ok := rules[key]; ok && r.verdict == pending {
			return r, true
		}
		i := strings.LastIndexByte(key, '.')
		if i < 0 {
			return rule{}, false
		}
		key = key[:i]
	}
}
