package wire

import (
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"reflect"
	"strconv"

	"github.com/muster-discovery/muster/internal/model"
)

// Hash sets ContentHash, which changes whenever anything else does that a proxy
// could care for. Clients compare it with what they got before, maybe from another
// agent or from Consul, so it is computed as Consul does: by the published method
// of mitchellh/hashstructure over the struct of the public Go client, whose names
// of types and fields are part of the result.
func (a *AgentService) Hash() string {
	type AgentWeights struct{ Passing, Warning int }
	type AgentServiceConnect struct {
		Native         bool
		SidecarService *struct{}
	}
	type AgentService struct {
		Kind              string
		ID                string
		Service           string
		Tags              []string
		Meta              map[string]string
		Port              int
		Address           string
		SocketPath        string
		TaggedAddresses   map[string]model.ServiceAddress
		Weights           AgentWeights
		EnableTagOverride bool
		CreateIndex       uint64
		ModifyIndex       uint64
		ContentHash       string
		Proxy             any
		Connect           *AgentServiceConnect
		PeerName          string
	}
	s := AgentService{
		Kind: a.Kind, ID: a.ID, Service: a.Service, Tags: a.Tags, Meta: a.Meta, Port: a.Port, Address: a.Address,
		SocketPath: a.SocketPath, TaggedAddresses: a.TaggedAddresses, Weights: AgentWeights(a.Weights),
		EnableTagOverride: a.EnableTagOverride, PeerName: a.PeerName,
	}
	if a.Connect != nil {
		s.Connect = &AgentServiceConnect{Native: a.Connect.Native}
	}
	if a.Proxy != nil {
		// Its form differs from version to version of Consul, so any will do.
		s.Proxy = generic(a.Proxy)
	}
	w := hasher{fnv.New64()}
	a.ContentHash = strconv.FormatUint(w.visit(reflect.ValueOf(s)), 16)
	return a.ContentHash
}

// generic is a value as maps, lists, strings and booleans; numbers stay texts.
func generic(v any) any {
	parsed, err := parse(encode(v))
	if err != nil {
		panic(fmt.Sprintf("wire: decode an own %T: %v", v, err))
	}
	return plain(parsed)
}

// hasher computes hashes of values in the first format of hashstructure.
type hasher struct{ hash.Hash64 }

func (w hasher) visit(v reflect.Value) uint64 {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Invalid: // nil counts as zero
		return w.number(0)
	case reflect.Int:
		return w.number(uint64(v.Int()))
	case reflect.Uint64:
		return w.number(v.Uint())
	case reflect.Bool:
		if v.Bool() {
			return w.bytes([]byte{1})
		}
		return w.bytes([]byte{0})
	case reflect.String:
		return w.bytes([]byte(v.String()))
	case reflect.Slice:
		var h uint64
		for k := range v.Len() {
			h = w.pair(h, w.visit(v.Index(k)))
		}
		return h
	case reflect.Map:
		var h uint64
		for it := v.MapRange(); it.Next(); {
			h ^= w.pair(w.visit(it.Key()), w.visit(it.Value()))
		}
		return h
	case reflect.Struct:
		h := w.bytes([]byte(v.Type().Name()))
		for k := range v.NumField() {
			h ^= w.pair(w.bytes([]byte(v.Type().Field(k).Name)), w.visit(v.Field(k)))
		}
		return h
	}
	panic("wire: cannot hash " + v.Type().String())
}

func (w hasher) bytes(b []byte) uint64 {
	w.Reset()
	_, _ = w.Write(b) // a hash takes everything
	return w.Sum64()
}

func (w hasher) number(n uint64) uint64 {
	return w.bytes(binary.LittleEndian.AppendUint64(nil, n))
}

func (w hasher) pair(a, b uint64) uint64 {
	return w.bytes(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, a), b))
}
