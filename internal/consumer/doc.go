// Package consumer knows who follows what on this agent's streams: each stream with
// who opened it, its watches, what was sent on each and what was confirmed. It is
// memory only: a stream's entry goes with the stream.
//
// A consumer confirms that it received something, not that it acted on it. The
// package sends nothing and starts no goroutine; the edges tell it what they do. It
// also holds the metrics that all kinds of streams have in common.
package consumer
