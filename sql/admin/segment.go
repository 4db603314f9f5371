package admin

import (
	"bytes"
	"fmt"
	"math"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/types"
)

// segments has the functions that change the segments of range tables of the session's database. Keys
// are text: the values of the primary key, or of its first columns, joined by "/".
var segments = []Function{
	{
		OID: 8120, Signature: "split_segment(collection regclass, key text) RETURNS void",
		Call: void(func(e *Environment, a []types.Datum) error {
			return splitSegment(e, "sherd.split_segment()", a, false)
		}),
		Comment: "splits a segment of a range table at a key, while the table is in use",
	},
	{
		OID: 8121, Signature: "merge_segments(collection regclass, key text) RETURNS void",
		Call:    void(mergeSegments),
		Comment: "merges two segments of a range table, while it is in use; the key begins the second segment",
	},
	{
		OID: 8122, Signature: "move_segment(collection regclass, key text, fragment text, wait bool DEFAULT false, " +
			"why text DEFAULT ''::text) RETURNS int8",
		Call:    moveSegment,
		Comment: "moves the segment of a range table that contains a key, as move_buckets does",
	},
	{
		OID: 8123, Signature: "halve_segment(collection regclass, segment text) RETURNS void",
		Call: void(func(e *Environment, a []types.Datum) error {
			return splitSegment(e, "sherd.halve_segment()", a, true)
		}),
		Comment: "splits a segment of a range table, named as in sherd.segments, at the key that divides its bytes",
	},
}

// splitSegment splits a segment at a key or, if halve is set, the segment of a name into halves of equal
// bytes. Like all moves it begins at once, independent of the transaction, and its statement waits for
// it. The second part moves on to the fragment that has the fewest segments, unless it is pinned.
func splitSegment(e *Environment, function string, a []types.Datum, halve bool) error {
	text := a[1].S
	t, err := segmentedTable(e, function, a[0].Oid())
	if err != nil {
		return err
	}
	var key []byte
	if halve {
		key, err = middleOf(e, t, text)
	} else {
		key, err = ddl.KeyInSegments(t, text, e.Values)
	}
	if err != nil {
		return err
	}
	if halve {
		text = sysview.SegmentText(t, key)
	}
	at := t.Segments.Place(key)
	if len(key) == 0 || bytes.Equal(t.Segments[at].Start, key) {
		return pgerr.New(pgerr.DuplicateObject, `a segment begins at "%s" already`, text).
			WithHint("sherd.segments lists where they begin, as lower.")
	}
	old := []shardmap.Bucket{t.Segments[at].Bucket}
	what := fmt.Sprintf("%s: split at %s", t.Name, text)
	if err := resegment(e, t, old, [][]byte{t.Segments[at].Start, key}, what); err != nil {
		return err
	}
	view := e.Catalog.View()
	if t = view.Table(t.OID); t == nil || len(t.Segments) == 0 {
		return nil // it is gone by now
	}
	b, d := t.Segments.At(key).Bucket, view.Database(e.Names.Database.OID)
	if _, pinned := d.PinOf(b); pinned {
		return nil
	}
	return bring(e, b, d.SpreadSegments(1)[0], what)
}

// middleOf returns the key that divides the bytes of a segment, which is named as in sherd.segments.
func middleOf(e *Environment, t *catalog.Table, segment string) ([]byte, error) {
	if err := ddl.HasSegments(t); err != nil {
		return nil, err
	}
	for at := range t.Segments {
		if t.SegmentName(at) != segment {
			continue
		}
		b := t.Segments[at].Bucket
		f := e.Catalog.View().Database(e.Names.Database.OID).Map.Lookup(b)
		keys, err := e.Fragments.SegmentCut(e.Context, t, b, f, math.MaxInt64)
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

// mergeSegments merges the segment that begins at a key into the previous one. If they are in different
// fragments, the second moves to the fragment of the first before.
func mergeSegments(e *Environment, a []types.Datum) error {
	text := a[1].S
	t, err := segmentedTable(e, "sherd.merge_segments()", a[0].Oid())
	if err != nil {
		return err
	}
	key, err := ddl.KeyInSegments(t, text, e.Values)
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
	view, both := e.Catalog.View(), []shardmap.Bucket{first.Bucket, second.Bucket}
	if err := view.SegmentsInUse(t, both); err != nil { // else the second would have moved for nothing
		return err
	}
	d := view.Database(e.Names.Database.OID)
	if !d.PinnedAlike(both) {
		return pgerr.New(pgerr.ObjectInUse,
			`segments that meet at "%s" cannot be merged: they are not pinned to the same fragment`, text).
			WithHint("sherd.unpin lets them go; sherd.pins lists what is pinned.")
	}
	if err := bring(e, second.Bucket, d.Map.Lookup(first.Bucket), what); err != nil {
		return err
	}
	return resegment(e, t, both, [][]byte{first.Start}, what)
}

// segmentedTable returns a table whose segments, if it has any, the session may change now.
func segmentedTable(e *Environment, function string, table catalog.OID) (*catalog.Table, error) {
	now := e.Catalog.View().Table(table)
	if now == nil && e.View().Table(table) != nil || now != nil && e.Tx != nil && e.Tx.HasChanged(now) {
		const message = "%s of a table that the transaction has made or changed is not supported"
		return nil, pgerr.Unsupported(message, function).
			WithHint("COMMIT first, or name the keys as shard_splits of CREATE TABLE.")
	}
	if err := e.mayDefine(function, table); err != nil {
		return nil, err
	}
	t, err := ddl.TableOf(e.Catalog.View(), e.Names.Database.OID, table)
	if err != nil {
		return nil, err
	}
	if !privilege.Owns(e.View(), e.Names.Database.OID, e.Role, t.Owner) {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be owner of table %s", t.Name)
	}
	return t, nil
}

// resegment replaces segments by new ones that begin at starts, and waits for that.
func resegment(e *Environment, t *catalog.Table, old []shardmap.Bucket, starts [][]byte, what string) error {
	id, err := e.Catalog.NewJobID(e.Context)
	if err != nil {
		return err
	}
	err = e.update(func(_ *catalog.View, c *catalog.Change) error {
		return c.AddResegment(id, t.OID, old, starts, what, e.author(""))
	})
	if err != nil {
		return err
	}
	return e.waitMove(id)
}

// bring moves a segment to a fragment, unless it is there, and waits for that.
func bring(e *Environment, b shardmap.Bucket, f shardmap.FragmentID, why string) error {
	if e.Catalog.View().Database(e.Names.Database.OID).Map.Lookup(b) == f {
		return nil
	}
	id, err := e.Catalog.NewJobID(e.Context)
	if err != nil {
		return err
	}
	err = e.update(func(_ *catalog.View, c *catalog.Change) error {
		m := &catalog.Move{Interval: shardmap.OneBucket(b), Target: f}
		return c.AddMove(id, e.Names.Database.OID, m, e.author(why))
	})
	if err != nil {
		return err
	}
	return e.waitMove(id)
}

// moveSegment moves the segment that contains a key. Like all moves it begins at once, independent of the
// transaction.
func moveSegment(e *Environment, a []types.Datum) (types.Datum, error) {
	const function = "move_segment"
	if err := e.reshape(function); err != nil {
		return types.Null, err
	}
	t, err := ddl.TableOf(e.Catalog.View(), e.Names.Database.OID, a[0].Oid())
	if err != nil {
		return types.Null, err
	}
	at, err := ddl.KeyInSegments(t, a[1].S, e.Values)
	if err != nil {
		return types.Null, err
	}
	b := t.Segments.At(at).Bucket
	return move(e, function, e.Names.Database.Name, shardmap.OneBucket(b), a[2].S, moveOptionsOf(a[3:]))
}
