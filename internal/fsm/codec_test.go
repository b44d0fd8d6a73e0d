package fsm

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/pb"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestCommandRoundTrip(t *testing.T) {
	shared := newNames()
	rapid.Check(t, func(t *rapid.T) {
		want := genCommand(t)
		b, err := Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []*names{nil, shared, shared} {
			got, err := decode(b, n)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("\n got %#v\nwant %#v", got.Op, want.Op)
			}
		}
	})
}

// TestCommandSchema holds the codec to pb/log.proto: the generated code reads what
// it wrote with nothing left over, and what the generated code then writes reads
// back as the same command.
func TestCommandSchema(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genCommand(t)
		b, err := Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		var m pb.Command
		if err := proto.Unmarshal(b[1:], &m); err != nil {
			t.Fatal(err)
		}
		m.ProtoReflect().Range(func(f protoField, v protoValue) bool { return known(t, f, v) })
		again, err := proto.MarshalOptions{Deterministic: true}.Marshal(&m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(append([]byte{Format}, again...))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v\n got %#v\nwant %#v", err, got, want)
		}
	})
}

func TestDecodeErrors(t *testing.T) {
	good := encode(t, sample(1))
	field := func(b []byte, num protowire.Number) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), 1)
	}
	message := func(num protowire.Number, body []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag([]byte{Format}, num, protowire.BytesType), body)
	}
	tests := []struct {
		name  string
		in    []byte
		newer string // part of the text, or empty for malformed
	}{
		{"nothing", nil, ""},
		{"no operation", []byte{Format}, ""},
		{"format 0", []byte{0, 1}, ""},
		{"format 2", []byte{2, 1, 2, 3}, "format 2"},
		{"cut off", good[:len(good)-1], ""},
		{"unknown operation", message(17, nil), "field 17 of Command"},
		{"unknown field of an operation", message(opDeregister, field(nil, 9)), "field 9 of Deregistration"},
		{"unknown field of meta", message(1, field(nil, 9)), "field 9 of Meta"},
		{"wrong type", message(opDeregister, field(nil, 2)), ""},
		{"two operations", append(encode(t, sample(1)), message(opDeregister, nil)[1:]...), ""},
		{"unknown verb", message(opKV, []byte{0x08, 99}), "field 1 of KVOp"},
		{"no verb", message(opKV, nil), ""},
		{"no operation in a transaction", message(opTxn, []byte{0x0a, 0}), ""},
		{"short request id", message(1, []byte{0x0a, 1, 1}), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode(tt.in)
			var newer *newerError
			switch {
			case err == nil:
				t.Fatal("no error")
			case tt.newer == "" && model.KindOf(err) != model.KindInvalid:
				t.Fatalf("not malformed: %v", err)
			case tt.newer != "" && (!errors.As(err, &newer) || !strings.Contains(err.Error(), tt.newer)):
				t.Fatal(err)
			}
		})
	}
}

func TestEncodeUnknown(t *testing.T) {
	if _, err := Encode(&Command{Op: 1}); err == nil {
		t.Fatal("no error")
	}
}

func TestInvalidTextIsReplaced(t *testing.T) {
	c := &Command{Op: &model.Deregistration{Node: "a\xffb"}}
	got, err := Decode(encode(t, c))
	if err != nil || got.Op.(*model.Deregistration).Node != "a\uFFFDb" {
		t.Fatal(got, err)
	}
}

// TestGoldenCommands pins the bytes of format 1: servers of all later versions
// must read them. Never change the files, add to them.
func TestGoldenCommands(t *testing.T) {
	expect := uint64(7)
	commands := map[string]*Command{
		"register":   sample(42),
		"deregister": {Op: &model.Deregistration{Datacenter: "dc1", Node: "n1", ServiceID: "web", CheckID: "c"}},
		"mesh": {Op: &model.Registration{Node: model.Node{Name: "n", Meta: map[string]string{}}, SkipNodeUpdate: true,
			Service: &model.Service{ID: "p", Name: "web-proxy", Kind: model.KindConnectProxy, Tags: []string{}, Port: 2000,
				Proxy: &model.Proxy{DestinationServiceName: "web", Raw: []byte(`{"Config":{}}`)}, Locality: &model.Locality{Region: "r"}}}},
		"set_ca_roots": {Meta: sample(1).Meta, Op: &model.CARootSet{ClusterID: "c1", ExpectIndex: &expect,
			Roots: []*model.CARoot{{ID: "aa:bb", Name: "root", SerialNumber: 9, CertPEM: "cert", KeyPEM: "key", NotAfter: t0, KeyType: "ec", KeyBits: 256, Active: true}}}},
	}
	for i, op := range sampleKeyOps() {
		commands[fmt.Sprintf("keys_%d", i)] = &Command{Meta: sample(1).Meta, Op: op}
	}
	for i, op := range sampleQueryOps() {
		commands[fmt.Sprintf("query_%d", i)] = &Command{Meta: sample(1).Meta, Op: op}
	}
	for name, c := range commands {
		t.Run(name, func(t *testing.T) {
			golden(t, "testdata/command_1_"+name+".bin", encode(t, c))
			b, err := os.ReadFile("testdata/command_1_" + name + ".bin")
			if err != nil {
				t.Fatal(err)
			}
			got, err := Decode(b)
			if err != nil || !reflect.DeepEqual(got, c) {
				t.Fatal(got, err)
			}
		})
	}
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%s: the bytes changed:\n got %x\nwant %x", file, got, want)
	}
}

// FuzzDecode: no bytes make it panic, and what is read can be written and read
// again with the same result.
func FuzzDecode(f *testing.F) {
	f.Add(encode(f, sample(1)))
	f.Add(encode(f, &Command{Op: &model.Deregistration{Node: "n"}}))
	f.Add(encode(f, &Command{Op: &model.CARootSet{Roots: []*model.CARoot{{ID: "a", NotAfter: t0}}}}))
	f.Add([]byte{1, 1})
	for _, op := range append(sampleKeyOps(), sampleQueryOps()...) {
		f.Add(encode(f, &Command{Op: op}))
	}
	shared := newNames()
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Decode(b)
		if d, err2 := decode(b, shared); (err == nil) != (err2 == nil) || err == nil && !reflect.DeepEqual(c, d) {
			t.Fatalf("%v, %v: %#v, shared %#v", err, err2, c, d)
		}
		if err != nil {
			return
		}
		once := encode(t, c)
		again, err := Decode(once)
		if err != nil {
			t.Fatal(err)
		}
		if twice := encode(t, again); !bytes.Equal(once, twice) {
			t.Fatalf("%x\n%x", once, twice)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	c := sample(1)
	b.ReportAllocs()
	defer cpu(b)()
	for range b.N {
		if _, err := Encode(c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	in := encode(b, sample(1))
	for _, bm := range []struct {
		name  string
		names *names
	}{{"plain", nil}, {"shared", newNames()}} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			defer cpu(b)()
			for range b.N {
				if _, err := decode(in, bm.names); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
