package dnsapi

import (
	"context"

	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
)

// worker answers messages for one goroutine at a time and owns all the memory
// that it takes.
type worker struct {
	server *Server
	query  query
	answer answer
	deck   *deck
	plans  plans
	found  lookup.Answer
	counts *counters
}

func (s *Server) newWorker(c *counters, limit int) *worker {
	return &worker{server: s, deck: newDeck(), plans: plans{map[string]*plan{}, limit}, counts: c}
}

// newReader is the worker of one of the UDP sockets.
func (s *Server) newReader() *worker {
	return s.newWorker(s.metrics.counters(pathHot), max(maxPlans/s.config.Sockets, connPlans))
}

// handle answers a message on the hot path, in out's memory. If the message needs
// the general path it returns general; no reply and not general means silence.
func (w *worker) handle(ctx context.Context, in, out []byte, udp bool) (reply []byte, general bool) {
	set := w.server.settings.Load()
	switch w.query.parse(in) {
	case asked:
		reply = w.hot(ctx, set, in, out, udp)
		return reply, reply == nil
	case unusual:
		return nil, true
	case malformed:
		w.counts.add(0, rcodeFormErr)
		return bareReply(in, out, set.ra, rcodeFormErr), false
	case notKnown:
		w.counts.add(0, rcodeNotImp)
		return bareReply(in, out, set.ra, rcodeNotImp), false
	case newer:
		w.counts.add(w.query.qtype, rcodeBadVers)
		return w.empty(set, in, out, udp, 0, rcodeBadVers), false
	}
	w.counts.ignored.Add(1)
	return nil, false
}

// empty is an answer with the question alone.
func (w *worker) empty(set *settings, in, out []byte, udp bool, flags uint16, rcode int) []byte {
	q := &w.query
	w.answer.begin(in, q, out, set.sizeLimit(udp, q.edns, q.size), true, 0)
	return w.answer.finish(q, flags|set.ra, rcode)
}

// hot answers the query, or returns nil if that is the general path's business.
func (w *worker) hot(ctx context.Context, set *settings, in, out []byte, udp bool) []byte {
	q, a := &w.query, &w.answer
	if q.class != classIN {
		return nil
	}
	key := q.key()
	p := w.plans.find(key, set)
	if p == nil {
		var err error
		if p, err = w.server.plan(q, set); err != nil {
			return nil
		}
		w.plans.add(key, p)
	}
	if !p.hot {
		return nil
	}
	size := set.sizeLimit(udp, q.edns, q.size)
	a.begin(in, q, out, size, !set.DisableCompression, p.target.domain)
	a.stable = set.SRVStable
	flags, rcode := uint16(flagAA)|set.ra, p.rcode
	if p.request.Encoder != nil {
		f, err := w.lookup(ctx, set, p)
		switch {
		case err != nil:
			rcode = rcodeOf(err)
			if rcode != rcodeNXDomain {
				flags = set.ra
				w.server.trouble(err)
			}
		case f == nil || f.hosts > 0:
			return nil
		case w.found.Count == 0:
			if !p.target.branch {
				rcode = rcodeNXDomain
			}
		case p.target.kind == kindInstance:
			rcode = w.instance(p, f)
		default:
			flags |= w.write(set, p, f, udp, size)
		}
	}
	if a.an == 0 && flags&(flagAA|flagTC) == flagAA {
		a.nothing(&set.SOA)
	}
	w.counts.add(q.qtype, rcode)
	return a.finish(q, flags, rcode)
}

// lookup asks for the plan's frame. The plan's request has no bound on staleness and
// is to be answered at once, so this never waits: what is too old or not here is left
// to the general path, which asks a server; the frame is nil then.
func (w *worker) lookup(ctx context.Context, set *settings, p *plan) (*frame, error) {
	if err := w.server.lookup.Find(ctx, &p.request, &w.found); err == lookup.ErrNotHere {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if set.MaxStale > 0 && w.found.LastContact > set.MaxStale {
		return nil, nil
	}
	return w.found.Frame.(*frame), nil
}

// write puts the frame's records of the wanted type into the answer.
func (w *worker) write(set *settings, p *plan, f *frame, udp bool, size int) (flags uint16) {
	var left int
	var cut bool
	if p.qtype == typeSRV {
		var limit int
		limit, cut = set.answerLimit(len(f.items), false, udp, size)
		left = w.answer.services(f, p.ttl, limit, set.NodeMetaTXT, w.deck)
	} else {
		data, width := f.v4, 4
		if p.qtype == typeAAAA {
			data, width = f.v6, 16
		}
		var limit int
		limit, cut = set.answerLimit(len(data)/width, true, udp, size)
		left = w.answer.addresses(data, width, p.ttl, limit, w.deck)
		if p.target.kind == kindNode && set.NodeMetaTXT && w.answer.an > 0 {
			w.answer.ownTexts(f.txt, p.ttl)
		}
	}
	// An answer without any of the records that exist is no valid subset.
	if left > 0 && w.answer.an == 0 || (cut || left > 0) && set.EnableTruncate {
		return flagTC
	}
	return 0
}

// rcodeOf maps kinds of errors to rcodes, for both paths.
func rcodeOf(err error) int {
	switch model.KindOf(err) {
	case model.KindNotFound, model.KindNoPath:
		return rcodeNXDomain
	case model.KindDenied:
		return rcodeRefused
	}
	return rcodeServFail
}
