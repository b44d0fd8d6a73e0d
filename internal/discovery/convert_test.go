package discovery

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/muster-discovery/muster/internal/model"
	v1 "github.com/muster-discovery/muster/proto/muster/discovery/v1"
)

// fill sets everything in v at random; with full nothing is left out. A field that
// the model gains is filled too, so that a conversion which does not know it fails.
func fill(t testing.TB, r *rand.Rand, v reflect.Value, full bool) {
	absent := !full && r.IntN(4) == 0
	switch v.Kind() {
	case reflect.Pointer:
		if absent && v.Type() != reflect.TypeFor[*model.Node]() && v.Type() != reflect.TypeFor[*model.Service]() && v.Type() != reflect.TypeFor[*model.Check]() {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, r, v.Elem(), full)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			if !absent {
				v.Set(reflect.ValueOf(time.Unix(r.Int64N(1<<33), r.Int64N(1e9)).UTC()))
			}
			return
		}
		for i := range v.NumField() {
			fill(t, r, v.Field(i), full)
		}
	case reflect.Slice:
		if absent {
			return
		}
		n := r.IntN(3)
		if full || v.Type() == reflect.TypeFor[[]*model.Check]() {
			n++
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, r, v.Index(i), full)
		}
	case reflect.Map:
		if absent {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		n := r.IntN(3)
		if full {
			n++
		}
		for range n {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(t, r, key, true)
			fill(t, r, value, full)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		if !absent {
			v.SetString(fmt.Sprintf("ä%d", r.Uint32()))
		}
	case reflect.Int:
		v.SetInt(int64(r.Uint64()))
	case reflect.Uint64:
		v.SetUint(r.Uint64())
	case reflect.Uint8:
		v.SetUint(uint64(r.IntN(256)))
	case reflect.Bool:
		v.SetBool(full || r.IntN(2) == 0)
	default:
		t.Fatalf("a field of kind %s: teach the conversion and this test", v.Kind())
	}
}

func random(t testing.TB, r *rand.Rand, full bool) *model.Instance {
	i := new(model.Instance)
	fill(t, r, reflect.ValueOf(i).Elem(), full)
	return i
}

func throughWire(t testing.TB, i *model.Instance) *model.Instance {
	b, err := proto.Marshal(Encode(i))
	if err != nil {
		t.Fatal(err)
	}
	m := new(v1.Instance)
	if err := proto.Unmarshal(b, m); err != nil {
		t.Fatal(err)
	}
	return Decode(m)
}

func TestRoundTrip(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	for n := range 2000 {
		want := random(t, r, n%2 == 0)
		if got := throughWire(t, want); !reflect.DeepEqual(got, want) {
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			t.Fatalf("seed %d:\ngot  %s\nwant %s", seed, a, b)
		}
	}
}

// Texts that protobuf refuses become what JSON makes of them.
func TestRoundTripMendsTexts(t *testing.T) {
	bad := "a\xff\xfeb\xe2\x82"
	in := random(t, rand.New(rand.NewPCG(1, 1)), true)
	in.Checks[0].Output, in.Service.Meta = bad, map[string]string{bad: bad}
	out := throughWire(t, in)
	said := func(i *model.Instance) (v any) {
		b, err := json.Marshal(i)
		if err == nil {
			err = json.Unmarshal(b, &v)
		}
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if a, b := said(in), said(out); !reflect.DeepEqual(a, b) {
		t.Errorf("%v\n%v", a, b)
	}
}

// What others send may lack anything.
func TestDecodeOfNothing(t *testing.T) {
	i := Decode(&v1.Instance{Checks: []*v1.Check{nil, {}}})
	if i.Node == nil || i.Service == nil || len(i.Checks) != 2 {
		t.Errorf("%+v", i)
	}
}
