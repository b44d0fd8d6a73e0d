package fsm

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/pb"
)

func genItem(t *rapid.T) any {
	node := genNode(t)
	switch rapid.IntRange(0, 10).Draw(t, "item") {
	case 0:
		return &node
	case 1:
		return genService(t)
	case 2:
		return genCheck(t)
	case 3:
		i := &model.Instance{Node: &node, Service: genService(t)}
		for range rapid.IntRange(0, 2).Draw(t, "checks") {
			i.Checks = append(i.Checks, genCheck(t))
		}
		return i
	case 4:
		n := &model.NodeServices{Node: &node}
		for range rapid.IntRange(0, 2).Draw(t, "services") {
			n.Services = append(n.Services, genService(t))
		}
		return n
	case 5:
		return &model.ServiceSummary{Name: genString(t), Tags: genStrings(t)}
	case 6:
		root := genRoot(t)
		root.KeyPEM = ""
		return root
	case 7:
		return &model.KVEntry{Key: genKey(t), Value: genBytes(t), Flags: rapid.Uint64().Draw(t, "flags"),
			Session: genString(t), Indexes: genIndexes(t)}
	case 8:
		return genSession(t)
	case 9:
		q := genQuery(t)
		return &q
	}
	c := genCoordinate(t)
	return &c
}

// TestItems: what one agent writes another reads, and so does the schema.
func TestItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Custom(genItem), 0, 4).Draw(t, "items")
		var b []byte
		for _, v := range want {
			var err error
			if b, err = AppendItem(b, v); err != nil {
				t.Fatal(err)
			}
		}
		got, err := DecodeItems(b)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d items of %d, %v", len(got), len(want), err)
		}
		for i := range want {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("\n got %#v\nwant %#v", got[i], want[i])
			}
		}
		var m pb.Items
		if err := proto.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		m.ProtoReflect().Range(func(f protoField, v protoValue) bool { return known(t, f, v) })
	})
}

func TestItemsKeepSecrets(t *testing.T) {
	b, err := AppendItem(nil, &model.CARoot{ID: "r", KeyPEM: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeItems(b)
	if err != nil || got[0].(*model.CARoot).KeyPEM != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := AppendItem(nil, "text"); err == nil {
		t.Error("a value that is no item was written")
	}
}

// TestItemsFromNewer: an agent that is older than a server does without what it
// does not know.
func TestItemsFromNewer(t *testing.T) {
	b, err := proto.Marshal(&pb.Items{Items: []*pb.Item{{Item: &pb.Item_Node{Node: &pb.Node{Name: "a"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	newer := writer{}
	newer.embed(1, func() { newer.embed(99, func() {}) })                                                // another kind of item
	newer.embed(1, func() { newer.embed(itemNode, func() { newer.text(2, "b"); newer.text(99, "x") }) }) // another field
	got, err := DecodeItems(append(b, newer.buf...))
	if err != nil || len(got) != 2 || got[1].(*model.Node).Name != "b" {
		t.Errorf("%v, %v", got, err)
	}
}

func FuzzDecodeItems(f *testing.F) {
	b, _ := AppendItem(nil, &model.Instance{Node: &model.Node{Name: "n"}, Service: &model.Service{Name: "s"}, Checks: []*model.Check{{ID: "c"}}})
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		items, err := DecodeItems(b)
		if err != nil {
			return
		}
		for _, v := range items {
			if _, err := AppendItem(nil, v); err != nil {
				t.Fatal(err)
			}
		}
	})
}
