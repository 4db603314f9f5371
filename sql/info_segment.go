package sql

import (
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
	const function = "move_segment"
	if err := i.reshape(function); err != nil {
		return 0, err
	}
	t, err := ddl.TableOf(i.db.cfg.Catalog.View(), i.database, table)
	if err != nil {
		return 0, err
	}
	at, err := ddl.KeyInSegments(t, key, i.Env())
	if err != nil {
		return 0, err
	}
	return i.move(function, i.CurrentDatabase(), shardmap.OneBucket(t.Segments.At(at).Bucket), fragment, o)
}
