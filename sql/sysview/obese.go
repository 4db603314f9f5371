package sysview

import (
	"fmt"
	"math"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/types"
)

const (
	obese   = 128 << 20 // bytes above which a bucket is not moved for balance
	crowded = 0.05      // of a table's bytes, from which a group of buckets is worth a word
)

// obeseBuckets is sherd.obese_buckets. A bucket above 4 MiB is counted by itself; until its group of buckets has been counted so, the row is that of the group.
func obeseBuckets(b *builder) error {
	return b.tables(func(t *catalog.Table) error {
		stats, _, err := b.env.counted(b.env.Database, t.StorageID)
		if err != nil {
			return err
		}
		_, all := total(stats, nil)
		for _, s := range stats {
			if s.Bytes <= obese {
				continue
			}
			share := float64(s.Bytes) / float64(all)
			err := b.row().oid("collection", t.OID).int("first_bucket", int64(s.From)).int("end_bucket", int64(s.To)).text("fragment", b.env.fragmentName(s.Fragment)).
				int("documents", s.Documents).int("bytes", s.Bytes).set("share", types.NewFloat8(math.Round(share*1000)/1000)).text("remedy", b.env.remedy(t, &s, share)).send()
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// remedy says what may be done about a group of buckets of a table.
func (e *Env) remedy(t *catalog.Table, s *Stat, share float64) string {
	text := "rows of one key prefix crowd here: choose a primary key that spreads them"
	switch {
	case t.Segments != nil:
		return fmt.Sprintf("split the segment: plans do so above sherd.segment_size, or SELECT sherd.split_segment(%s, key)", builtin.QuoteLiteral(e.qualified(t.Schema, t.Name)))
	case share < crowded && s.Documents > int64(s.To-s.From):
		return "none: the data is spread, there is much of it; more fragments make each smaller"
	case t.Policy != nil && !t.Policy.Mutable && t.Anchors:
		text = wider(t.Policy) + ", or add a field to it, so that new documents of one content spread over more buckets; or isolate the anchor: SELECT sherd.isolate_anchor(id)"
	case t.Policy != nil && !t.Policy.Mutable:
		text = wider(t.Policy) + ", or add a column of the primary key to it"
	case t.Anchors:
		text = "give the busiest anchor a fragment of its own: SELECT sherd.isolate_anchor(id); or anchor its new documents to several names"
	}
	if exact := e.crowdedBucket(t, s); exact != "" {
		text += "; which bucket it is: " + exact
	}
	return text
}

// wider says how the range of a policy may be raised.
func wider(p *shardmap.Policy) string {
	if p.Range <= 1 {
		return "give the policy a range above 1"
	}
	return fmt.Sprintf("raise the range of the policy to a multiple of %d", p.Range)
}

// crowdedBucket is the statement that finds the fullest buckets of a group, of tables whose key is one text; "" of others. sherd.slice, by which only these buckets are
// read, is for ids with anchors where no rules for prefixes send some elsewhere.
func (e *Env) crowdedBucket(t *catalog.Table, s *Stat) string {
	pk := t.PrimaryKey()
	if pk == nil || len(pk.Columns) != 1 {
		return ""
	}
	column := t.ColumnByNum(pk.Columns[0])
	if column == nil || column.Type != types.Text {
		return ""
	}
	name, id := e.qualified(t.Schema, t.Name), builtin.QuoteIdent(column.Name)
	bucket := fmt.Sprintf("sherd.bucket(%s, %s)", builtin.QuoteLiteral(name), id)
	if t.Anchors && len(e.Database.Prefixes) == 0 {
		bucket = fmt.Sprintf("sherd.slice(%s)", id)
	}
	return fmt.Sprintf("SELECT %s, count(*) FROM %s WHERE %s >= %d AND %s < %d GROUP BY 1 ORDER BY 2 DESC LIMIT 5", bucket, name, bucket, s.From, bucket, s.To)
}
