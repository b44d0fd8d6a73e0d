package lookup

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-bexpr"
	"github.com/muster-discovery/muster/internal/model"
	"pgregory.net/rapid"
)

// shape is like an element of /v1/health/service.
type shape struct {
	Node    *nodeShape
	Service *instanceShape
	Checks  []*checkShape
}

type nodeShape struct {
	Node string
	Meta map[string]string
	hidden
}

type hidden struct {
	CreateIndex uint64 `bexpr:"-"`
}

type instanceShape struct {
	ID                string
	Tags              []string
	Meta              map[string]string
	Port              int
	Address           string
	Weights           struct{ Passing int }
	EnableTagOverride bool
	Ratio             float64
	Locality          *struct{ Region string }
	TaggedAddresses   map[string]struct {
		Address string `json:"address"`
	}
	Raw any
}

type checkShape struct {
	CheckID string
	Status  string
	Output  string
	Size    uint `bexpr:"Bytes"`
}

func shapeOf(i *model.Instance) *shape {
	s := &shape{
		Node: &nodeShape{Node: i.Node.Name, Meta: i.Node.Meta},
		Service: &instanceShape{ID: i.Service.ID, Tags: i.Service.Tags, Meta: i.Service.Meta, Port: i.Service.Port,
			Address: i.Service.Address, EnableTagOverride: i.Service.EnableTagOverride, Ratio: 0.5},
	}
	s.Service.Weights.Passing = i.Service.Weights.Passing
	for _, c := range i.Checks {
		s.Checks = append(s.Checks, &checkShape{CheckID: c.ID, Status: c.Status, Output: c.Output, Size: 8})
	}
	return s
}

// matching evaluates a filter on the three instances.
func matching(t testing.TB, filter string) (string, error) {
	t.Helper()
	e, err := compileExpression(strings.TrimSpace(filter), shape{})
	if err != nil {
		return "", err
	}
	var ids []string
	for _, i := range newFixture().store.Instances("web") {
		ok, err := e.match(shapeOf(i))
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			ids = append(ids, i.Service.ID)
		}
	}
	return strings.Join(ids, " "), nil
}

// The expressions of the conformance kit's area filter, and more of their kinds.
func TestFilters(t *testing.T) {
	const all = "web-1 web-2 web-3"
	tests := []struct{ filter, want string }{
		{`Service.ID == "web-1"`, "web-1"},
		{"Service.ID == `web-2`", "web-2"},
		{`Service.Port == 8080`, "web-2"},
		{`Service.Port == "8080"`, "web-2"},
		{`Service.Port==8080`, "web-2"},
		{"  Service.Port   ==\t\n8080  ", "web-2"},
		{`Service.ID == "WEB-1"`, ""},
		{`Service.EnableTagOverride == true`, "web-2"},
		{`Service.EnableTagOverride != true`, "web-1 web-3"},
		{`Service.Ratio == 0.5`, all},
		{`Service.Ratio != 0.5`, ""},
		{`Service.Weights.Passing == 7`, "web-3"},
		{`Service.ID != "web-1"`, "web-2 web-3"},
		{`Service.Meta.zone != a`, "web-2 web-3"},
		{`Service.Meta.zone == a`, "web-1"},
		{`Service.Meta["a-b"] == dash`, "web-1"},
		{`Service.Meta.empty == ""`, "web-1"},
		{`Service.Meta["zone"] == "b"`, "web-2"},
		{`Service.Meta.path == "/a/b"`, "web-1"}, // not a JSON pointer
		{`"zone" in Service.Meta`, "web-1 web-2"},
		{`"zone" not in Service.Meta`, "web-3"},
		{`"a" in Service.Meta`, ""},
		{`"web" in Service.ID`, all},
		{`Service.ID contains "-2"`, "web-2"},
		{`Service.ID not contains "-2"`, "web-1 web-3"},
		{`v1 in Service.Tags`, "web-1"},
		{`Service.Tags contains v1`, "web-1"},
		{`Service.Tags is empty`, "web-3"},
		{`Service.Meta is not empty`, "web-1 web-2"},
		{`Checks is empty`, "web-3"},
		{`Checks.Status == critical`, "web-2"},
		{`Checks.Status != critical`, "web-1"},
		{`Checks.Output contains "route"`, "web-2"},
		{`Checks.CheckID == c1 and Checks.Status == passing`, "web-1"},
		{`"c1" in Checks.CheckID`, "web-1"},
		{`Checks.Bytes == "0x8"`, "web-1 web-2"},
		{`Node.Meta.rack == r1`, "web-1"},
		{`Node.Node matches "^f[12]$"`, "web-1 web-2"},
		{`Node.Node not matches "^f[12]$"`, "web-3"},
		{`Service.Locality.Region == x`, ""},
		{`Service.Locality.Region != x`, all}, // not there
		{`Service.TaggedAddresses.lan.Address == x`, ""},
		{`Service.TaggedAddresses.lan.address != x`, all},
		{`Service.Port == 80 and "v1" in Service.Tags`, "web-1"},
		{`Service.Port == 8080 or "v1" in Service.Tags`, "web-1 web-2"},
		{`not Service.Port == 80`, "web-2"},
		{`not not Service.Port == 80`, "web-1 web-3"},
		{`not (Service.Port == 80 and Service.Tags is empty)`, "web-1 web-2"},
		{`Service.Port == 8080 or Service.Port == 80 and Service.Tags is empty`, "web-2 web-3"},
		{`(Service.Port == 8080 or Service.Port == 80) and Service.Tags is empty`, "web-3"},
		{strings.Repeat("(", 30) + "Service.Port == 80" + strings.Repeat(")", 30), "web-1 web-3"},
	}
	for _, tt := range tests {
		got, err := matching(t, tt.filter)
		if err != nil || got != tt.want {
			t.Errorf("%s: %q, error %v; want %q", tt.filter, got, err, tt.want)
		}
	}
}

// Errors show without any data to evaluate the filter on.
func TestFilterErrors(t *testing.T) {
	const anything = ""
	tests := []struct{ filter, want string }{
		{`Service.Bogus == 1`, `Selector "Service.Bogus" is not valid`},
		{`service.port == 80`, `Selector "service" is not valid`},
		{`Checks.Nope==1`, `Selector "Checks.Nope" is not valid`},
		{`Service.Meta.a.b == 1`, `Selector "Service.Meta.a.b" is not valid`},
		{`Node.CreateIndex == 1`, `Selector "Node.CreateIndex" is not valid`},
		{`Service.Raw == 1`, `Selector "Service.Raw" is not valid`},
		{`Checks.0.Status == x`, `Selector "Checks.0" is not valid`},
		{`Checks.Size == 1`, `Selector "Checks.Size" is not valid`},
		{`Service.Port == abc`, `Failed to coerce value "abc" for selector "Service.Port": strconv.ParseInt: parsing "abc": invalid syntax`},
		{`Service.EnableTagOverride == maybe`, `Failed to coerce value "maybe" for selector "Service.EnableTagOverride": strconv.ParseBool: parsing "maybe": invalid syntax`},
		{`Service.Tags == v1`, `Invalid match operator "Equal" for selector "Service.Tags"`},
		{`Service.Address is empty`, `Invalid match operator "Is Empty" for selector "Service.Address"`},
		{`Service.Address is not empty`, `Invalid match operator "Is Not Empty" for selector "Service.Address"`},
		{`Service.Meta.zone is empty`, `Invalid match operator "Is Empty" for selector "Service.Meta.zone"`},
		{`Service.Port is empty`, `Invalid match operator "Is Empty" for selector "Service.Port"`},
		{`Service == 1`, `Invalid match operator "Equal" for selector "Service"`},
		{`Checks contains x`, `Invalid match operator "In" for selector "Checks"`},
		{`"x" not in Service.Port`, `Invalid match operator "Not In" for selector "Service.Port"`},
		{`Service.Meta is nil`, `Invalid match operator "Is Nil" for selector "Service.Meta"`},
		{`Service.Port==80 AND "v1" in Service.Tags`, anything},
		{`Service.ID == web-1`, anything},
		{`Service.Port > 80`, anything},
		{`Service.ID ==`, anything},
		{`Service.ID == "open`, anything},
		{`Service.ID matches "("`, anything},
		{`Service.Port`, anything},
		{`Service.Port == 080`, anything},
		{`Bogus`, anything},
		{`and`, anything},
		{`(`, anything},
		{`()`, anything},
		{`(Service.Port == 80`, anything},
		{`Service.Port == 80)`, anything},
		{`Service.Port == 80 or`, anything},
		{`Service.Meta[zone] == a`, anything},
		{`Service.Meta["zone" == a`, anything},
		{"\x00", anything},
		{strings.Repeat("(", 100) + "Service.Port == 80" + strings.Repeat(")", 100), "nested more than 64 levels deep"},
		{strings.Repeat("not ", 100) + "Service.Port == 80", "nested more than 64 levels deep"},
		{strings.Repeat("x", maxFilterLength+1), "the expression has 8193 bytes, more than the 8192 allowed"},
		{`Service.ID matches "(x{1000}){5}"`, anything},
		{`Service.ID matches "(\\pL{500}){2}" or Service.ID matches "x{900}"` + strings.Repeat(` or Service.ID matches "x{900}"`, 9), anything},
	}
	for _, tt := range tests {
		got, err := matching(t, tt.filter)
		if err == nil {
			t.Errorf("%.60s: accepted, %q", tt.filter, got)
			continue
		}
		const prefix = "Failed to create boolean expression evaluator: "
		if model.KindOf(err) != model.KindInvalid || !strings.HasPrefix(err.Error(), prefix) ||
			tt.want != anything && err.Error() != prefix+tt.want {
			t.Errorf("%.60s: %v, want %s", tt.filter, err, tt.want)
		}
	}
}

func TestFilterOnAnotherType(t *testing.T) {
	e, err := compileExpression("Status == x", checkShape{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{shape{}, nil, 1} {
		if _, err := e.match(v); err == nil {
			t.Errorf("evaluated on %T", v)
		}
	}
	if ok, err := e.match((*checkShape)(nil)); ok || err != nil {
		t.Error(ok, err)
	}
}

// flat is a type for which go-bexpr evaluates as its users are used to.
type flat struct {
	Name string
	Port int
	On   bool
	Tags []string
	Meta map[string]string
}

// Where go-bexpr does what Consul's clients know, the two agree: on the grammar and
// on simple values.
func TestAgainstBexpr(t *testing.T) {
	words := rapid.SampledFrom([]string{
		"Name", "Port", "On", "Tags", "Meta", "Meta.a", `Meta["a"]`, "a", `"a"`, "`b`", "80", "-1", "1.5", "true",
		"==", "!=", " == ", " in ", " not in ", " contains ", " not contains ", " matches ", " is empty", " is not empty",
		" and ", " or ", "not ", "(", ")", " ", "Port == 80", "Name != a", "a in Tags",
	})
	values := []flat{
		{},
		{Name: "a", Port: 80, On: true, Tags: []string{"a", "80"}, Meta: map[string]string{"a": "80", "true": "x"}},
		{Name: "ab", Port: -1, Tags: []string{"b"}, Meta: map[string]string{"a": "a"}},
	}
	rapid.Check(t, func(t *rapid.T) {
		filter := strings.Join(rapid.SliceOfN(words, 1, 9).Draw(t, "words"), "")
		theirs, theirErr := bexpr.CreateEvaluator(filter, bexpr.WithMaxExpressions(500_000))
		if theirErr != nil && strings.Contains(theirErr.Error(), "max number of expressions") {
			return
		}
		_, parseErr := parseExpression(filter)
		if (parseErr == nil) != (theirErr == nil) {
			t.Fatalf("%q: go-bexpr: %v, we: %v", filter, theirErr, parseErr)
		}
		ours, err := compileExpression(filter, flat{})
		if err != nil {
			return // we refuse types that go-bexpr tries, "Name is empty" for one
		}
		for _, v := range values {
			want, err := theirs.Evaluate(v)
			if err != nil {
				t.Fatalf("%q on %+v: go-bexpr says %v, we accept it", filter, v, err)
			}
			if got, err := ours.match(v); got != want || err != nil {
				t.Fatalf("%q on %+v: %t (%v), go-bexpr %t", filter, v, got, err, want)
			}
		}
	})
}

func FuzzFilter(f *testing.F) {
	for _, s := range []string{
		`Service.Port == 80 and ("v1" in Service.Tags or not Checks.Status == critical)`,
		"not not not in Node.Meta", `Service.Meta["a-b"] is not empty`, "Checks.Output matches `^a(b|c)*$`", `a.0["`, "((((((((((", "not",
	} {
		f.Add(s)
	}
	values := newFixture().store.Instances("web")
	f.Fuzz(func(t *testing.T, filter string) {
		start := time.Now()
		e, err := compileExpression(filter, shape{})
		if err != nil && model.KindOf(err) != model.KindInvalid {
			t.Fatalf("%q: %v", filter, err)
		}
		if err == nil {
			for _, v := range values {
				if _, err := e.match(shapeOf(v)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if d := time.Since(start); d > 2*time.Second {
			t.Fatalf("%q took %s", filter, d)
		}
	})
}

func BenchmarkFilter(b *testing.B) {
	e, err := compileExpression(`Service.Port == 80 and Checks.Status == passing and Service.Meta.zone != b`, shape{})
	if err != nil {
		b.Fatal(err)
	}
	v := shapeOf(newFixture().store.Instances("web")[0])
	b.ReportAllocs()
	for b.Loop() {
		e.match(v)
	}
}

func BenchmarkCompileDeep(b *testing.B) {
	filter := strings.Repeat("(", 60) + "Service.Port == 80" + strings.Repeat(")", 60)
	for b.Loop() {
		if _, err := compileExpression(filter, shape{}); err != nil {
			b.Fatal(err)
		}
	}
}
