package telemetry

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
)

// entry is one line of the log before formatting.
type entry struct {
	time      time.Time
	level     slog.Level
	component string
	message   string
	attrs     []slog.Attr
}

const timeFormat = "2006-01-02T15:04:05.000Z0700"

// levelName has names of one width, so that messages stand under each other.
func levelName(l slog.Level) (tag, word string) {
	switch {
	case l < slog.LevelDebug:
		return "[TRACE]", "trace"
	case l < slog.LevelInfo:
		return "[DEBUG]", "debug"
	case l < slog.LevelWarn:
		return "[INFO] ", "info"
	case l < slog.LevelError:
		return "[WARN] ", "warn"
	}
	return "[ERROR]", "error"
}

// text is a line as Consul writes it:
//
//	2026-11-30T17:00:00.000Z [INFO]  agent.server: message: key=value
func (e *entry) text() []byte {
	var b strings.Builder
	tag, _ := levelName(e.level)
	if !e.time.IsZero() {
		b.WriteString(e.time.Format(timeFormat))
		b.WriteByte(' ')
	}
	b.WriteString(tag)
	b.WriteByte(' ')
	if e.component != "" {
		b.WriteString(e.component)
		b.WriteString(": ")
	}
	b.WriteString(strings.ReplaceAll(e.message, "\n", `\n`))
	if len(e.attrs) > 0 {
		b.WriteByte(':')
	}
	for _, a := range e.attrs {
		b.WriteByte(' ')
		b.WriteString(a.Key)
		b.WriteByte('=')
		b.WriteString(quote(plain(a.Value)))
	}
	b.WriteByte('\n')
	return []byte(b.String())
}

func plain(v slog.Value) string {
	switch v.Kind() {
	case slog.KindTime:
		return v.Time().Format(timeFormat)
	case slog.KindAny:
		return fmt.Sprint(v.Any())
	}
	return v.String()
}

// quote keeps a value that would break the line or the key=value form apart.
func quote(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == '"' || r == '=' || r == 0x7f }) {
		return strconv.Quote(s)
	}
	return s
}

// json is a line with the names that Consul's JSON log has.
func (e *entry) json() []byte {
	_, word := levelName(e.level)
	m := map[string]any{}
	for _, a := range e.attrs {
		m[a.Key] = jsonValue(a.Value)
	}
	if !e.time.IsZero() {
		m["@timestamp"] = e.time.Format("2006-01-02T15:04:05.000000Z07:00")
	}
	m["@level"] = word
	m["@message"] = e.message
	if e.component != "" {
		m["@module"] = e.component
	}
	line, err := json.Marshal(m)
	if err != nil { // a value that has no JSON form
		for k, v := range m {
			m[k] = fmt.Sprint(v)
		}
		line, _ = json.Marshal(m) // texts always marshal
	}
	return append(line, '\n')
}

func jsonValue(v slog.Value) any {
	switch v.Kind() {
	case slog.KindDuration:
		return v.Duration().String()
	case slog.KindAny:
		switch x := v.Any().(type) {
		case error:
			return x.Error()
		case fmt.Stringer:
			return x.String()
		}
	}
	return v.Any()
}
