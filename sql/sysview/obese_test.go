package sysview

import (
	"strings"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
)

// TestObeseRemedies: what is said to do about buckets that are too large fits the table, and the statement that finds the fullest names its key as it is called.
func TestObeseRemedies(t *testing.T) {
	e := testEnv(t)
	policy, err := shardmap.ParseOptions(shardmap.Options{By: "Customer", Range: "1000"})
	if err != nil {
		t.Fatal(err)
	}
	table := func(types ...types.OID) *catalog.Table {
		out := &catalog.Table{Schema: catalog.PostgresPublic, Name: "it's", Constraints: []catalog.Constraint{{Kind: catalog.PrimaryKey}}}
		for i, typ := range types {
			at := int16(i + 1)
			out.Columns = append(out.Columns, catalog.Column{AttNum: at, Name: "Key", Type: typ})
			out.Constraints[0].Columns = append(out.Constraints[0].Columns, at)
		}
		return out
	}
	collection, placed, flat, several, ranged := table(types.Text), table(types.Text), table(types.Text), table(types.Int4, types.Text), table(types.Text)
	collection.Anchors, placed.Anchors, placed.Policy = true, true, policy
	several.Policy = policy
	ranged.Segments = shardmap.Segments{{Bucket: shardmap.BucketCount}}
	const exact = `SELECT sherd.slice("Key"), count(*) FROM public."it's" WHERE sherd.slice("Key") >= 256 AND sherd.slice("Key") < 512 GROUP BY 1`
	crowd := &Stat{From: 256, To: 512, Documents: 1e6, Bytes: 1 << 30}
	for _, c := range []struct {
		name  string
		table *catalog.Table
		share float64
		want  []string
		not   string
	}{
		{"collection", collection, 0.5, []string{"sherd.isolate_anchor(id)", exact}, "Range"},
		{"policy", placed, 0.5, []string{"a multiple of 1000, or add a field", "sherd.isolate_anchor(id)", exact}, "none"},
		{"spread", placed, 0.01, []string{"none: the data is spread"}, "SELECT"},
		{"no anchors", flat, 0.5, []string{`sherd.bucket('public."it''s"', "Key") >= 256`}, "slice"},
		{"several columns", several, 0.5, []string{"a multiple of 1000, or add a column"}, "SELECT"},
		{"segments", ranged, 0.5, []string{`sherd.split_segment('public."it''s"', key)`}, "slice"},
	} {
		got := e.remedy(c.table, crowd, c.share)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s\nhas no %s", c.name, got, want)
			}
		}
		if strings.Contains(got, c.not) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}
