package model

import (
	"math"
	"testing"
	"time"
)

func TestCoordinateDistance(t *testing.T) {
	at := func(x, y, height, adjustment float64) *Coordinate {
		return &Coordinate{Vec: []float64{x, y, 0, 0, 0, 0, 0, 0}, Height: height, Adjustment: adjustment}
	}
	for _, c := range []struct {
		a, b *Coordinate
		want time.Duration
	}{
		{at(0, 0, 0, 0), at(3, 4, 0, 0), 5 * time.Second},
		{at(0, 0, 0.5, 0), at(3, 4, 0.25, 0), 5750 * time.Millisecond},
		{at(0, 0, 0, -1), at(3, 4, 0, 0.5), 4500 * time.Millisecond},
		{at(0, 0, 0, -9), at(3, 4, 0, 0), 5 * time.Second}, // no time is negative
		{at(1e300, 0, 0, 0), at(-1e300, 0, 0, 0), math.MaxInt64},
	} {
		if got, back := c.a.Distance(c.b), c.b.Distance(c.a); got != c.want || back != c.want {
			t.Errorf("%v to %v: %s and back %s, want %s", c.a, c.b, got, back, c.want)
		}
	}
}

func TestCoordinateValid(t *testing.T) {
	good := Coordinate{Vec: make([]float64, CoordinateDimensions)}
	if !good.Valid() {
		t.Error("the origin is refused")
	}
	for _, bad := range []Coordinate{
		{}, {Vec: make([]float64, 7)}, {Vec: make([]float64, 8), Height: math.NaN()},
		{Vec: []float64{0, 0, 0, math.Inf(-1), 0, 0, 0, 0}},
	} {
		if bad.Valid() {
			t.Errorf("%v is accepted", bad)
		}
	}
}
