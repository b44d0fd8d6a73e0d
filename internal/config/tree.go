package config

import (
	"bytes"
	"encoding/json"
)

// A file becomes a tree of nodes that remember their lines. HCL and JSON end in
// the same tree, so that everything behind it exists once.

type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindList
	kindObject
)

func (k kind) String() string {
	return [...]string{"null", "true or false", "a number", "a text", "a list", "an object"}[k]
}

type node struct {
	at   Place
	kind kind
	text string // kindBool, kindNumber, kindString
	list []*node
	// members of an object in the order of the file
	members []member
	// block: an HCL block; blocks of the same name stand side by side and mean
	// either one object in pieces or a list of objects, which only the key decides
	block bool
}

type member struct {
	key string
	at  Place
	val *node
}

// group puts members of the same name together, in the order of their first one.
func (n *node) group() (keys []string, by map[string][]member) {
	by = make(map[string][]member, len(n.members))
	for _, m := range n.members {
		if _, ok := by[m.key]; !ok {
			keys = append(keys, m.key)
		}
		by[m.key] = append(by[m.key], m)
	}
	return keys, by
}

// empty says whether a value asks for nothing: null, "", "default", false, [], {}.
func (n *node) empty() bool {
	switch n.kind {
	case kindNull:
		return true
	case kindBool:
		return n.text == "false"
	case kindString:
		return n.text == "" || n.text == "default"
	case kindList:
		return len(n.list) == 0
	case kindObject:
		for _, m := range n.members {
			if !m.val.empty() {
				return false
			}
		}
		return true
	}
	return false
}

// json renders a value whose meaning belongs to someone else. Members keep their
// names unless rename gives others; several blocks of one name become a list.
func (n *node) json() []byte {
	var b bytes.Buffer
	n.writeJSON(&b)
	return b.Bytes()
}

func (n *node) writeJSON(b *bytes.Buffer) {
	switch n.kind {
	case kindNull:
		b.WriteString("null")
	case kindBool, kindNumber:
		b.WriteString(n.text)
	case kindString:
		writeString(b, n.text)
	case kindList:
		writeList(b, n.list)
	case kindObject:
		keys, by := n.group()
		b.WriteByte('{')
		for i, k := range keys {
			if i > 0 {
				b.WriteByte(',')
			}
			writeString(b, k)
			b.WriteByte(':')
			if same := by[k]; len(same) == 1 {
				same[0].val.writeJSON(b)
			} else {
				writeList(b, values(same))
			}
		}
		b.WriteByte('}')
	}
}

func writeList(b *bytes.Buffer, list []*node) {
	b.WriteByte('[')
	for i, v := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		v.writeJSON(b)
	}
	b.WriteByte(']')
}

func writeString(b *bytes.Buffer, s string) {
	q, _ := json.Marshal(s) // a string always marshals
	b.Write(q)
}

func values(ms []member) []*node {
	out := make([]*node, len(ms))
	for i, m := range ms {
		out[i] = m.val
	}
	return out
}
