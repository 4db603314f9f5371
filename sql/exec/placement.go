package exec

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
)

// Placement holds stored rows of a collection against its policy, for whoever validates it.
type Placement struct{ table *table }

// NewPlacement makes a Placement for a table that has a primary key.
func NewPlacement(def *catalog.Table) (*Placement, error) {
	t, err := newTable(def)
	if err != nil {
		return nil, err
	}
	return &Placement{t}, nil
}

// Columns gives the positions of the columns that Check reads.
func (p *Placement) Columns() []int {
	out := append([]int(nil), p.table.key...)
	for _, f := range p.table.fields {
		if f.column >= 0 {
			out = append(out, f.column)
		}
	}
	return out
}

// Check gives the row's id and bucket, and an error (23514) where the policy does not allow them.
func (p *Placement) Check(row Row) (id string, bucket shardmap.Bucket, err error) {
	id = row[p.table.key[0]].S
	if bucket, err = p.table.def.Prefixes.BucketOf(id); err != nil {
		return id, bucket, err
	}
	return id, bucket, p.table.checkPlace(row)
}

// Home gives the key of a row in words, the bucket that its key alone would choose, and the one in which it lies.
func (p *Placement) Home(row Row) (id string, own, bucket shardmap.Bucket, err error) {
	t := p.table
	keys := t.keyValues(nil, row)
	at, err := t.bucketOf(keys)
	if err != nil {
		return "", 0, 0, err
	}
	if !t.def.Anchors {
		own, err = t.ownBucket(keys)
		return string(t.text), own, at.at, err
	}
	parsed, err := t.def.Prefixes.ParseID(keys[0].S)
	if err != nil {
		return "", 0, 0, err
	}
	base, err := t.def.Prefixes.ParseID(parsed.Base + "$")
	return keys[0].S, base.Bucket, at.at, err
}

// Values gives what the policy's fields are in a row.
func (p *Placement) Values(row Row) []shardmap.Value { return p.table.policyValues(row) }

// Replaced gives the id that a row gets which does not lie where the policy wants it: what stands before the last $ of the one it has, or all of that, placed
// as if it were inserted now. The error says why it can get none.
func (p *Placement) Replaced(row Row) (string, error) {
	given, err := p.table.def.Prefixes.ParseID(row[p.table.key[0]].S)
	if err != nil {
		return "", err
	}
	id, err := p.table.def.Policy.Place(p.table.def.Prefixes, p.table.def.Name, given.Base+"$", p.table.policyValues(row))
	return id.Text, err
}
