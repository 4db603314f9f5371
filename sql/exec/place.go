package exec

import (
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
)

// found is a bucket, or that no row can have the key.
type found struct {
	at    shardmap.Bucket
	found bool
}

// bucketOf returns the bucket of a row with these primary key values. found is false for ids that
// no row can have.
func (t *table) bucketOf(keys types.Row) (found, error) {
	for _, d := range keys {
		if d.IsNull() {
			return found{}, nil
		}
	}
	if t.def.Anchors {
		b, err := t.def.Prefixes.BucketOf(keys[0].S)
		return found{b, err == nil}, nil // an id that BucketOf refuses was never stored
	}
	if t.def.Policy == nil {
		b, err := t.ownBucket(keys)
		return found{b, err == nil}, err
	}
	row := make(types.Row, len(t.kinds))
	for i, pos := range t.key {
		row[pos] = keys[i]
	}
	b, err := t.policyBucket(row, keys)
	return found{b, err == nil}, nil
}

// policyBucket places a row of a relational table by the policy, whose fields are columns of the
// primary key: the content chooses the block, and the key's own bucket the place in it, as
// shardmap.Place does for ids.
func (t *table) policyBucket(row, keys types.Row) (shardmap.Bucket, error) {
	own, err := t.ownBucket(keys)
	if err != nil {
		return 0, err
	}
	b, err := t.def.Policy.ContentBucket(t.def.Prefixes, t.def.Name, own, t.policyValues(row))
	if err != nil {
		return 0, err
	}
	return t.def.Policy.Block(t.def.Prefixes, b).Fold(own), nil
}

// place chooses the bucket of a new row. It rewrites an id that asks for placement, and checks the
// policy. keys are the primary key's values, empty if there is none.
func (t *table) place(row types.Row, keys types.Row, explicit bool) (shardmap.Bucket, error) {
	if !t.def.Anchors {
		if t.def.Policy == nil {
			return t.ownBucket(keys)
		}
		return t.policyBucket(row, keys)
	}
	values := t.policyValues(row)
	given, err := t.def.Prefixes.ParseID(keys[0].S)
	if err != nil {
		return 0, err
	}
	if err := given.CheckExplicit(explicit); err != nil {
		return 0, err
	}
	id, err := t.def.Policy.Place(t.def.Prefixes, t.def.Name, keys[0].S, values)
	if err != nil {
		return 0, err
	}
	if id.Text != keys[0].S {
		keys[0] = types.NewText(id.Text)
		row[t.key[0]] = keys[0]
	}
	return id.Bucket, nil
}

// checksPlaces reports whether the policy refuses ids whose bucket is not that of their content.
func (t *table) checksPlaces() bool {
	p := t.def.Policy
	return t.def.Anchors && p != nil && !p.Mutable && !p.IsID()
}

// checkPlace checks a row that will be stored under its id against the policy (23514 with
// constraint sharding).
func (t *table) checkPlace(row types.Row) error {
	if !t.def.Anchors || t.def.Policy == nil {
		return nil
	}
	id, err := t.def.Prefixes.ParseID(row[t.key[0]].S)
	if err != nil {
		return err
	}
	return t.def.Policy.Check(t.def.Prefixes, t.def.Name, id, t.policyValues(row))
}
