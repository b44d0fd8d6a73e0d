// Package pb holds the schemas of Muster's binary formats and the code generated
// from them. Formats of the log and of snapshots are specified in docs/format; fsm
// reads and writes them with a codec of its own for speed, which is tested against
// the generated code.
package pb

//go:generate protoc --go_out=. --go_opt=paths=source_relative log.proto
