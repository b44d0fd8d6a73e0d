package config

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestEveryFieldHasADecoder(t *testing.T) {
	for key, at := range fields {
		f := reflect.TypeFor[draft]().FieldByIndex(at)
		switch f.Type.Kind() {
		case reflect.String, reflect.Bool, reflect.Int, reflect.Float64:
		case reflect.Int64:
			if f.Type != durationType {
				t.Errorf("%s: int64 that is no duration", key)
			}
		case reflect.Slice:
			if e := f.Type.Elem(); e.Kind() != reflect.String && e != reflect.TypeFor[Raw]() {
				t.Errorf("%s: list of %s", key, e)
			}
		case reflect.Map:
			if e := f.Type.Elem(); e.Kind() != reflect.String && e != reflect.TypeFor[time.Duration]() {
				t.Errorf("%s: map of %s", key, e)
			}
		default:
			t.Errorf("%s: %s", key, f.Type)
		}
	}
}

func TestTablesAgree(t *testing.T) {
	for old, now := range oldNames {
		if fields[now] == nil {
			t.Errorf("%s stands for %s, which is no key", old, now)
		}
		if fields[old] != nil {
			t.Errorf("%s is an old name and a key", old)
		}
	}
	for key, r := range rules {
		known := fields[key] != nil
		for k := range fields {
			known = known || strings.HasPrefix(k, key+".")
		}
		if r.verdict == pending && !known {
			t.Errorf("%s is pending, but sets nothing", key)
		}
		if r.verdict != pending && known {
			t.Errorf("%s is %d, but sets something", key, r.verdict)
		}
		if (r.verdict == refused || r.verdict == warned) && r.why == "" {
			t.Errorf("%s: no reason", key)
		}
	}
}

func TestStructsStaySmall(t *testing.T) {
	var walk func(reflect.Type)
	walk = func(ty reflect.Type) {
		if n := ty.NumField(); n > 26 {
			t.Errorf("%s has %d fields", ty, n)
		}
		for i := range ty.NumField() {
			if f := ty.Field(i).Type; f.Kind() == reflect.Struct {
				walk(f)
			}
		}
	}
	for i := range reflect.TypeFor[Config]().NumField() { // Config itself is the list of the groups
		if f := reflect.TypeFor[Config]().Field(i).Type; f.Kind() == reflect.Struct {
			walk(f)
		}
	}
}

func TestClosest(t *testing.T) {
	names := []string{"datacenter", "data_dir", "domain", "node_name", "server", "ui"}
	for in, want := range map[string]string{"datacentre": "datacenter", "datadir": "data_dir", "nod_name": "node_name", "sevrer": "server", "zebra": "", "x": ""} {
		if got := Closest(in, names); got != want {
			t.Errorf("Closest(%q) = %q, want %q", in, got, want)
		}
	}
}
