package cli

import (
	"testing"

	"github.com/hashicorp/serf/coordinate"
)

func TestRTT(t *testing.T) {
	// A coordinate at so many seconds along one axis, of height 0.
	at := func(seconds float64) *coordinate.Coordinate {
		c := coordinate.NewCoordinate(coordinate.DefaultConfig())
		c.Vec[0], c.Height = seconds, 0
		return c
	}
	node := func(name string, seconds float64) []any {
		return []any{map[string]any{"Node": name, "Coord": at(seconds)}}
	}
	strange := map[string]any{"Node": "odd", "Coord": map[string]any{"Vec": []float64{1}}}
	newFake(t, map[string]any{
		"GET /v1/coordinate/node/n1":  node("n1", 0),
		"GET /v1/coordinate/node/n2":  node("n2", 0.00061),
		"GET /v1/coordinate/node/odd": []any{strange},
		"GET /v1/agent/self":          map[string]any{"Config": map[string]any{"NodeName": "n2", "Datacenter": "dc2"}},
		"GET /v1/coordinate/datacenters": []any{
			map[string]any{"Datacenter": "dc1", "AreaID": "wan", "Coordinates": node("s1.dc1", 0)},
			map[string]any{"Datacenter": "dc2", "AreaID": "wan", "Coordinates": node("n2", 0.001275)},
			map[string]any{"Datacenter": "dc3", "AreaID": "other", "Coordinates": node("s1", 1)},
		},
	})
	muster("rtt", "n1", "n2").want(t, 0, "Estimated n1 <-> n2 rtt: 0.610 ms (using LAN coordinates)\n")
	muster("rtt", "n1").want(t, 0, "Estimated n1 <-> n2 rtt: 0.610 ms (using LAN coordinates)\n")
	muster("rtt", "-wan", "s1.dc1", "N2.dc2").want(t, 0, "Estimated s1.dc1 <-> N2.dc2 rtt: 1.275 ms (using WAN coordinates)\n")
	muster("rtt", "-wan", "s1.dc1").want(t, 0, "Estimated s1.dc1 <-> n2.dc2 rtt: 1.275 ms (using WAN coordinates)\n")
	for args, want := range map[string]string{
		"":                    "one or two names",
		"a b c":               "one or two names",
		"n1 nobody":           `no coordinate for node "nobody"`,
		"nobody":              `no coordinate for node "nobody"`,
		"n1 odd":              "can't be compared",
		"-wan s1.dc1 n2.dc9":  `no coordinate for node "n2.dc9"`,
		"-wan s1.dc1 s1.dc3":  "different areas",
		"-wan nobody.dc1":     `no coordinate for node "nobody.dc1"`,
		"-http-addr=:1 n1 n2": "No agent answers",
	} {
		muster(words("rtt "+args)...).wantError(t, want)
	}
}
