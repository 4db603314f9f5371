package shardmap

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

// twoRules has nested prefixes: those of eu/ are 1,000 buckets, those of eu/de/ are 24.
func twoRules() Prefixes {
	return Prefixes(nil).With(
		Prefix{"eu/de/", Interval{BucketCount + 1000, BucketCount + 1024}},
	).With(Prefix{"eu/", Interval{BucketCount, BucketCount + 1000}})
}

func TestPrefixMatch(t *testing.T) {
	rules := twoRules().With(
		Prefix{"straße/", Interval{BucketCount + 2000, BucketCount + 2001}},
	).With(Prefix{"eu/at-", Interval{BucketCount + 2001, BucketCount + 2002}})
	if err := rules.Check(); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"eu/1": "eu/", "EU/1": "eu/", "eu/": "eu/", "eu": "", "e": "", "": "", "europe/1": "", "xeu/1": "",
		"us/1": "", "a": "", "zz": "",
		"eu/de/1": "eu/de/", "Eu/De/1": "eu/de/", "eu/de": "eu/", "eu/dz/1": "eu/", "eu/at-1": "eu/at-",
		"eu/at/1": "eu/", "eu/zz": "eu/",
		"STRAßE/1": "straße/", "straä": "", "straß": "", "straße/": "straße/",
	} {
		got := ""
		if p := rules.Match(text); p != nil {
			got = p.Text
		}
		if got != want {
			t.Errorf("%q is under %q, want %q", text, got, want)
		}
	}
}

// TestPrefixMatchAgainstAll holds Match against looking at every rule.
func TestPrefixMatchAgainstAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func(n int) string {
		b := make([]byte, 1+r.IntN(n))
		for i := range b {
			b[i] = "ab/"[r.IntN(3)]
		}
		return string(b)
	}
	for range 200 {
		var rules Prefixes
		for range r.IntN(20) {
			text := word(5) + "/"
			if _, there := rules.Find(text); !there {
				at := uint32(BucketCount + len(rules))
				rules = rules.With(Prefix{text, Interval{at, at + 1}})
			}
		}
		if err := rules.Check(); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			text, want := word(9), ""
			for _, p := range rules {
				if strings.HasPrefix(text, p.Text) && len(p.Text) > len(want) {
					want = p.Text
				}
			}
			if got := rules.Match(text); (got == nil) != (want == "") || got != nil && got.Text != want {
				t.Fatalf("%v: %q is under %v, want %q", rules, text, got, want)
			}
		}
	}
}

// TestPrefixBuckets freezes where ids lie under rules.
func TestPrefixBuckets(t *testing.T) {
	rules := twoRules()
	for id, want := range map[string]Bucket{
		"customers/1-A":           982173, // no rule: as ever
		"orders/1-A$eu/1":         BucketCount + Bucket(HashBucket("eu/1")%1000),
		"eu/1":                    BucketCount + Bucket(HashBucket("eu/1")%1000),
		"EU/1":                    BucketCount + Bucket(HashBucket("eu/1")%1000),
		"eu/de/1":                 BucketCount + 1000 + Bucket(HashBucket("eu/de/1")%24),
		"eu/1$customers/1-A":      982173, // the anchor counts
		"eu/1$@982173":            982173,
		"orders/1-A$@1048999":     1048999,
		"us/1":                    HashBucket("us/1"),
		"orders/1-A$eu/customers": BucketCount + Bucket(HashBucket("eu/customers")%1000),
	} {
		if got, err := rules.BucketOf(id); got != want || err != nil {
			t.Errorf("%q lies in %d, %v, want %d", id, got, err, want)
		}
	}
	for _, id := range []string{"x$@1049600", "x$@8388608", "x$@1048576"} {
		if _, err := rules.Without("eu/").BucketOf(id); !pgerr.Is(err, pgerr.InvalidParameterValue) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if got := rules.Buckets(); !got.Equal(NewBucketSet(Interval{0, BucketCount + 1024})) || got.IsAll() {
		t.Error(got)
	}
	if p := rules.Of(BucketCount + 1001); p == nil || p.Text != "eu/de/" || rules.Of(7) != nil ||
		rules.Of(BucketCount+1024) != nil {
		t.Error(p)
	}
}

// TestPrefixPolicies proves B4 and B5 under rules: what is placed passes, and lies where queries
// look; ids that were made keep what chose in their block.
func TestPrefixPolicies(t *testing.T) {
	rules := twoRules()
	for _, rng := range []int64{1, 7, 1000, 1 << 20} {
		for _, value := range []string{"eu/1", "EU/2", "eu/de/17", "us/1", "eu/de/18"} {
			f, err := ParseField("Customer")
			if err != nil {
				t.Fatal(err)
			}
			p, err := NewPolicy([]Field{f}, rng, false)
			if err != nil {
				t.Fatal(err)
			}
			values := []Value{Text(value)}
			id, err := p.Place(rules, "orders", "orders/1-A$", values)
			if err != nil {
				t.Fatal(err)
			}
			block, ok := p.Route(rules, values)
			again, err := rules.ParseID(id.Text)
			if !ok || !block.Contains(id.Bucket) || err != nil || again.Bucket != id.Bucket ||
				p.Check(rules, "orders", again, values) != nil {
				t.Errorf("range %d: %q goes to %v, its content to %v (%v, %v)", rng, value, id, block, ok, err)
			}
			if rule := rules.Match(value); rule != nil && block.Intersect(rule.Interval) != block {
				t.Errorf("range %d: the block %v of %q leaves %v", rng, block, value, rule.Interval)
			}
			if rules.Match(value) == nil {
				if plain, err := p.Place(nil, "orders", "orders/1-A$", values); err != nil || plain.Text != id.Text {
					t.Errorf("%v without rules, %v with them, %v", plain, id, err)
				}
			}
		}
	}
	id, err := mustPolicy(t, "id()").Place(rules, "t", "eu/9$", nil)
	if want, _ := rules.BucketOf("eu/9"); err != nil || id.Bucket != want {
		t.Errorf("id() places eu/9$ in %v, %v, want %d", id, err, want)
	}
	// A rule for the names of documents does not change what chooses in the block of their content.
	ranged, err := NewPolicy(mustPolicy(t, "Customer").Fields, 1000, false)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := ranged.Place(nil, "eu", "eu/9$", []Value{Text("us/1")})
	b, err := ranged.Place(rules, "eu", "eu/9$", []Value{Text("us/1")})
	if err != nil || a.Text != b.Text {
		t.Errorf("%v before the rule, %v after it, %v", a, b, err)
	}
}

func TestFoldPrefix(t *testing.T) {
	for text, want := range map[string]string{
		"eu/": "eu/", "EU/De-": "eu/de-", "Straße:": "straße:", "/": "/", "2026-": "2026-",
	} {
		if got, err := FoldPrefix(text); got != want || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "eu", "eu/1", "a$b/", "$/", "a\x00/", "\xff/", strings.Repeat("x", MaxPrefixBytes) + "/",
	} {
		if _, err := FoldPrefix(text); err == nil {
			t.Errorf("%q is taken for a prefix", text)
		}
	}
}

func TestPrefixesCheck(t *testing.T) {
	ok := Interval{BucketCount, BucketCount + 1}
	for name, rules := range map[string]Prefixes{
		"order":    {{"b/", ok}, {"a/", Interval{BucketCount + 1, BucketCount + 2}}},
		"twice":    {{"a/", ok}, {"a/", Interval{BucketCount + 1, BucketCount + 2}}},
		"folded":   {{"A/", ok}},
		"hashed":   {{"a/", Interval{5, 6}}},
		"empty":    {{"a/", Interval{BucketCount, BucketCount}}},
		"limit":    {{"a/", Interval{BucketCount, BucketLimit + 1}}},
		"shared":   {{"a/", ok}, {"b/", ok}},
		"no colon": {{"a", ok}},
	} {
		if rules.Check() == nil {
			t.Errorf("%s: %v is fine", name, rules)
		}
	}
	if got := twoRules().Without("eu/").Without("eu/de/"); got != nil {
		t.Error(got)
	}
	if rules := twoRules(); !slices.Equal(rules, rules.Without("eu/").With(rules[0])) {
		t.Error(rules)
	}
}

func FuzzPrefixMatch(f *testing.F) {
	f.Add("eu/1")
	f.Add("STRAßE/\xff")
	f.Fuzz(func(t *testing.T, text string) {
		rules := twoRules()
		if p := rules.Match(text); (p != nil) != strings.HasPrefix(string(appendLower(nil, text)), "eu/") {
			t.Fatalf("%q: %v", text, p)
		}
		if b := rules.HashBucket(text); !rules.Buckets().Contains(b) {
			t.Fatalf("%q: %d", text, b)
		}
	})
}
