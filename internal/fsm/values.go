package fsm

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/muster-discovery/muster/internal/model"
)

// The numbers are those of pb/log.proto.

func (w *writer) node(n *model.Node) {
	w.string(1, n.ID)
	w.string(2, n.Name)
	w.string(3, n.Address)
	w.string(4, n.Datacenter)
	w.stringMap(5, n.TaggedAddresses)
	w.stringMap(6, n.Meta)
	w.uint(7, n.Create)
	w.uint(8, n.Modify)
}

func (r *reader) node(n *model.Node) {
	for r.next() {
		switch r.num {
		case 1:
			n.ID = r.string()
		case 2:
			n.Name = r.name()
		case 3:
			n.Address = r.name()
		case 4:
			n.Datacenter = r.name()
		case 5:
			n.TaggedAddresses = r.stringMap(false)
		case 6:
			n.Meta = r.stringMap(true)
		case 7:
			n.Create = r.uint()
		case 8:
			n.Modify = r.uint()
		default:
			r.unknown("Node")
		}
	}
}

func (w *writer) service(s *model.Service) {
	w.string(1, s.Node)
	w.string(2, s.ID)
	w.string(3, s.Name)
	w.string(4, s.Kind)
	w.strings(5, s.Tags)
	w.string(6, s.Address)
	w.int(7, s.Port)
	w.string(8, s.SocketPath)
	w.addresses(9, s.TaggedAddresses)
	w.stringMap(10, s.Meta)
	w.int(11, s.Weights.Passing)
	w.int(12, s.Weights.Warning)
	w.bool(13, s.EnableTagOverride)
	w.proxy(14, s.Proxy)
	w.bool(15, s.Connect.Native)
	if l := s.Locality; l != nil {
		start := w.begin(16)
		w.string(1, l.Region)
		w.string(2, l.Zone)
		w.end(start)
	}
	w.string(17, s.PeerName)
	w.time(18, s.RegisteredAt)
	w.uint(19, s.Create)
	w.uint(20, s.Modify)
}

func (r *reader) service(s *model.Service) {
	for r.next() {
		switch r.num {
		case 1:
			s.Node = r.name()
		case 2:
			s.ID = r.name()
		case 3:
			s.Name = r.name()
		case 4:
			s.Kind = r.name()
		case 5:
			s.Tags = r.strings()
		case 6:
			s.Address = r.name()
		case 7:
			s.Port = r.int()
		case 8:
			s.SocketPath = r.string()
		case 9:
			s.TaggedAddresses = r.addresses()
		case 10:
			s.Meta = r.stringMap(true)
		case 11:
			s.Weights.Passing = r.int()
		case 12:
			s.Weights.Warning = r.int()
		case 13:
			s.EnableTagOverride = r.bool()
		case 14:
			s.Proxy = r.proxy()
		case 15:
			s.Connect.Native = r.bool()
		case 16:
			s.Locality = r.locality()
		case 17:
			s.PeerName = r.name()
		case 18:
			s.RegisteredAt = r.time()
		case 19:
			s.Create = r.uint()
		case 20:
			s.Modify = r.uint()
		default:
			r.unknown("Service")
		}
	}
}

func (w *writer) addresses(num protowire.Number, m map[string]model.ServiceAddress) {
	if m == nil {
		return
	}
	start := w.begin(num)
	for _, k := range sortedKeys(m) {
		entry := w.begin(1)
		w.text(1, k)
		value := w.begin(2)
		w.string(1, m[k].Address)
		w.int(2, m[k].Port)
		w.end(value)
		w.end(entry)
	}
	w.end(start)
}

func (r *reader) addresses() map[string]model.ServiceAddress {
	m, out := r.message(), make(map[string]model.ServiceAddress)
	for m.next() {
		if m.num != 1 {
			m.unknown("AddressMap")
			break
		}
		e, key, value := m.message(), "", model.ServiceAddress{}
		for e.next() {
			switch e.num {
			case 1:
				key = e.name()
			case 2:
				value = e.address()
			default:
				e.unknown("AddressMap.entries")
			}
		}
		m.fail(e.err)
		out[key] = value
	}
	r.fail(m.err)
	return out
}

func (r *reader) address() (a model.ServiceAddress) {
	m := r.message()
	for m.next() {
		switch m.num {
		case 1:
			a.Address = m.name()
		case 2:
			a.Port = m.int()
		default:
			m.unknown("ServiceAddress")
		}
	}
	r.fail(m.err)
	return a
}

func (w *writer) proxy(num protowire.Number, p *model.Proxy) {
	if p == nil {
		return
	}
	start := w.begin(num)
	w.string(1, p.DestinationServiceName)
	w.string(2, p.DestinationServiceID)
	w.string(3, p.LocalServiceAddress)
	w.int(4, p.LocalServicePort)
	w.optional(5, p.Raw)
	w.end(start)
}

func (r *reader) proxy() *model.Proxy {
	m, p := r.message(), new(model.Proxy)
	for m.next() {
		switch m.num {
		case 1:
			p.DestinationServiceName = m.name()
		case 2:
			p.DestinationServiceID = m.string()
		case 3:
			p.LocalServiceAddress = m.name()
		case 4:
			p.LocalServicePort = m.int()
		case 5:
			p.Raw = m.bytes()
		default:
			m.unknown("Proxy")
		}
	}
	r.fail(m.err)
	return p
}

func (r *reader) locality() *model.Locality {
	m, l := r.message(), new(model.Locality)
	for m.next() {
		switch m.num {
		case 1:
			l.Region = m.name()
		case 2:
			l.Zone = m.name()
		default:
			m.unknown("Locality")
		}
	}
	r.fail(m.err)
	return l
}

func (w *writer) check(c *model.Check) {
	w.string(1, c.Node)
	w.string(2, c.ID)
	w.string(3, c.Name)
	w.string(4, c.Status)
	w.string(5, c.Notes)
	w.string(6, c.Output)
	w.string(7, c.ServiceID)
	w.string(8, c.ServiceName)
	w.strings(9, c.ServiceTags)
	w.string(10, c.Type)
	w.string(11, c.Interval)
	w.string(12, c.Timeout)
	w.int(13, c.ExposedPort)
	w.optional(14, c.Definition)
	w.time(15, c.StatusSince)
	w.uint(16, c.Create)
	w.uint(17, c.Modify)
}

func (r *reader) check(c *model.Check) {
	for r.next() {
		switch r.num {
		case 1:
			c.Node = r.name()
		case 2:
			c.ID = r.name()
		case 3:
			c.Name = r.name()
		case 4:
			c.Status = r.name()
		case 5:
			c.Notes = r.name()
		case 6:
			c.Output = r.name()
		case 7:
			c.ServiceID = r.name()
		case 8:
			c.ServiceName = r.name()
		case 9:
			c.ServiceTags = r.strings()
		case 10:
			c.Type = r.name()
		case 11:
			c.Interval = r.name()
		case 12:
			c.Timeout = r.name()
		case 13:
			c.ExposedPort = r.int()
		case 14:
			c.Definition = r.bytes()
		case 15:
			c.StatusSince = r.time()
		case 16:
			c.Create = r.uint()
		case 17:
			c.Modify = r.uint()
		default:
			r.unknown("Check")
		}
	}
}

func (w *writer) root(c *model.CARoot) {
	w.string(1, c.ID)
	w.string(2, c.Name)
	w.uint(3, c.SerialNumber)
	w.string(4, c.SigningKeyID)
	w.string(5, c.ExternalTrustDomain)
	w.time(6, c.NotBefore)
	w.time(7, c.NotAfter)
	w.string(8, c.CertPEM)
	w.string(9, c.KeyPEM)
	w.string(10, c.KeyType)
	w.int(11, c.KeyBits)
	w.bool(12, c.Active)
	w.uint(13, c.Create)
	w.uint(14, c.Modify)
}

func (r *reader) root(c *model.CARoot) {
	for r.next() {
		switch r.num {
		case 1:
			c.ID = r.string()
		case 2:
			c.Name = r.string()
		case 3:
			c.SerialNumber = r.uint()
		case 4:
			c.SigningKeyID = r.string()
		case 5:
			c.ExternalTrustDomain = r.string()
		case 6:
			c.NotBefore = r.time()
		case 7:
			c.NotAfter = r.time()
		case 8:
			c.CertPEM = r.string()
		case 9:
			c.KeyPEM = r.string()
		case 10:
			c.KeyType = r.string()
		case 11:
			c.KeyBits = r.int()
		case 12:
			c.Active = r.bool()
		case 13:
			c.Create = r.uint()
		case 14:
			c.Modify = r.uint()
		default:
			r.unknown("CARoot")
		}
	}
}
