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
	if bucket, err = shardmap.BucketOf(id); err != nil {
		return id, bucket, err
	}
	return id, bucket, p.table.checkPlace(row)
}
