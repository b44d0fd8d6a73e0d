# A list of plain commands; each works by itself too.

.PHONY: build test check kits kill fuzz bench soak faults acceptance

build: ## bin/muster, static
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o bin/muster ./cmd/muster

test: ## everything that go test runs, with the race detector
	tools/test

check: ## formatting, vet, staticcheck
	tools/check

kits: build ## the ratchet: what passed once must pass again
	tools/ratchet

kill: ## the log store and the whole log under 500 kill -9
	go test -count=1 -timeout 60m ./test/kill -kills=500

fuzz: ## every fuzz target for five minutes
	tools/fuzz 5m

bench: build ## figures against yardsticks of the same run (20 minutes)
	tools/bench

soak: ## 20 kills of the leader, and ten minutes with all cores busy
	go test -count=1 -timeout 60m ./test/e2e -v -run 'TestKilledLeader|TestSoak' -failover-rounds=20 -soak=10m

DURATION ?= 10m
SEED ?= $(shell date +%s)

faults: ## each fault measured, an upgrade, 50 agents, then DURATION of random faults (docs/testing.md)
	go test -count=1 -timeout 24h ./test/faults -v -rows -fleet=50 -long=$(DURATION) -seed=$(SEED)

acceptance: build kill fuzz soak faults ## what runs or builds for long; by hand before an issue ends
	tools/acceptance
