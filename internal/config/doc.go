// Package config reads Consul's configuration keys from HCL and JSON files and
// from flags, merges them, fills in defaults and validates the result. It reports
// every mistake of all files at once, each with its file and line.
//
// It knows the file format and nothing of the parts that it configures: package
// agent hands each part its section. It starts no goroutine and keeps no state;
// a reload is a second Load.
package config
