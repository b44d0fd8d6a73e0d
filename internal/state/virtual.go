package state

import (
	"maps"
	"net/netip"

	"github.com/muster-discovery/muster/internal/model"
)

// VirtualTag is the tagged address under which clients find the virtual address of
// the service that a mesh instance reaches.
const VirtualTag = "consul-virtual"

// Virtual addresses are 240.0.0.1 to 255.255.255.254, numbered from 1.
const (
	virtualBase = 240 << 24
	virtualLast = 1<<28 - 2
)

// virtuals hands out one virtual address for each service that is reached through
// the mesh. It follows from the registered services and tables.nextVirtual.
type virtuals struct {
	byName map[string]*virtual
	used   map[uint32]bool
	undo   *undo // as the store's
}

type virtual struct {
	number uint32
	users  int // instances, and the command that is about to add one
}

func newVirtuals() *virtuals {
	return &virtuals{byName: make(map[string]*virtual), used: make(map[uint32]bool)}
}

// hold counts one more user of the address for a service, and makes it if there is
// none. A new one gets the next number that is free: a number given back is used
// again only after all others, as clients may remember it.
func (v *virtuals) hold(dest string, next *uint32) *virtual {
	v.undo.add(func() { v.release(dest) })
	if e := v.byName[dest]; e != nil {
		e.users++
		return e
	}
	number := *next
	for {
		if number++; number > virtualLast {
			number = 1
		}
		if !v.used[number] {
			break
		}
	}
	*next = number
	e := &virtual{number: number, users: 1}
	v.byName[dest], v.used[number] = e, true
	return e
}

func (v *virtuals) release(dest string) {
	e := v.byName[dest]
	v.undo.add(func() { v.restore(dest, e.number) })
	if e.users--; e.users == 0 {
		delete(v.byName, dest)
		delete(v.used, e.number)
	}
}

// restore takes a release back.
func (v *virtuals) restore(dest string, number uint32) {
	e := v.byName[dest]
	if e == nil {
		e = &virtual{number: number}
		v.byName[dest], v.used[number] = e, true
	}
	e.users++
}

// adopt counts an instance of a snapshot, whose address is already in it.
func (v *virtuals) adopt(dest string, svc *model.Service) bool {
	number, ok := virtualNumber(svc.TaggedAddresses[VirtualTag].Address)
	if !ok {
		return false
	}
	e := v.byName[dest]
	if e == nil {
		if v.used[number] {
			return false
		}
		e = &virtual{number: number}
		v.byName[dest], v.used[number] = e, true
	}
	e.users++
	return e.number == number
}

func virtualAddress(number uint32) string {
	n := virtualBase + number
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}).String()
}

func virtualNumber(addr string) (uint32, bool) {
	ip, err := netip.ParseAddr(addr)
	if err != nil || !ip.Is4() {
		return 0, false
	}
	b := ip.As4()
	n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	if n <= virtualBase || n > virtualBase+virtualLast {
		return 0, false
	}
	return n - virtualBase, true
}

// withVirtual adds the virtual address to a copy of the service's tagged addresses.
func withVirtual(svc *model.Service, number uint32) {
	tagged := make(map[string]model.ServiceAddress, len(svc.TaggedAddresses)+1)
	maps.Copy(tagged, svc.TaggedAddresses)
	tagged[VirtualTag] = model.ServiceAddress{Address: virtualAddress(number), Port: svc.Port}
	svc.TaggedAddresses = tagged
}

// destination is the folded name of the service that an instance reaches through
// the mesh, or empty if it is an ordinary one.
func destination(svc *model.Service) string {
	switch {
	case svc.Kind == model.KindConnectProxy && svc.Proxy != nil:
		return model.Fold(svc.Proxy.DestinationServiceName)
	case svc.Kind == model.KindTypical && svc.Connect.Native:
		return model.Fold(svc.Name)
	}
	return ""
}
