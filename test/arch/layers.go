// Package arch holds the rules of the house as tests: who may import whom, one
// package comment each, documents that name files which exist.
package arch

// layers says for each package below internal/ what it may import from Muster.
// It is the table of ARCHITECTURE.md as data: when a row is too narrow, widen it
// here and there in the same change, and say why in the commit.
var layers = map[string][]string{
	// words and tools
	"model":     {},
	"version":   {},
	"retry":     {},
	"trace":     {},
	"child":     {},
	"pb":        {},
	"telemetry": {"version"},

	// pure core
	"acl":   {"model"},
	"state": {"model"},
	"fsm":   {"state", "model", "pb"},
	"ca":    {"model"},
	"query": {"model"},
	"event": {"model"},

	// cluster parts
	"view":      {"model", "telemetry", "trace"},
	"storage":   {"model", "telemetry"},
	"consensus": {"fsm", "model", "storage", "telemetry"},
	"gossip":    {"model", "telemetry", "retry"},
	"rpc":       {"model", "telemetry", "retry", "trace"},
	"failover":  {"gossip", "model", "retry"},
	"leader":    {"gossip", "ca", "model", "retry", "telemetry"},
	"limit":     {"model", "telemetry"},

	"consumer":  {"model", "telemetry"},
	"discovery": {"model", "retry", "telemetry"},
	"mirror":    {"discovery", "model", "telemetry"},

	// agent parts
	"check":  {"model", "telemetry", "retry"},
	"local":  {"model", "retry", "telemetry", "check"},
	"lookup": {"view", "query", "acl", "model", "trace", "telemetry"},
	"apply":  {"fsm", "wire", "query", "acl", "model", "retry", "trace", "telemetry"},

	"snapshot": {"fsm", "model"},
	"watch":    {"child", "retry"},
	"migrate":  {"retry"},

	// edges
	"wire":      {"model", "view"},
	"httpapi":   {"lookup", "apply", "consumer", "query", "event", "wire", "view", "acl", "model", "trace", "telemetry"},
	"dnsapi":    {"lookup", "view", "acl", "model", "trace", "telemetry"},
	"rpcapi":    {"rpc", "model", "telemetry"},
	"streamapi": {"lookup", "consumer", "discovery", "view", "wire", "acl", "model", "telemetry"},

	// assembly
	"config": {"model"},
	"agent":  {"*"},
	"cli":    {"agent", "config", "snapshot", "watch", "migrate", "child", "retry", "wire", "telemetry", "version", "model"},
}

// only names packages with a single allowed importer besides tests.
var only = map[string]string{
	"agent": "cli",
	"cli":   "cmd/muster",
}
