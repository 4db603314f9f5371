package sql

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/ddl"
)

// SplitSegment implements builtin.SegmentInfo. The change commits with the transaction.
func (i info) SplitSegment(table uint32, key string) error {
	if err := i.mayDefine("sherd.split_segment()", table); err != nil {
		return err
	}
	return ddl.SplitSegment(i.ctx, i.definer(i.keepNotice), table, key)
}

// MergeSegments implements builtin.SegmentInfo. The change commits with the transaction.
func (i info) MergeSegments(table uint32, key string) error {
	if err := i.mayDefine("sherd.merge_segments()", table); err != nil {
		return err
	}
	return ddl.MergeSegments(i.ctx, i.definer(i.keepNotice), table, key)
}

// MoveSegment implements builtin.SegmentInfo. Like all moves it begins at once, whatever becomes of the transaction.
func (i info) MoveSegment(table uint32, key, fragment string, o builtin.MoveOptions) (int64, error) {
	t := i.db.cfg.Catalog.View().Table(catalog.OID(table))
	if t == nil || t.Database != i.database {
		return 0, pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", table)
	}
	at, err := ddl.KeyInSegments(t, key, i.Env())
	if err != nil {
		return 0, err
	}
	return i.move("move_segment", i.CurrentDatabase(), shardmap.OneBucket(t.Segments.At(at).Bucket), fragment, o)
}
