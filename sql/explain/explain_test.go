package explain

import (
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// TestOptions reads options in the ways in which PostgreSQL lets a client write them.
func TestOptions(t *testing.T) {
	for _, test := range []struct {
		text string
		want Options
		code string
	}{
		{text: "EXPLAIN SELECT 1", want: Options{Costs: true}},
		{text: "EXPLAIN ANALYZE SELECT 1", want: Options{Analyze: true, Costs: true, Timing: true, Summary: true}},
		{text: "EXPLAIN (ANALYZE, TIMING off, COSTS 0) SELECT 1", want: Options{Analyze: true, Summary: true}},
		{text: "EXPLAIN (ANALYZE 0, VERBOSE 'on', SUMMARY) SELECT 1",
			want: Options{Costs: true, Verbose: true, Summary: true}},
		{text: "EXPLAIN (FORMAT text, BUFFERS, SETTINGS) SELECT 1", want: Options{Costs: true, Settings: true}},
		{text: "EXPLAIN (FORMAT 'json') SELECT 1", want: Options{Costs: true, Format: JSON}},
		{text: "EXPLAIN (FORMAT xml, FORMAT yaml, WAL off) SELECT 1", want: Options{Costs: true, Format: YAML}},
		{text: "EXPLAIN (ANALYZE, WAL) SELECT 1",
			want: Options{Analyze: true, Costs: true, Timing: true, Summary: true}},
		{text: "EXPLAIN (WAL) SELECT 1", code: "22023"},
		{text: "EXPLAIN (TIMING) SELECT 1", code: "22023"},
		{text: "EXPLAIN (FORMAT csv) SELECT 1", code: "22023"},
		{text: "EXPLAIN (FORMAT) SELECT 1", code: "42601"},
		{text: "EXPLAIN (ANALYZE maybe) SELECT 1", code: "42601"},
		{text: "EXPLAIN (COLOR) SELECT 1", code: "42601"},
	} {
		tree, err := pg_query.Parse(test.text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadOptions(test.text, tree.Stmts[0].Stmt.GetExplainStmt())
		if pgerr.Code(err) != test.code {
			t.Errorf("%s: got SQLSTATE %q, want %q", test.text, pgerr.Code(err), test.code)
		} else if err == nil && got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.text, got, test.want)
		}
	}
}

// TestBuckets cuts long lists of buckets.
func TestBuckets(t *testing.T) {
	var many, few shardmap.BucketSet
	for b := range shardmap.Bucket(2 * maxBucketsShown) {
		many = many.Union(shardmap.BucketSetOf(2 * b))
	}
	few = shardmap.BucketSetOf(7)
	for text, set := range map[string]shardmap.BucketSet{
		"7": few, "16 in 16 ranges": many, "all": shardmap.AllBuckets(),
	} {
		if got := bucketsText(set); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
}
