// Package cli is the command line: one file per command. Commands take Consul's
// flags, with one dash or two, and talk to an agent over its public HTTP API; only
// agent.go runs an agent in this process.
//
// Exit codes: 0 done; 1 failed, refused, or the command line was not understood;
// 2 from members if no member matches the filter.
package cli
