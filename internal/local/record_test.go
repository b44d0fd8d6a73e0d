package local

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// fullUnit has every field of a record set.
func fullUnit() *unit {
	def := &model.CheckDefinition{}
	fill(reflect.ValueOf(def).Elem())
	svc := &model.Service{}
	fill(reflect.ValueOf(svc).Elem())
	svc.Node, svc.Indexes = "n1", model.Indexes{}
	svc.Proxy.Raw = []byte(`{"a":1}`)
	side := *svc
	side.ID = "side"
	return &unit{
		key:      serviceUnit(svc.ID),
		services: []serviceDef{{svc, "token"}, {&side, "token2"}},
		checks: []checkDef{
			{def: def, embedded: true, serviceName: "name", serviceTags: []string{"t"}},
			{def: &model.CheckDefinition{ID: "m", Name: "m"}, maintenance: true},
		},
	}
}

// fill sets all fields to something that is not their zero value.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64, reflect.Uint8:
		v.SetUint(7)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1e9, 0).UTC()))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	}
}

func TestRecordsKeepEverything(t *testing.T) {
	u := fullUnit()
	value, err := encodeUnit(u, 42)
	must(t, err)
	got, seq, err := decodeUnit(u.key, "n1", value)
	must(t, err)
	if seq != 42 || !reflect.DeepEqual(got, u) {
		t.Errorf("read back:\n%+v\n%+v\nwritten:\n%+v\n%+v", *got.services[0].service, *got.checks[0].def, *u.services[0].service, *u.checks[0].def)
	}
}

// An agent must not forget registrations because a newer version wrote them.
func TestNewerRecordsAreRefused(t *testing.T) {
	j := newFakeJournal()
	j.values["service/x"] = []byte(`{"format":2,"seq":1}`)
	if _, err := Open(testConfig(newFakeCatalog(), j)); err == nil || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("error is %v", err)
	}
	j.values = map[string][]byte{"service/x": []byte("{")}
	if _, err := Open(testConfig(newFakeCatalog(), j)); err == nil || !strings.Contains(err.Error(), `"service/x"`) {
		t.Errorf("error is %v", err)
	}
	// A state is not worth that.
	j.values = map[string][]byte{"state/x": []byte("{"), "alive": []byte("?")}
	open(t, testConfig(newFakeCatalog(), j))
}

func FuzzDecodeUnit(f *testing.F) {
	value, err := encodeUnit(fullUnit(), 1)
	must(f, err)
	f.Add(value)
	f.Add([]byte(`{"format":1,"checks":[{}]}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		j := newFakeJournal()
		j.values["service/x"] = value
		l, err := Open(testConfig(newFakeCatalog(), j))
		if err != nil {
			return
		}
		_ = l.SetFileDefinitions(ctx, nil, nil)
		l.Checks()
		l.Services()
	})
}
