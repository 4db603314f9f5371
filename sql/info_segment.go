package sql

import (
	"bytes"
	"fmt"
	"math"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/sysview"
)

// SplitSegment implements builtin.SegmentInfo. Like all moves it begins at once, whatever becomes of
// the transaction, and its statement waits for it. The second part goes on to the fragment that has
// the fewest segments, unless it is pinned.
func (i info) SplitSegment(table uint32, text string, halve bool) error {
	function := "sherd.split_segment()"
	if halve {
		function = "sherd.halve_segment()"
	}
	t, err := i.segmentedTable(function, table)
	if err != nil {
		return err
	}
	var key []byte
	if halve {
		key, err = middleOf(i, t, text)
	} else {
		key, err = ddl.KeyInSegments(t, text, i.Env())
	}
	if err != nil {
		return err
	}
	if halve {
		text = sysview.SegmentText(t, key)
	}
	at := t.Segments.Place(key)
	if len(key) == 0 || bytes.Equal(t.Segments[at].Start, key) {
		return pgerr.New(pgerr.DuplicateObject, `a segment begins at "%s" already`, text).WithHint("sherd.segments lists where they begin, as lower.")
	}
	old := []shardmap.Bucket{t.Segments[at].Bucket}
	if err := i.resegment(t, old, [][]byte{t.Segments[at].Start, key}, fmt.Sprintf("%s: split at %s", t.Name, text)); err != nil {
		return err
	}
	view := i.db.cfg.Catalog.View()
	if t = view.Table(t.OID); t == nil || len(t.Segments) == 0 {
		return nil // it is gone by now
	}
	b, d := t.Segments.At(key).Bucket, view.Database(i.database)
	if _, pinned := d.PinOf(b); pinned {
		return nil
	}
	return i.bring(b, d.SpreadSegments(1)[0], fmt.Sprintf("%s: split at %s", t.Name, text))
}

// middleOf returns the key that divides the bytes of a segment, which is named as in sherd.segments.
func middleOf(i info, t *catalog.Table, segment string) ([]byte, error) {
	if err := ddl.HasSegments(t); err != nil {
		return nil, err
	}
	for at := range t.Segments {
		if t.SegmentName(at) != segment {
			continue
		}
		b := t.Segments[at].Bucket
		f := i.db.cfg.Catalog.View().Database(i.database).Map.Lookup(b)
		keys, err := i.db.cfg.Fragments.SegmentCut(i.ctx, t, b, f, math.MaxInt64)
		if err == nil && len(keys) == 0 {
			const message = `segment "%s" of table "%s" cannot be split`
			err = pgerr.New(pgerr.ObjectNotInPrerequisiteState, message, segment, t.Name).
				WithDetail("It has fewer than two rows.")
		}
		if err != nil {
			return nil, err
		}
		return keys[0], nil
	}
	return nil, pgerr.New(pgerr.UndefinedObject, `table "%s" has no segment "%s"`, t.Name, segment).
		WithHint("sherd.segments lists them.")
}

// MergeSegments implements builtin.SegmentInfo. Where the two are in different fragments, the second moves to the first before.
func (i info) MergeSegments(table uint32, text string) error {
	t, err := i.segmentedTable("sherd.merge_segments()", table)
	if err != nil {
		return err
	}
	key, err := ddl.KeyInSegments(t, text, i.Env())
	if err != nil {
		return err
	}
	at := t.Segments.Place(key)
	if at == 0 || !bytes.Equal(t.Segments[at].Start, key) {
		return pgerr.New(pgerr.UndefinedObject, `no two segments meet at "%s"`, text).
			WithHint("Name the key that the second one begins with; sherd.segments has it as lower.")
	}
	first, second := t.Segments[at-1], t.Segments[at]
	what := fmt.Sprintf("%s: merged at %s", t.Name, text)
	view, both := i.db.cfg.Catalog.View(), []shardmap.Bucket{first.Bucket, second.Bucket}
	if err := view.SegmentsInUse(t, both); err != nil { // else the second would have moved for nothing
		return err
	}
	d := view.Database(i.database)
	if !d.PinnedAlike(both) {
		return pgerr.New(pgerr.ObjectInUse, `segments that meet at "%s" cannot be merged: they are not pinned to the same fragment`, text).
			WithHint("sherd.unpin lets them go; sherd.pins lists what is pinned.")
	}
	if err := i.bring(second.Bucket, d.Map.Lookup(first.Bucket), what); err != nil {
		return err
	}
	return i.resegment(t, both, [][]byte{first.Start}, what)
}

// segmentedTable returns a table whose segments, if it has any, the session may change now.
func (i info) segmentedTable(function string, table uint32) (*catalog.Table, error) {
	now := i.db.cfg.Catalog.View().Table(table)
	if now == nil && i.view().Table(table) != nil || now != nil && i.tx != nil && i.tx.HasChanged(now) {
		return nil, pgerr.Unsupported("%s of a table that the transaction has made or changed is not supported", function).
			WithHint("COMMIT first, or name the keys as shard_splits of CREATE TABLE.")
	}
	if err := i.mayDefine(function, table); err != nil {
		return nil, err
	}
	t, err := ddl.TableOf(i.db.cfg.Catalog.View(), i.database, table)
	if err != nil {
		return nil, err
	}
	if !i.view().Role(i.role).Owns(i.view().Database(i.database), t.Owner) {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be owner of table %s", t.Name)
	}
	return t, nil
}

// resegment has segments that begin at starts take the place of old ones, and waits until they have.
func (i info) resegment(t *catalog.Table, old []shardmap.Bucket, starts [][]byte, what string) error {
	id, err := i.db.cfg.Catalog.NewJobID(i.ctx)
	if err != nil {
		return err
	}
	_, err = i.db.cfg.Catalog.Update(i.ctx, func(_ *catalog.View, c *catalog.Change) error {
		return c.AddResegment(id, t.OID, old, starts, what, i.author(""))
	})
	if err != nil {
		return err
	}
	return i.waitMove(id)
}

// bring moves a segment to a fragment, if it is not there, and waits until it is.
func (i info) bring(b shardmap.Bucket, f shardmap.FragmentID, why string) error {
	if i.db.cfg.Catalog.View().Database(i.database).Map.Lookup(b) == f {
		return nil
	}
	id, err := i.db.cfg.Catalog.NewJobID(i.ctx)
	if err != nil {
		return err
	}
	_, err = i.db.cfg.Catalog.Update(i.ctx, func(_ *catalog.View, c *catalog.Change) error {
		return c.AddMove(id, i.database, &catalog.Move{Interval: shardmap.OneBucket(b), Target: f}, i.author(why))
	})
	if err != nil {
		return err
	}
	return i.waitMove(id)
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
