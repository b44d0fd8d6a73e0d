package httpapi

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// limited is an error with a pause, as package limit's.
type limited struct {
	error
	after time.Duration
}

func (l limited) Unwrap() error             { return l.error }
func (l limited) RetryAfter() time.Duration { return l.after }

func TestRefuseConn(t *testing.T) {
	near, far := net.Pipe()
	go RefuseConn(far, limited{model.Errorf(model.KindLimit, "limits.http_max_conns_per_client is 2: close some"), 1500 * time.Millisecond})
	resp, err := http.ReadResponse(bufio.NewReader(near), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "2" || !strings.Contains(string(body), "limits.http_max_conns_per_client is 2") {
		t.Errorf("%s, %v: %q, %v", resp.Status, resp.Header, body, err)
	}
	start := time.Now()
	_, silent := net.Pipe() // nobody reads
	RefuseConn(silent, model.Errorf(model.KindLimit, "x"))
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("a client that does not read held it up for %v", took)
	}
}
