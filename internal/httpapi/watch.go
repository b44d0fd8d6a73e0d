package httpapi

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/muster-discovery/muster/internal/consumer"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/wire"
)

// Streams are server-sent events: a snapshot of a service's instances, then what
// changes. See docs/streams.md.

func watchService(c *call) error { return c.watchOne(model.TopicService) }
func watchConnect(c *call) error { return c.watchOne(model.TopicConnect) }

func (c *call) watchOne(kind model.TopicKind) error {
	if err := c.need("Missing service name"); err != nil {
		return err
	}
	return c.watch(kind, []string{c.id}, false)
}

func watchServices(c *call) error { return c.watchSeveral(c.all("service")) }

// watchServicesPosted has the names in the body, since a thousand don't fit a URL.
func watchServicesPosted(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	names, err := parseNames(body)
	if err != nil {
		return err
	}
	return c.watchSeveral(append(names, c.all("service")...))
}

func (c *call) watchSeveral(names []string) error {
	seen := make(map[string]bool, len(names))
	list := names[:0]
	for _, name := range names {
		if folded := model.Fold(name); name != "" && !seen[folded] {
			seen[folded] = true
			list = append(list, name)
		}
	}
	if len(list) == 0 {
		return model.Errorf(model.KindInvalid, "Missing service names: give ?service=NAME for each, or POST a JSON list of names")
	}
	return c.watch(model.TopicService, list, true)
}

// parseNames reads a JSON list of names.
func parseNames(body []byte) ([]string, error) {
	var names []string
	if err := json.Unmarshal(body, &names); err != nil {
		return nil, model.Errorf(model.KindInvalid, "Request decode failed: want a JSON list of service names: %v", err)
	}
	return names, nil
}

// all finds the values of a parameter that may be there several times.
func (p *params) all(name string) (values []string) {
	for query := p.query; query != ""; {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if n, v, err := unescapePair(pair); err == nil && n == name {
			values = append(values, v)
		}
	}
	return values
}

// watch serves a stream until its client goes.
func (c *call) watch(kind model.TopicKind, names []string, several bool) error {
	w, err := c.openWatcher(kind, names, several)
	if err != nil {
		return err
	}
	defer w.close()
	w.run(c.r.Context())
	return nil
}

// openWatcher does everything that can fail with a status.
func (c *call) openWatcher(kind model.TopicKind, names []string, several bool) (_ *watcher, err error) {
	request, err := c.streamRequest(kind)
	if err != nil {
		return nil, err
	}
	beat, err := c.heartbeat()
	if err != nil {
		return nil, err
	}
	w := &watcher{call: c, several: several, beat: beat}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if w.stream, err = c.s.cfg.Lookup.OpenStream(c.tokenOf(c.r.Header)); err != nil {
		return nil, err
	}
	w.consumer, err = c.s.cfg.Consumers.Open(consumer.Info{Protocol: consumer.SSE, Address: c.r.RemoteAddr, Agent: c.r.UserAgent()})
	if err != nil {
		return nil, err
	}
	for id, name := range names {
		request.Topic = model.NewTopic(kind, name)
		mark, err := w.consumer.Add(uint64(id), request.Topic)
		if err != nil {
			return nil, err
		}
		if err := w.stream.Watch(c.r.Context(), uint64(id), request); err != nil {
			return nil, err
		}
		quoted, _ := json.Marshal(name) // a string always can be
		w.watched = append(w.watched, watched{name: quoted, mark: mark})
	}
	return w, nil
}

// streamRequest is what the parameters say about every watch of the stream.
func (c *call) streamRequest(kind model.TopicKind) (r lookup.StreamRequest, err error) {
	mode, _, err := c.consistency()
	if err != nil {
		return r, err
	}
	q := c.question()
	q.Tags = c.tagsFor(kind)
	if q.Passing, err = c.onlyPassing(); err != nil {
		return r, err
	}
	r = lookup.StreamRequest{Encoder: wire.HealthServiceJSON, Datacenter: c.dc, Mode: mode}
	if r.Variant, err = c.variant(r.Encoder, q); err != nil {
		return r, err
	}
	id := c.r.Header.Get("Last-Event-ID")
	if id == "" {
		id, _ = c.get("last-event-id") // for clients that can't set headers
	}
	r.Resume, err = parseEventID(id)
	return r, err
}

// parseEventID reads the id of an event that this API sent.
func parseEventID(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	index, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, model.Errorf(model.KindInvalid, "Invalid Last-Event-ID: it is not the id of an event of this stream; leave it out to begin with a snapshot")
	}
	return index, nil
}

// Bounds of ?heartbeat.
const (
	minBeat, maxBeat = time.Second, 5 * time.Minute
	defaultBeat      = 15 * time.Second
)

func (c *call) heartbeat() (time.Duration, error) {
	text, ok := c.get("heartbeat")
	if !ok || text == "" {
		return defaultBeat, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < minBeat || d > maxBeat {
		return 0, model.Errorf(model.KindInvalid, "Invalid heartbeat: want a duration between %s and %s, such as 15s", minBeat, maxBeat)
	}
	return d, nil
}

// watchAck takes a consumer's word on what it has.
func watchAck(c *call) error {
	stream, _ := c.get("stream")
	if stream == "" {
		return model.Errorf(model.KindInvalid, "Missing stream: it is the id in the stream's X-Muster-Stream header")
	}
	index, err := strconv.ParseUint(c.index, 10, 64)
	if err != nil || index == 0 {
		return model.Errorf(model.KindInvalid, "Invalid index: want the Index of an event that was received")
	}
	service, _ := c.get("service")
	if err := c.s.cfg.Consumers.Confirm(stream, service, index); err != nil {
		return err
	}
	return c.nothing()
}
