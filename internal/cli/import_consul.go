package cli

import "github.com/muster-discovery/muster/internal/migrate"

var importConsulCommand = &command{
	name:  "import consul",
	short: "Bring in what a running Consul has",
	long: `
Copies nodes that no agent owns with their services and checks, keys, and
prepared queries, from the HTTP API of a running Consul (or Muster) to this
one's. What differs stays as it is here, unless -overwrite is given. What an
agent owns is not copied: it comes along when that agent joins Muster. The
report names everything that is not carried over, and why.

It can be repeated, and goes on after an end before its time. Exit code 0 if
everything came along that can, 2 if there are conflicts or failures, 1 if
it did not come to its end.

    muster import consul -dry-run -from-http-addr=consul.internal:8500
    muster import consul -from-http-addr=https://consul.internal:8501`,
	setup: func(f *flags) func([]string) int {
		from := f.connectFrom()
		m := f.importing()
		return func([]string) int {
			err := m.check()
			if err != nil {
				return f.fail("muster import consul: %v.", err)
			}
			if from.addr == "" {
				return f.fail("muster import consul: -from-http-addr is missing.")
			}
			source, err := from.endpoint()
			if err != nil {
				return from.fail("reaching the registry to import from", err)
			}
			if _, err := m.to.client(); err == nil && sameRegistry(from, m.to) {
				return f.fail("muster import consul: both addresses lead to the same agent. Give the other one by -http-addr or MUSTER_HTTP_ADDR.")
			}
			return m.run(&migrate.HTTPSource{From: source}, from.addr+" "+from.datacenter)
		}
	},
}
