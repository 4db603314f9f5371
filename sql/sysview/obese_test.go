package sysview

import (
	"strings"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
)

// TestObeseRemedies checks that the remedy for a bucket that is too large fits the table, names the
// table and the bucket, and is null if no statement helps.
func TestObeseRemedies(t *testing.T) {
	e := testEnv(t)
	policy := func(o shardmap.Options) *shardmap.Policy {
		p, err := shardmap.ParseOptions(o)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	table := func(types ...types.OID) *catalog.Table {
		out := &catalog.Table{Schema: catalog.PostgresPublic, Name: "it's",
			Constraints: []catalog.Constraint{{Kind: catalog.PrimaryKey}}}
		for i, typ := range types {
			at := int16(i + 1)
			out.Columns = append(out.Columns, catalog.Column{AttNum: at, Name: "Key", Type: typ})
			out.Constraints[0].Columns = append(out.Constraints[0].Columns, at)
		}
		return out
	}
	collection, placed, loose, flat, several, ranged := table(types.Text), table(types.Text), table(types.Text),
		table(types.Text), table(types.Int4, types.Text), table(types.Text)
	collection.Anchors, placed.Anchors, loose.Anchors = true, true, true
	placed.Policy, several.Policy = policy(shardmap.Options{By: "Customer", Range: "1000"}),
		policy(shardmap.Options{By: "Customer"})
	old := placed.Clone()
	old.Name = "before's"
	e.Hot.Spreads = func(t *catalog.Table, bucket uint32) (bool, error) { return t == old && bucket == 300, nil }
	loose.Policy = policy(shardmap.Options{By: "Customer", Mutable: "true"})
	ranged.Segments = shardmap.Segments{{Bucket: shardmap.BucketCount}}
	const (
		exact = `SELECT sherd.slice("Key"), count(*) FROM public."it's" WHERE sherd.slice("Key") >= 256 AND ` +
			`sherd.slice("Key") < 512 GROUP BY 1 ORDER BY 2 DESC LIMIT 5`
		alone = `SELECT sherd.isolate_anchor('it''s/$@300')`
	)
	group := Stat{From: 256, To: 512, Documents: 1e6, Bytes: 1 << 30}
	bucket := Stat{From: 300, To: 301, Documents: 1000, Bytes: 1 << 30}
	segment := Stat{From: shardmap.BucketCount, To: shardmap.BucketCount + 1, Documents: 1000, Bytes: 1 << 30}
	one := bucket
	one.Documents = 1
	for _, c := range []struct {
		name  string
		table *catalog.Table
		stat  Stat
		share float64
		block int64
		want  string
		why   string
	}{
		{"group", collection, group, 0.5, 0, exact, "the statement shows the fullest"},
		{"spread", placed, group, 0.01, 0, "", "the data is spread"},
		{"group, no anchors", flat, group, 0.5, 0,
			strings.ReplaceAll(exact, `sherd.slice("Key")`, `sherd.bucket('public."it''s"', "Key")`), "fullest"},
		{"group, several columns", several, group, 0.5, 0, "", "not counted one by one yet"},
		{"collection", collection, bucket, 0.5, 0, alone, "a new fragment"},
		{"range too small", placed, bucket, 0.5, 1 << 40, `ALTER TABLE public."it's" SET (shard_range = 100000)`,
			"documents that are there already stay"},
		{"range wide enough", placed, bucket, 0.5, 1 << 30, alone, "a new fragment"},
		{"documents from before the range", old, bucket, 0.5, 1 << 30,
			`SELECT sherd.replace_placement('public."before''s"', spread => true)`,
			"over the 1000 buckets of their block"},
		{"its range is too small", old, bucket, 0.5, 1 << 40,
			`ALTER TABLE public."before's" SET (shard_range = 100000)`, "documents that are there already stay"},
		{"no range suffices", placed, bucket, 0.5, 1 << 50, alone, "a new fragment"},
		{"mutable", loose, bucket, 0.5, 1 << 30, alone, "a new fragment"},
		{"columns", several, bucket, 0.5, 1 << 30, `ALTER TABLE public."it's" SET (shard_range = 100)`,
			"the table is locked"},
		{"no anchors", flat, bucket, 0.5, 0, "", "only the application can divide them"},
		{"one row", collection, one, 0.5, 0, "", "one row has all the bytes"},
		{"segments", ranged, bucket, 0.5, 0, "", "split or merged just now"},
		{"segment", ranged, segment, 0.5, 0, `SELECT sherd.halve_segment('public."it''s"', '-')`, "beside its users"},
	} {
		got, err := e.smaller(&oversized{Stat: c.stat, table: c.table, share: c.share, block: c.block,
			reads: c.table == old})
		if err != nil {
			t.Fatal(err)
		}
		if got.Statement != c.want || !strings.Contains(got.Advice, c.why) {
			t.Errorf("%s: %q, %q", c.name, got.Statement, got.Advice)
		}
	}
}

// TestObeseAnchors checks that the id for isolating a bucket is an anchor of it, or the id of one
// of its documents, if the session may read it.
func TestObeseAnchors(t *testing.T) {
	e := testEnv(t)
	x := &oversized{table: &catalog.Table{Name: "orders", Anchors: true}, reads: true}
	for _, c := range []struct{ id, want string }{
		{"orders/1-A$customers/1-A", "customers/1-A"}, {"orders/1-A$@982173", "orders/1-A$@982173"},
		{"customers/1-A", "customers/1-A"}, {"", "orders/$@982173"}, {"x$y", "orders/$@982173"},
	} {
		e.Hot.SomeID = func(*catalog.Table, uint32, uint32) (string, error) { return c.id, nil }
		x.From, x.To = 982173, 982174
		if got, err := e.anchorIn(x); got != c.want || err != nil {
			t.Errorf("%s: %s, %v", c.id, got, err)
		}
	}
	x.reads = false
	if got, err := e.anchorIn(x); got != "orders/$@982173" || err != nil {
		t.Errorf("of rows that may not be read: %s, %v", got, err)
	}
}
