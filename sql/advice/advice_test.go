package advice

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/shardmap"
)

func policy(t *testing.T, text string) *shardmap.Policy {
	t.Helper()
	p, err := shardmap.ParsePolicyJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// judged returns the report about n documents, where value returns the value of document i.
func judged(t *testing.T, text string, n int, value func(i int) shardmap.Value, s Statements) *Report {
	t.Helper()
	j := NewJudge(policy(t, text), nil, "orders", shardmap.NewInitialMap([]shardmap.FragmentID{1, 2, 3}))
	for i := range n {
		id := fmt.Sprintf("orders/%d-A", i)
		own := shardmap.HashBucket(id)
		j.Add(Document{ID: id, Own: own, Bucket: own, Values: []shardmap.Value{value(i)}, Bytes: 1000})
	}
	return j.Report(s)
}

func TestReports(t *testing.T) {
	customer := func(of int) func(int) shardmap.Value {
		return func(i int) shardmap.Value { return shardmap.Text(fmt.Sprintf("customers/%d-A", i*7919%of)) }
	}
	half := func(i int) shardmap.Value {
		if i%2 == 0 {
			return shardmap.Missing()
		}
		return shardmap.Text("x" + fmt.Sprint(i%500))
	}
	for _, c := range []struct {
		name, policy string
		n            int
		value        func(int) shardmap.Value
		statements   Statements
		want         string
	}{
		{"even", `{"Fields":["Customer"]}`, 10_000, customer(997), Statements{100, 90, 0},
			"good for new documents, but 10000 lie elsewhere now"},
		{"few", `{"Fields":["Country"]}`, 10_000, customer(5), Statements{},
			"only 5 values: too few for 3 fragments to share (Range 100 would"},
		{"missing", `{"Fields":["Customer"]}`, 10_000, half, Statements{},
			`5000 of 10000 documents would be refused, as "orders/0-A": Field "Customer" is missing`},
		{"unique", `{"Fields":["Serial"]}`, 10_000,
			func(i int) shardmap.Value { return shardmap.Number(fmt.Sprint(i * 31 % 10_007)) }, Statements{},
			"nearly every document has a value of its own"},
		{"days", `{"Fields":["day(At)"]}`, 20_000, func(i int) shardmap.Value {
			return shardmap.Text(fmt.Sprintf("2025-%02d-%02d", 1+i/2000, 1+i/100%20))
		}, Statements{}, "what is new goes to one block of buckets at a time"},
		{"unasked", `{"Fields":["Customer"]}`, 10_000, customer(997), Statements{50, 0, 0},
			"none of 50 sampled statements"},
		{"worse", `{"Fields":["Customer"]}`, 10_000, customer(997), Statements{50, 10, 30},
			"fewer statements than now would be answered by one fragment: 10 of 50, now 30"},
		{"one value", `{"Fields":["Customer"]}`, 300_000, func(i int) shardmap.Value {
			if i%2 == 0 {
				return shardmap.Text("customers/1-A")
			}
			return customer(997)(i)
		}, Statements{}, "bucket 982173 would have 150150 documents, about 143 MiB (Range 100 would spread"},
		{"nothing", `{"Fields":["Customer"]}`, 0, customer(1), Statements{}, "no documents"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := judged(t, c.policy, c.n, c.value, c.statements).Text(); !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestWideBlocks: if a block of a large Range spans several fragments, new documents go to one
// block at a time, but not to one fragment.
func TestWideBlocks(t *testing.T) {
	days := func(i int) shardmap.Value { return shardmap.Text(fmt.Sprintf("2025-%02d-%02d", 1+i/2000, 1+i/100%20)) }
	for rng, hot := range map[int]bool{1: true, 1000: true, 600_000: false} {
		got := judged(t, fmt.Sprintf(`{"Fields":["day(At)"],"Range":%d}`, rng), 20_000, days, Statements{}).Text()
		if strings.Contains(got, "one fragment takes all inserts") != hot {
			t.Errorf("Range %d: %s", rng, got)
		}
	}
}

// TestSegmentsBeside: buckets of segments, which receive no hashed documents, and a fragment with
// only such buckets do not change any figure.
func TestSegmentsBeside(t *testing.T) {
	plain := shardmap.NewInitialMap([]shardmap.FragmentID{1, 2, 3})
	beside, _, err := plain.Assign([]shardmap.FragmentID{1, 4})
	if err != nil {
		t.Fatal(err)
	}
	of := func(m *shardmap.Map) string {
		j := NewJudge(policy(t, `{"Fields":["Customer"]}`), nil, "orders", m)
		for i := range 1000 {
			id := fmt.Sprintf("orders/%d-A", i)
			own := shardmap.HashBucket(id)
			j.Add(Document{ID: id, Own: own, Bucket: own,
				Values: []shardmap.Value{shardmap.Text(fmt.Sprintf("customers/%d-A", i%97))}, Bytes: 1000})
		}
		return fmt.Sprintf("%+v", *j.Report(Statements{}))
	}
	// the part before it has a pointer
	cut := func(s string) string { return s[strings.Index(s, "Documents:"):] }
	if got, want := cut(of(beside)), cut(of(plain)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestIDPolicy(t *testing.T) {
	r := judged(t, `{"Fields":["id()"]}`, 5000, func(int) shardmap.Value { return shardmap.Missing() }, Statements{})
	if r.Rejected != 0 || r.Misplaced != 0 || r.Distinct < 4900 || !r.Ordered || len(r.Advice) != 0 {
		t.Errorf("%+v", r)
	}
}

// TestRange: under a Range, customers/1-A lies in the block that docs/design/placement.md says, and
// the largest bucket shrinks by the Range.
func TestRange(t *testing.T) {
	one := func(int) shardmap.Value { return shardmap.Text("customers/1-A") }
	narrow, wide := judged(t, `{"Fields":["Customer"]}`, 1000, one, Statements{}),
		judged(t, `{"Fields":["Customer"],"Range":1000}`, 1000, one, Statements{})
	if narrow.Most != 1000 || narrow.Largest != 982173 || narrow.Buckets != 1 {
		t.Errorf("%+v", narrow.Spread)
	}
	if wide.Most > 10 || wide.Buckets < 500 || wide.Largest < 982000 || wide.Largest >= 983000 {
		t.Errorf("%+v", wide.Spread)
	}
}

func TestDistinctEstimate(t *testing.T) {
	for _, n := range []int{1, 10, 1000, 100_000} {
		r := judged(t, `{"Fields":["F"]}`, 2*n, func(i int) shardmap.Value {
			return shardmap.Text(fmt.Sprint("v", i%n))
		}, Statements{})
		if d := float64(r.Distinct) / float64(n); d < 0.97 || d > 1.03 {
			t.Errorf("%d values are taken for %d", n, r.Distinct)
		}
	}
}

func TestBetterIsWhatStatementsName(t *testing.T) {
	v := func(i int) shardmap.Value { return shardmap.Text(fmt.Sprint(i % 300)) }
	a, b := judged(t, `{"Fields":["A"]}`, 3000, v, Statements{10, 9, 0}),
		judged(t, `{"Fields":["B"]}`, 3000, v, Statements{10, 1, 0})
	if Better(a, b) >= 0 || Better(b, a) <= 0 || Better(a, a) != 0 {
		t.Error("a policy that keeps more statements in one fragment is not preferred")
	}
}

func TestPaths(t *testing.T) {
	p := NewPaths()
	for i := range 200 {
		d, err := jsonb.Parse(
			fmt.Sprintf(`{"Customer":"c%d","Address":{"State":"s%d","Zip":{"deep":{"deeper":%d}}},"Serial":%d,`+
				`"Kind":"same","Tags":[1],"N":null%s}`,
				i%20, i%4, i, i, map[bool]string{true: `,"Rare":1`}[i%3 == 0]))
		if err != nil {
			t.Fatal(err)
		}
		p.Add(d)
	}
	var got []string
	for _, f := range p.Fields(10) {
		got = append(got, f.String())
	}
	if want := "Customer Address.State Serial"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestNumberOfID(t *testing.T) {
	for id, want := range map[string]int64{"orders/17-A": 17, "orders/17-A$customers/99-A": 17, "x": -1, "9": 9,
		"a12b": 12, "orders/5-A$@982173": 5, "99999999999999999999": -1} {
		n, ok := number(id)
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("%s has %d, want %d", id, n, want)
		}
	}
}
