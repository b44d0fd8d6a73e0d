package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/wire"
)

func (c *call) writeHeader(status int) {
	c.wrote = true
	c.w.WriteHeader(status)
}

// write sends a body; if it fails the client is gone.
func (c *call) write(status int, body []byte) {
	c.writeHeader(status)
	_, _ = c.w.Write(body)
}

// text answers with plain text.
func (c *call) text(status int, text string) {
	h := c.w.Header()
	h["Content-Type"] = contentText
	h["Content-Length"] = []string{strconv.Itoa(len(text))}
	c.write(status, []byte(text))
}

// nothing answers with an empty body, as writes on the agent do.
func (c *call) nothing() error {
	h := c.w.Header()
	h["Content-Type"] = contentJSON
	h["Content-Length"] = valueZero
	c.writeHeader(http.StatusOK)
	return nil
}

// json answers with a value that is not shared.
func (c *call) json(v any) error { return c.jsonStatus(http.StatusOK, v) }

func (c *call) jsonStatus(status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	c.w.Header()["Content-Type"] = contentJSON
	c.send(status, body)
	return nil
}

// send writes a body of this request alone, indented or compressed as asked for.
func (c *call) send(status int, body []byte) {
	h := c.w.Header()
	if c.pretty {
		body = indent(body)
	}
	if len(body) >= wire.MinGzip && acceptsGzip(c.r.Header) {
		if z := wire.Compress(body); z != nil {
			body = z
			h["Content-Encoding"] = contentGzip
		}
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	c.write(status, body)
}

func indent(body []byte) []byte {
	var out bytes.Buffer
	if json.Indent(&out, body, "", "    ") != nil {
		return body // not JSON; nothing asks for that
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// frame answers with a shared frame.
func (c *call) frame(f *wire.Frame) {
	h := c.w.Header()
	h["Content-Type"] = contentJSON
	if c.pretty {
		c.send(http.StatusOK, f.Body)
		return
	}
	body := f.Body
	h["Content-Length"] = f.Length()
	if len(body) >= wire.MinGzip && acceptsGzip(c.r.Header) {
		if z := f.Gzip(); z != nil {
			body = z
			h["Content-Encoding"] = contentGzip
			h["Content-Length"] = f.GzipLength()
		}
	}
	c.write(http.StatusOK, body)
}

// answerHeaders tell how fresh an answer is.
func (c *call) answerHeaders(f *wire.Frame) {
	h, a := c.w.Header(), &c.answer
	h["X-Consul-Index"] = f.IndexHeader(max(a.Index, 1))
	h["X-Consul-Knownleader"] = valueFalse
	if a.KnownLeader {
		h["X-Consul-Knownleader"] = valueTrue
	}
	h["X-Consul-Lastcontact"] = valueZero
	if ms := a.LastContact.Milliseconds(); ms > 0 {
		h["X-Consul-Lastcontact"] = []string{strconv.FormatInt(ms, 10)}
	}
}

func consistencyHeader(m lookup.Mode) []string {
	switch m {
	case lookup.ModeStale:
		return valueStale
	case lookup.ModeConsistent:
		return valueVerified
	}
	return valueLeader
}

// cacheHeaders tell ?cached readers whether they asked before. The answer is
// current in either case; its age is that of the view.
func (c *call) cacheHeaders(key string, age time.Duration) {
	h := c.w.Header()
	if !c.s.seen.add(key) {
		h["X-Cache"] = valueMiss
		return
	}
	h["X-Cache"] = valueHit
	h["Age"] = []string{strconv.FormatInt(int64(age/time.Second), 10)}
}

// acceptsGzip reports whether the client asks for gzip: by name or by "*", and
// not with a quality of zero.
func acceptsGzip(h http.Header) bool {
	lines := h["Accept-Encoding"]
	if len(lines) == 1 && lines[0] == "gzip" { // Go's clients
		return true
	}
	for _, line := range lines {
		for _, coding := range strings.Split(line, ",") {
			name, quality, _ := strings.Cut(coding, ";")
			if name = strings.TrimSpace(name); name != "*" && !strings.EqualFold(name, "gzip") {
				continue
			}
			if !zeroQuality(quality) {
				return true
			}
		}
	}
	return false
}

func zeroQuality(s string) bool {
	q, ok := strings.CutPrefix(strings.TrimSpace(s), "q=")
	if !ok {
		return false
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
	return err == nil && f == 0
}
