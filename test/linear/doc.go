// Package linear judges recorded histories of KV and locks: is there one order of all
// operations that explains every answer, and in which each took effect between its call
// and its return? It has the models for porcupine, the recorder, and clients that write
// such histories against any server that is reached through a Door.
//
// Only consistent reads and writes are judged: default reads may be stale for the length
// of a lease, and stale reads promise nothing. An operation whose outcome nobody knows (a
// time-out, an error of a server that may have written all the same) stays open: it may
// take effect at any time after its call, or never.
//
// The package starts no goroutines; who calls Run of a client owns it.
package linear
