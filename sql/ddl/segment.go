package ddl

import (
	"context"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/types"
)

// Range tables: shard_by = 'range' has rows lie by ranges of their primary keys, the segments, instead of by a hash.

// wantsRange tells whether the table is a range table when the statement is done.
func (d *draft) wantsRange() bool {
	if d.touches(shardmap.OptionBy) {
		return strings.EqualFold(strings.TrimSpace(d.options.set[shardmap.OptionBy]), shardmap.RangeTable)
	}
	return len(d.t.Segments) > 0
}

// settleSegments makes the segments of what becomes a range table, and takes away those of what is none any more; the rows are stored anew then.
func (d *draft) settleSegments() error {
	was, splits := len(d.t.Segments) > 0, d.options.set[optionSplits]
	if !d.wantsRange() {
		if splits != "" {
			return pgerr.New(pgerr.InvalidParameterValue, `option "%s" needs %s = '%s'`, optionSplits, shardmap.OptionBy, shardmap.RangeTable)
		}
		d.t.Segments, d.restored = nil, d.restored || was
		return nil
	}
	if err := d.checkRange(); err != nil {
		return err
	}
	switch {
	case was && splits != "":
		return pgerr.Unsupported(`option "%s" of a table that has segments is not supported`, optionSplits).
			WithHint("Use sherd.split_segment('%s', key).", d.t.Name)
	case was && !d.keyStands():
		return pgerr.Unsupported(`changing the primary key of range table "%s" is not supported`, d.t.Name).
			WithHint("Its segments begin at values of that key. ALTER TABLE %s RESET (%s) first.", d.t.Name, shardmap.OptionBy)
	case was:
		return nil
	}
	starts, err := d.splitKeys(splits)
	if err != nil {
		return err
	}
	d.t.Segments, err = NewSegments(d.change, starts)
	d.restored = true
	return err
}

// checkRange refuses what does not go with a range table.
func (d *draft) checkRange() error {
	if d.t.PrimaryKey() == nil {
		return pgerr.New(pgerr.InvalidParameterValue, `range table "%s" needs a primary key`, d.t.Name).
			WithHint("Its rows lie in the order of their primary keys. ALTER TABLE %s RESET (%s) takes that back.", d.t.Name, shardmap.OptionBy)
	}
	for _, name := range policyOptions[1:] {
		if _, given := d.options.set[name]; given {
			return pgerr.New(pgerr.InvalidParameterValue, `option "%s" has no meaning with %s = '%s'`, name, shardmap.OptionBy, shardmap.RangeTable)
		}
	}
	for name, why := range map[string]string{optionAnchors: "$ has no meaning in the ids of a range table", optionAnchorBy: "ids of a range table have no anchors"} {
		if v, given := d.option(name); given && v != "" && (name == optionAnchorBy || d.boolOption(name, false)) {
			return pgerr.New(pgerr.InvalidParameterValue, `option "%s" does not go with %s = '%s'`, name, shardmap.OptionBy, shardmap.RangeTable).WithDetail("%s.", why)
		}
	}
	return nil
}

// keyStands tells whether the primary key has the columns and types that it had.
func (d *draft) keyStands() bool {
	old, now := d.was.PrimaryKey(), d.t.PrimaryKey()
	if old == nil || len(old.Columns) != len(now.Columns) {
		return false
	}
	for i, att := range now.Columns {
		if old.Columns[i] != att || d.was.ColumnByNum(att).Type != d.t.ColumnByNum(att).Type {
			return false
		}
	}
	return true
}

// splitKeys reads the keys at which segments begin: separated by commas, or as an array {…}.
func (d *draft) splitKeys(text string) (out [][]byte, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	texts := strings.Split(text, ",")
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		v, err := types.Input(types.ArrayTypeOf(types.Text), -1, text, d.Env.Env)
		if err != nil {
			return nil, err
		}
		a, err := types.ArrayOf(v)
		if err != nil {
			return nil, err
		}
		texts = texts[:0]
		for _, e := range a.Elems() {
			texts = append(texts, e.S)
		}
	}
	for _, s := range texts {
		key, err := SegmentKey(d.t, strings.TrimSpace(s), d.Env.Env)
		if err != nil {
			return nil, err
		}
		out = append(out, key)
	}
	return out, nil
}

// NewSegments gives the segments of a table without rows, in new buckets that are spread over the fragments.
func NewSegments(c *change, starts [][]byte) (shardmap.Segments, error) {
	n := len(shardmap.NewSegments(starts, shardmap.BucketCount))
	first, err := c.Catalog.AssignBuckets(c.ctx, c.Database, func(_ *catalog.View, d *catalog.Database) ([]shardmap.FragmentID, error) {
		return d.SpreadSegments(n), nil
	})
	return shardmap.NewSegments(starts, first), err
}

// SegmentKey reads the key at which a segment begins: the values of the primary key, or of its first columns, joined by "/". Only the last of all columns
// may contain "/" itself.
func SegmentKey(t *catalog.Table, text string, env *types.Env) (key []byte, err error) {
	columns := t.PrimaryKey().Columns
	for i, part := range strings.SplitN(text, "/", len(columns)) {
		c := t.ColumnByNum(columns[i])
		d, err := types.Input(c.Type, c.Typmod, part, env)
		if err != nil {
			return nil, err
		}
		key = types.AppendKey(key, c.Type, d, false)
	}
	return key, nil
}

// SplitSegment cuts the segment of a range table that a key belongs to in two, the second of which begins with it, in a new bucket of a fragment that has
// few, or, where the segment is pinned, of its own fragment, and pinned. The rows of the table are stored anew: what is stored under one storage id lies by the same segments always, so snapshots are never in doubt.
func SplitSegment(ctx context.Context, e *Env, table catalog.OID, text string) error {
	return changeSegments(ctx, e, table, text, func(c *change, s shardmap.Segments, key []byte) (shardmap.Segments, error) {
		if _, err := s.Split(key, shardmap.BucketCount); err != nil {
			return nil, pgerr.New(pgerr.DuplicateObject, `a segment begins at "%s" already`, text)
		}
		bucket, err := c.Catalog.AssignBeside(c.ctx, c.Database, s.At(key).Bucket)
		if err != nil {
			return nil, err
		}
		return s.Split(key, bucket)
	})
}

// MergeSegments makes one of the two segments of a range table that meet at a key, with which the second begins. The rows of the table are stored anew.
func MergeSegments(ctx context.Context, e *Env, table catalog.OID, text string) error {
	return changeSegments(ctx, e, table, text, func(c *change, s shardmap.Segments, key []byte) (shardmap.Segments, error) {
		if err := c.pinnedAlike(s, key, text); err != nil {
			return nil, err
		}
		out, err := s.Merge(key)
		if err != nil {
			return nil, pgerr.New(pgerr.UndefinedObject, `no two segments meet at "%s"`, text).
				WithHint("Name the key that the second one begins with; sherd.segments has it as lower.")
		}
		return out, nil
	})
}

// pinnedAlike refuses to merge segments that are pinned to different fragments, or one of which is not pinned: rows would leave, or come to, where they are to stay.
func (c *change) pinnedAlike(s shardmap.Segments, key []byte, text string) error {
	i := s.Place(key)
	if i <= 0 {
		return nil
	}
	d := c.view.Database(c.Database)
	lower, a := d.PinOf(s[i-1].Bucket)
	upper, b := d.PinOf(s[i].Bucket)
	if a == b && lower.Fragment == upper.Fragment {
		return nil
	}
	return pgerr.New(pgerr.ObjectInUse, `segments that meet at "%s" cannot be merged: they are not pinned to the same fragment`, text).
		WithHint("sherd.unpin lets them go; sherd.pins lists what is pinned.")
}

func changeSegments(ctx context.Context, e *Env, table catalog.OID, text string, next func(*change, shardmap.Segments, []byte) (shardmap.Segments, error)) error {
	r := &runner{Env: e, ctx: ctx}
	return r.exclusively(func(*change) []catalog.OID { return []catalog.OID{table} }, func(c *change) error {
		t, err := TableOf(c.view, c.Database, table)
		if err != nil {
			return err
		}
		if !c.owns(t.Owner) {
			return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of table %s", t.Name)
		}
		key, err := KeyInSegments(t, text, e.Env)
		if err != nil {
			return err
		}
		d := &draft{change: c, t: t.Clone(), was: t, restored: true}
		d.filled = c.rowsOf(t)
		if d.t.Segments, err = next(c, t.Segments, key); err != nil {
			return err
		}
		return d.putTable()
	})
}

// KeyInSegments is SegmentKey of a table that must be a range table.
func KeyInSegments(t *catalog.Table, text string, env *types.Env) ([]byte, error) {
	if len(t.Segments) == 0 {
		return nil, pgerr.New(pgerr.WrongObjectType, `table "%s" has no segments`, t.Name).
			WithHint("ALTER TABLE %s SET (%s = '%s') has its rows lie by ranges of their keys.", builtin.QuoteIdent(t.Name), shardmap.OptionBy, shardmap.RangeTable)
	}
	return SegmentKey(t, text, env)
}
