package table

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
)

// Placement checks stored rows of a collection against its policy, for validation.
type Placement struct{ Table *Table }

// NewPlacement returns a Placement for a table with a primary key.
func NewPlacement(def *catalog.Table) (*Placement, error) {
	t, err := New(def)
	if err != nil {
		return nil, err
	}
	return &Placement{t}, nil
}

// Columns returns the positions of the columns that Check reads.
func (p *Placement) Columns() []int {
	out := append([]int(nil), p.Table.Key...)
	for _, f := range p.Table.Fields {
		if f.Column >= 0 {
			out = append(out, f.Column)
		}
	}
	return out
}

// Check returns the row's id and bucket, and an error (23514) if the policy does not allow them.
func (p *Placement) Check(row types.Row) (id string, bucket shardmap.Bucket, err error) {
	id = row[p.Table.Key[0]].S
	if bucket, err = p.Table.Def.Prefixes.BucketOf(id); err != nil {
		return id, bucket, err
	}
	return id, bucket, p.Table.CheckPlace(row)
}

// Home returns the key of a row as text, the bucket that its key alone would choose, and the bucket
// that it is in.
func (p *Placement) Home(row types.Row) (id string, own, bucket shardmap.Bucket, err error) {
	t := p.Table
	keys := t.KeyValues(nil, row)
	bucket, _, err = t.BucketOf(keys)
	if err != nil {
		return "", 0, 0, err
	}
	if !t.Def.Anchors {
		own, err = t.OwnBucket(keys)
		return string(t.text), own, bucket, err
	}
	parsed, err := t.Def.Prefixes.ParseID(keys[0].S)
	if err != nil {
		return "", 0, 0, err
	}
	base, err := t.Def.Prefixes.ParseID(parsed.Base + "$")
	return keys[0].S, base.Bucket, bucket, err
}

// Values returns the values of the policy's fields in a row.
func (p *Placement) Values(row types.Row) []shardmap.Value { return p.Table.policyValues(row) }

// Replaced returns the new id of a row that is in the wrong bucket for the policy: the part of its
// id before the last $, or all of it, placed as if it were inserted now. The error says why there
// is no such id.
func (p *Placement) Replaced(row types.Row) (string, error) {
	id, err := p.chosen(row)
	return id.Text, err
}

func (p *Placement) chosen(row types.Row) (shardmap.ID, error) {
	given, err := p.Table.Def.Prefixes.ParseID(row[p.Table.Key[0]].S)
	if err != nil {
		return shardmap.ID{}, err
	}
	return p.Table.Def.Policy.Place(p.Table.Def.Prefixes, p.Table.Def.Name, given.Base+"$", p.Table.policyValues(row))
}

// Spread reports whether a row that Check allows lies in the bucket that an insert would choose for
// it now, of all those that its content allows.
//
// That bucket depends on the base of the id and on the content alone, not on the bucket in which
// the row lies. The id that Replaced returns has the same base, and names that bucket. So a row
// that got it is spread, and stays so until its content, the policy or a rule for prefixes changes:
// spreading ends, and a second time changes nothing.
func (p *Placement) Spread(row types.Row, bucket shardmap.Bucket) bool {
	id, err := p.chosen(row)
	return err == nil && id.Bucket == bucket
}
