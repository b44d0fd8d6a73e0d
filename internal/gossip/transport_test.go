package gossip

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestPeerHangsUpFirst: a stream that brought an answer is closed when the peer is
// done with it, others at once.
func TestPeerHangsUpFirst(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers bool
		busy    time.Duration // how long the peer takes to hang up
		want    time.Duration
	}{
		{"merges, then hangs up", true, 300 * time.Millisecond, 300 * time.Millisecond},
		{"never hangs up", true, time.Hour, mergeTimeout},
		{"does not answer", false, time.Hour, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				go func() {
					if tt.answers {
						_, _ = far.Write([]byte("members"))
					}
					time.Sleep(tt.busy)
					_ = far.Close()
				}()
				c := &patientConn{Conn: near}
				_ = c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
				_, err := c.Read(make([]byte, 100))
				if (err == nil) != tt.answers {
					t.Fatal(err)
				}
				begin := time.Now()
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				if took := time.Since(begin); took != tt.want {
					t.Errorf("closed after %v, want %v", took, tt.want)
				}
				time.Sleep(tt.busy) // for the bubble: the peer ends too
			})
		})
	}
}
