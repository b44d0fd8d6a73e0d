package httpapi

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestMonitorStreams: each line reaches the client as it is written, and the tap
// ends with the client.
func TestMonitorStreams(t *testing.T) {
	for _, tc := range []struct{ query, tapped string }{
		{"", "INFO false"},
		{"?loglevel=debug", "DEBUG false"},
		{"?loglevel=warn&logjson", "WARN true"},
	} {
		t.Run(tc.query, func(t *testing.T) {
			k := newKit(t)
			k.agent.lines, k.agent.tapped = make(chan []byte), make(chan string, 1)
			web := httptest.NewServer(k.Server)
			defer web.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, web.URL+"/v1/agent/monitor"+tc.query, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req) // returns although no line has come yet
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if got := <-k.agent.tapped; got != tc.tapped {
				t.Errorf("follows %s, want %s", got, tc.tapped)
			}
			r := bufio.NewReader(resp.Body)
			for _, line := range []string{"one [INFO]\n", "two\n"} {
				k.agent.lines <- []byte(line)
				if got, err := r.ReadString('\n'); got != line || err != nil {
					t.Errorf("got %q, %v; want %q", got, err, line)
				}
			}
			cancel()
			if _, open := <-k.agent.tapped; open {
				t.Error("the tap is still open after the client has gone")
			}
		})
	}
}

func TestMonitorRefusesUnknownLevels(t *testing.T) {
	k := newKit(t)
	w := httptest.NewRecorder()
	k.Server.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/agent/monitor?loglevel=loud", nil))
	if w.Code != http.StatusBadRequest || w.Body.String() != "Unknown log level: loud" {
		t.Errorf("got %d %q", w.Code, w.Body)
	}
}
