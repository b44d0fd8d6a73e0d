package wire

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzQueryBody: what is read and shown can be read again, as the same query.
func FuzzQueryBody(f *testing.F) {
	f.Add([]byte(`{"Name":"q","Service":{"Service":"web","Failover":{"Targets":[{"Peer":"p"}]},"Tags":[],"NodeMeta":{}},"DNS":{"TTL":"1s"}}`))
	f.Add([]byte(`{"service":null,"Template":{"type":"x"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := DecodeQuery(b)
		if err != nil {
			return
		}
		shown, err := json.Marshal(queryOf(q))
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeQuery(shown)
		if err != nil {
			t.Fatalf("%s: %v", shown, err)
		}
		if once, twice := queryOf(q), queryOf(again); !reflect.DeepEqual(once, twice) {
			// Bytes that are not UTF-8 are replaced by encoding/json.
			if text, _ := json.Marshal(twice); string(text) != string(shown) {
				t.Errorf("%s comes back as %s", shown, text)
			}
		}
	})
}

func FuzzCoordinateBody(f *testing.F) {
	f.Add([]byte(`{"Node":"n","Coord":{"Vec":[1,2],"Error":1e3,"Height":null}}`))
	f.Add([]byte(`{"Coord":{"Vec":[1e999]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := DecodeCoordinate(b)
		if err != nil {
			return
		}
		for _, v := range c.Coordinate.Vec {
			if v-v != 0 {
				t.Errorf("%s gives %v", b, c.Coordinate)
			}
		}
	})
}
