package telemetry

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestRegister(t *testing.T) {
	counter := func(name string) prometheus.Collector {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name})
	}
	reg := prometheus.NewRegistry()
	names := func() string {
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, f := range families {
			list = append(list, f.GetName())
		}
		return strings.Join(list, " ")
	}
	r, err := Register(reg, "one", counter("a"), counter("b"))
	if err != nil || names() != "a b" {
		t.Fatalf("%v, registered %q", err, names())
	}
	if _, err := Register(reg, "two", counter("c"), counter("b")); err == nil || !strings.HasPrefix(err.Error(), "two: ") || names() != "a b" {
		t.Errorf("%v, registered %q", err, names())
	}
	r.Unregister()
	r.Unregister()
	if names() != "" {
		t.Errorf("still registered %q", names())
	}
	if r, err := Register(nil, "none", counter("a")); err != nil {
		t.Error(err)
	} else {
		r.Unregister()
	}
}
