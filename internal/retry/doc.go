// Package retry spaces repeated attempts: exponential backoff with jitter, so
// that many agents which lost the same server don't return in step. It starts no
// goroutine and sleeps nowhere; callers own their timers.
package retry
