package sysview

import (
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
)

// segments is sherd.segments.
func segments(b *builder) error {
	writes := sync.OnceValue(func() map[int64]Heat {
		out := map[int64]Heat{}
		for _, x := range b.env.Heat() {
			if x.Key == nil && b.env.Database.FragmentByID(x.Fragment) != nil &&
				b.env.Database.Map.Lookup(shardmap.Bucket(max(x.Bucket, 0))) == x.Fragment {
				out[x.Bucket] = x
			}
		}
		return out
	})
	return b.tables(func(t *catalog.Table) error {
		if len(t.Segments) == 0 {
			return nil
		}
		stats, _, err := b.env.counted(b.env.Database, t.StorageID)
		if err != nil {
			return err
		}
		for i := range t.Segments {
			bucket, keys := t.Segments[i].Bucket, t.Segments.Range(i)
			fragment := b.env.Database.Map.Lookup(bucket)
			docs, bytes := total(stats, func(s *Stat) bool {
				return s.Fragment == fragment && s.From == uint32(bucket)
			})
			err := b.row().oid("collection", t.OID).text("segment", t.SegmentName(i)).
				optional("lower", SegmentText(t, keys.Start)).
				optional("upper", SegmentText(t, keys.End)).int("bucket", int64(bucket)).
				text("fragment", b.env.fragmentName(fragment)).
				int("documents", docs).int("bytes", bytes).float("writes", rounded(writes()[int64(bucket)].Writes)).
				bool("automatic", t.Segments[i].Automatic).send()
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// SegmentText returns the key at which a segment begins as text, its columns joined by "/"; "" is
// the lowest key.
func SegmentText(t *catalog.Table, start []byte) string {
	return types.SplitKeyText(splitColumns(t), start)
}

// splitColumns returns the columns of a table's primary key.
func splitColumns(t *catalog.Table) (out []types.KeyColumn) {
	for _, att := range t.PrimaryKey().Columns {
		c := t.ColumnByNum(att)
		out = append(out, types.KeyColumn{Name: c.Name, Type: c.Type, Typmod: c.Typmod})
	}
	return out
}

// SegmentNames returns the names of the segments of a range table that lie in a set of buckets.
func SegmentNames(t *catalog.Table, set shardmap.BucketSet) (out []string) {
	for i := range t.Segments {
		if set.Contains(t.Segments[i].Bucket) {
			out = append(out, t.SegmentName(i))
		}
	}
	return out
}
