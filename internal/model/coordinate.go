package model

import (
	"math"
	"time"
)

// CoordinateDimensions is the number of elements of Vec.
const CoordinateDimensions = 8

// Coordinate is a place in the network as the Vivaldi algorithm estimates it; all
// in seconds.
type Coordinate struct {
	Vec        []float64
	Error      float64
	Adjustment float64
	Height     float64
}

// Valid reports whether distances can be computed from c.
func (c *Coordinate) Valid() bool {
	if len(c.Vec) != CoordinateDimensions {
		return false
	}
	for _, v := range append([]float64{c.Error, c.Adjustment, c.Height}, c.Vec...) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// Distance is the estimated round-trip time between two valid coordinates.
func (c *Coordinate) Distance(to *Coordinate) time.Duration {
	sum := 0.0
	for i, v := range c.Vec {
		sum += (v - to.Vec[i]) * (v - to.Vec[i])
	}
	d := math.Sqrt(sum) + c.Height + to.Height
	if adjusted := d + c.Adjustment + to.Adjustment; adjusted > 0 {
		d = adjusted
	}
	if ns := d * float64(time.Second); ns < math.MaxInt64 {
		return time.Duration(ns)
	}
	return math.MaxInt64
}

// NodeCoordinate is where a node is.
type NodeCoordinate struct {
	Node       string
	Coordinate Coordinate
	Indexes
}

// CoordinateUpdate places nodes. Nodes that are not in the catalog are passed over.
type CoordinateUpdate struct {
	Nodes []NodeCoordinate
}
