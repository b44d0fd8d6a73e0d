// Package lookup is the read path: every question, whatever edge it came through,
// meets the permission check here, gets its source chosen (the local view, after
// asking the leader how new it has to be where the caller wants that), waits if
// it is a blocking query, and is answered with a frame that all callers with the
// same question and sufficient permission share, or with one of its own.
//
// It knows no protocol: edges bring a Request and an encoder. It stores nothing
// but compiled questions, and starts no goroutine.
package lookup
