package watch

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	defaultHTTPTimeout = 10 * time.Second
	// maxReason is how much of a refusal is read.
	maxReason = 1 << 10
)

// post is a handler that sends results to an address.
type post struct {
	conf   *HTTPConfig
	client *http.Client
}

func newPost(conf *HTTPConfig) *post {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 1 // it never sends two at once
	if conf.TLSSkipVerify {
		t.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	}
	return &post{conf, &http.Client{Transport: t, Timeout: conf.Timeout}}
}

// Handle implements Handler. An answer that says that this very request is wrong is
// the end of it: the same again would be answered the same.
func (p *post) Handle(ctx context.Context, index uint64, data []byte) error {
	req, err := http.NewRequestWithContext(ctx, p.conf.Method, p.conf.URL, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, values := range p.conf.Header {
		if name == "Host" && len(values) > 0 {
			req.Host = values[0]
		}
		req.Header[name] = values
	}
	req.Header.Set("X-Consul-Index", strconv.FormatUint(index, 10))
	resp, err := p.client.Do(req)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUndelivered, err)
	}
	defer resp.Body.Close()
	reason, _ := io.ReadAll(io.LimitReader(resp.Body, maxReason)) // only for the message
	switch code := resp.StatusCode; {
	case code < 300:
		return nil
	case code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout:
		return fmt.Errorf("%w: %s: %s", ErrUndelivered, resp.Status, reason)
	default:
		return fmt.Errorf("%s refuses it: %s: %s", p.conf.URL, resp.Status, reason)
	}
}

// Close gives back the connection.
func (p *post) Close() { p.client.CloseIdleConnections() }
