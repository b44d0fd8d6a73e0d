package wire

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
)

// kvJSON is an entry of the key/value store. encoding/json writes the value in base64,
// null for nil.
type kvJSON struct {
	LockIndex   uint64
	Key         string
	Flags       uint64
	Value       []byte
	Session     string `json:",omitempty"`
	CreateIndex uint64
	ModifyIndex uint64
	// FencingToken is Muster's own and only there for who asks for it: programs that
	// know all of Consul's fields are not to be surprised. It is text, since numbers
	// above 2^53 lose digits in many languages.
	FencingToken string `json:",omitempty"`
}

func kvOf(e *model.KVEntry) *kvJSON {
	return &kvJSON{LockIndex: e.LockIndex, Key: e.Key, Flags: e.Flags, Value: e.Value, Session: e.Session,
		CreateIndex: e.Create, ModifyIndex: e.Modify}
}

func kvWithToken(e *model.KVEntry) *kvJSON {
	j := kvOf(e)
	if e.Token != 0 {
		j.FencingToken = strconv.FormatUint(e.Token, 10)
	}
	return j
}

// KVFrame is an encoded answer about keys. Token is the fencing token of the entry if
// the answer has just one, else 0.
type KVFrame struct {
	*Frame
	Token uint64
}

// The encoders of keys make *KVFrame values.
var (
	// KVJSON lists entries.
	KVJSON = keys("kv", func(e *model.KVEntry) []byte { return encode(kvOf(e)) })
	// KVTokensJSON lists entries with their fencing tokens.
	KVTokensJSON = keys("kv with tokens", func(e *model.KVEntry) []byte { return encode(kvWithToken(e)) })
	// KeysJSON lists keys without their values.
	KeysJSON = keys("keys", func(e *model.KVEntry) []byte { return encode(e.Key) })
	// KVRaw is the value of one entry as it is.
	KVRaw = view.NewEncoder(view.Encoder{
		Name: "kv raw",
		Assemble: func(items []*view.Item) any {
			if len(items) == 0 {
				return &KVFrame{Frame: NewFrame(nil)}
			}
			e := items[0].Value.(*model.KVEntry)
			return &KVFrame{NewFrame(e.Value), e.Token}
		},
	})
)

// keys completes an encoder of entries.
func keys(name string, fragment func(*model.KVEntry) []byte) *view.Encoder {
	list := joined('[', ']', view.Encoder{
		Name:     name,
		Fragment: func(value any) any { return fragment(value.(*model.KVEntry)) },
	})
	assemble := list.Assemble
	list.Assemble = func(items []*view.Item) any {
		f := &KVFrame{Frame: assemble(items).(*Frame)}
		if len(items) == 1 {
			f.Token = items[0].Value.(*model.KVEntry).Token
		}
		return f
	}
	return list
}

// FoldKeys is the variant of a list of keys in which what follows the first separator
// after the prefix is cut off, and each name is there once.
func FoldKeys(prefix, separator string) *view.Variant {
	return &view.Variant{
		Key: "fold " + strconv.Itoa(len(prefix)) + " " + separator,
		Select: func(items []*view.Item) ([]*view.Item, error) {
			var folded []*view.Item
			last := ""
			for _, item := range items {
				key := item.Value.(*model.KVEntry).Key
				at := strings.Index(key[len(prefix):], separator)
				if at < 0 {
					folded = append(folded, item)
					continue
				}
				name := key[:len(prefix)+at+len(separator)]
				if len(folded) > 0 && name == last {
					continue
				}
				last = name
				folded = append(folded, view.NewItem(&model.KVEntry{Key: name}))
			}
			return folded, nil
		},
	}
}

// sessionJSON is a session in every list.
type sessionJSON struct {
	ID            string
	Name          string
	Node          string
	LockDelay     int64
	Behavior      string
	TTL           string
	NodeChecks    []string
	ServiceChecks []model.ServiceCheck
	CreateIndex   uint64
	ModifyIndex   uint64
}

func sessionOf(s *model.Session) *sessionJSON {
	return &sessionJSON{ID: s.ID, Name: s.Name, Node: s.Node, LockDelay: int64(s.LockDelay), Behavior: s.Behavior,
		TTL: s.TTL, NodeChecks: s.NodeChecks, ServiceChecks: s.ServiceChecks, CreateIndex: s.Create, ModifyIndex: s.Modify}
}

// SessionsJSON lists sessions.
var SessionsJSON = joined('[', ']', view.Encoder{
	Name:     "sessions",
	Fragment: func(value any) any { return encode(sessionOf(value.(*model.Session))) },
})

// SessionList is a list that is not shared.
func SessionList(list ...*model.Session) json.RawMessage {
	shapes := make([]*sessionJSON, len(list))
	for k, s := range list {
		shapes[k] = sessionOf(s)
	}
	return encode(shapes)
}
