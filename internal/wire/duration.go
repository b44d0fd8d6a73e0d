package wire

import (
	"encoding/json"
	"time"
)

// readable is a duration that is written as Go writes it ("1m30s").
type readable time.Duration

func (d readable) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(d).String())
}

// optionalDuration is left out of objects when it is zero.
type optionalDuration time.Duration

func (d optionalDuration) IsZero() bool { return d == 0 }

func (d optionalDuration) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(d).String())
}
