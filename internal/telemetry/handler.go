package telemetry

import (
	"context"
	"log/slog"
	"slices"
)

// componentKey is the attribute that becomes the prefix of a line.
const componentKey = "component"

// handler joins attributes and hands the record to the sink.
type handler struct {
	sink      *sink
	component string
	attrs     []slog.Attr // groups are in the keys already
	group     string      // prefix of further keys
}

func (h *handler) Enabled(_ context.Context, l slog.Level) bool { return h.sink.enabled(l) }

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	e := &entry{time: r.Time, level: r.Level, component: h.component, message: r.Message}
	e.attrs = slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		e.attrs = appendAttr(e.attrs, h.group, a)
		return true
	})
	if i := slices.IndexFunc(e.attrs, isComponent); i >= 0 {
		e.component = e.attrs[i].Value.String()
		e.attrs = slices.DeleteFunc(e.attrs, isComponent)
	}
	return h.sink.write(e)
}

func isComponent(a slog.Attr) bool { return a.Key == componentKey }

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		if h.group == "" && isComponent(a) {
			next.component = a.Value.Resolve().String()
			continue
		}
		next.attrs = appendAttr(next.attrs, h.group, a)
	}
	return &next
}

func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	next := *h
	next.group = h.group + name + "."
	return &next
}

// appendAttr resolves a value and flattens groups into dotted keys.
func appendAttr(list []slog.Attr, group string, a slog.Attr) []slog.Attr {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, g := range v.Group() {
			list = appendAttr(list, group, g)
		}
		return list
	}
	if a.Key == "" {
		return list
	}
	return append(list, slog.Attr{Key: group + a.Key, Value: v})
}
