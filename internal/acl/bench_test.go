package acl

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// thousand are 1,000 rules: half of them exact, half prefixes, nested as in trees of
// teams and applications.
func thousand() (source string, names []string) {
	var b strings.Builder
	for i := range 500 {
		name := fmt.Sprintf("team-%02d/app-%03d/config", i%20, i)
		fmt.Fprintf(&b, "key %q { policy = \"write\" }\nkey_prefix \"team-%02d/app-%03d/\" { policy = \"read\" }\n", name, i%20, i)
		names = append(names, name, name+"/sub/key", fmt.Sprintf("team-%02d/other-%d", i%20, i))
	}
	return b.String(), names
}

// BenchmarkAllowed tells what a decision costs, and as "map-ratio" how many times
// the look-up of the same name in a plain map.
func BenchmarkAllowed(b *testing.B) {
	source, names := thousand()
	c := compiled(b, DefaultDeny, source)
	exact := map[string]Level{}
	for i := range c.trees[Key].kids {
		c.trees[Key].kids[i].each(func(g *grant) { exact[g.rule.Label] = g.level })
	}
	n := 0
	start := time.Now()
	for i := range b.N {
		if exact[names[i%len(names)]] >= MayRead {
			n++
		}
	}
	plain := time.Since(start)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if c.Allowed(Key, names[i%len(names)], Read) {
			n++
		}
	}
	sink = n
	b.ReportMetric(float64(b.Elapsed())/float64(plain), "map-ratio")
}

var sink int

func BenchmarkAllowsPrefix(b *testing.B) {
	source, _ := thousand()
	c := compiled(b, DefaultDeny, source)
	b.ReportAllocs()
	for range b.N {
		if c.AllowsPrefix(Key, "team-07/app-007/", Write) {
			b.Fatal("allowed")
		}
	}
}

func BenchmarkAllowsAll(b *testing.B) {
	source, _ := thousand()
	c := compiled(b, DefaultDeny, source)
	for range b.N {
		if c.AllowsAll(Key, Read) {
			b.Fatal("allowed")
		}
	}
}

func BenchmarkParse(b *testing.B) {
	source, _ := thousand()
	b.SetBytes(int64(len(source)))
	for range b.N {
		if _, err := Parse("p", source); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	source, _ := thousand()
	rules := parsed(b, "p", source)
	for range b.N {
		Compile(DefaultDeny, rules)
	}
}

// TestNoAllocation: decisions are made for every item of every private answer.
func TestNoAllocation(t *testing.T) {
	source, names := thousand()
	c := compiled(t, DefaultDeny, source)
	i := 0
	if n := testing.AllocsPerRun(1000, func() {
		name := names[i%len(names)]
		i++
		c.Allowed(Key, name, Write)
		c.AllowsPrefix(Key, name, Read)
		c.AllowsAll(Service, Read)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
