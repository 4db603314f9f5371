package table

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
)

// BucketOf returns the bucket of a row with these primary key values; ok is false for ids that no
// row can have.
func (t *Table) BucketOf(keys types.Row) (b shardmap.Bucket, ok bool, err error) {
	for _, d := range keys {
		if d.IsNull() {
			return 0, false, nil
		}
	}
	if t.Def.Anchors {
		b, err = t.Def.Prefixes.BucketOf(keys[0].S)
		return b, err == nil, nil // an id that BucketOf refuses was never stored
	}
	if t.Def.Policy == nil {
		b, err = t.OwnBucket(keys)
		return b, err == nil, err
	}
	row := make(types.Row, len(t.Kinds))
	for i, pos := range t.Key {
		row[pos] = keys[i]
	}
	b, err = t.PolicyBucket(row, keys)
	return b, err == nil, nil
}

// PolicyBucket places a row of a relational table by the policy, whose fields are columns of the
// primary key: the content chooses the block, and the key's own bucket the place in it, as
// shardmap.Place does for ids.
func (t *Table) PolicyBucket(row, keys types.Row) (shardmap.Bucket, error) {
	own, err := t.OwnBucket(keys)
	if err != nil {
		return 0, err
	}
	b, err := t.Def.Policy.ContentBucket(t.Def.Prefixes, t.Def.Name, own, t.policyValues(row))
	if err != nil {
		return 0, err
	}
	return t.Def.Policy.Block(t.Def.Prefixes, b).Fold(own), nil
}

// Place chooses the bucket of a new row. It rewrites an id that asks for placement, and checks the
// policy. keys are the primary key's values, empty if there is none.
func (t *Table) Place(row types.Row, keys types.Row, explicit bool) (shardmap.Bucket, error) {
	if !t.Def.Anchors {
		if t.Def.Policy == nil {
			return t.OwnBucket(keys)
		}
		return t.PolicyBucket(row, keys)
	}
	values := t.policyValues(row)
	given, err := t.Def.Prefixes.ParseID(keys[0].S)
	if err != nil {
		return 0, err
	}
	if err := given.CheckExplicit(explicit); err != nil {
		return 0, err
	}
	id, err := t.Def.Policy.Place(t.Def.Prefixes, t.Def.Name, keys[0].S, values)
	if err != nil {
		return 0, err
	}
	if id.Text != keys[0].S {
		keys[0] = types.NewText(id.Text)
		row[t.Key[0]] = keys[0]
	}
	return id.Bucket, nil
}

// ChecksPlaces reports whether the policy refuses ids whose bucket is not that of their content.
func (t *Table) ChecksPlaces() bool {
	p := t.Def.Policy
	return t.Def.Anchors && p != nil && !p.Mutable && !p.IsID()
}

// CheckPlace checks a row that will be stored under its id against the policy (23514 with
// constraint sharding).
func (t *Table) CheckPlace(row types.Row) error {
	if !t.Def.Anchors || t.Def.Policy == nil {
		return nil
	}
	id, err := t.Def.Prefixes.ParseID(row[t.Key[0]].S)
	if err != nil {
		return err
	}
	return t.Def.Policy.Check(t.Def.Prefixes, t.Def.Name, id, t.policyValues(row))
}

// AnchorOf returns the value of the field that anchor_by names.
func (t *Table) AnchorOf(row types.Row) (string, error) {
	f, err := shardmap.ParseField(t.Def.AnchorBy)
	if err != nil {
		return "", err
	}
	v := shardmap.Missing()
	for i := range t.Def.Columns {
		c := &t.Def.Columns[i]
		switch {
		case len(f.Path) == 1 && !c.Dropped && c.Name == f.Path[0]:
			return t.anchorText(t.PolicyValue(PolicyField{Column: i}, row[i]))
		case c.AttNum == t.Def.Document && t.Def.Document > 0 && !row[i].IsNull():
			if doc, ok := jsonb.Doc(row[i].S).Path(f.Path...); ok {
				v = jsonValue(doc)
			}
		}
	}
	return t.anchorText(v)
}

func (t *Table) anchorText(v shardmap.Value) (string, error) {
	if (v.Kind == shardmap.TextValue || v.Kind == shardmap.NumberValue) && v.Text != "" {
		return v.Text, nil
	}
	return "", pgerr.New(pgerr.InvalidParameterValue,
		`new document of "%s" has no value to be anchored by`, t.Def.Name).
		WithDetail("anchor_by names the field %s, which must hold a single value.", t.Def.AnchorBy).
		WithHint("Give the field, or an id with an anchor of its own.")
}

// KeyChanged reports whether two rows have different primary keys.
func (t *Table) KeyChanged(a, b types.Row) bool {
	for _, i := range t.Key {
		if t.CompareColumn(i, a, b) != 0 {
			return true
		}
	}
	return false
}

// MovedKey returns the bucket and key of a row whose primary key an update has changed.
func (t *Table) MovedKey(row types.Row) (shardmap.Bucket, []byte, error) {
	keys := t.KeyValues(nil, row)
	var bucket shardmap.Bucket
	var err error
	switch {
	case t.Def.Anchors:
		bucket, err = t.Def.Prefixes.BucketOf(keys[0].S)
	case t.Def.Policy != nil:
		bucket, err = t.PolicyBucket(row, keys)
	default:
		bucket, err = t.OwnBucket(keys)
	}
	if err != nil {
		return 0, nil, err
	}
	return bucket, t.AppendKey(t.AppendRowPrefix(nil, bucket), keys), nil
}
