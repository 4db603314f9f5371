package table

import (
	"bytes"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/rebalance/rows"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
)

// Schema returns what moves have to know about rows and their index entries.
func Schema() rows.Schema {
	return rows.Schema{
		Deriver: func(view *catalog.View) rows.Deriver { return NewDeriver(view) },
		Index: func(view *catalog.View, t *catalog.Table, index uint32) (rows.Index, error) {
			x, err := newLocalIndex(view, t, index)
			if x == nil { // not an interface that holds a nil pointer
				return nil, err
			}
			return x, err
		},
	}
}

// secondaryIndexes returns the rules of a table's secondary indexes.
func secondaryIndexes(view *catalog.View, t *catalog.Table) ([]query.Index, error) {
	return plan.TableIndexes(view, t, plan.Env{Fold: expr.EvalConst})
}

// localIndex checks which entries of one local index follow from rows.
type localIndex struct {
	index uint32
	order bool // it is the index in primary key order
	rows  *RowCheck
	all   *IndexCheck
}

var _ rows.Index = (*localIndex)(nil)

// newLocalIndex returns nil if it is not a local index that is public.
func newLocalIndex(view *catalog.View, def *catalog.Table, index uint32) (*localIndex, error) {
	check, err := NewRowCheck(def)
	if err != nil {
		return nil, err
	}
	x := &localIndex{index: index, order: index == check.Order(), rows: check}
	if x.order {
		return x, nil
	}
	rules, err := secondaryIndexes(view, def)
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		if r.Def.StorageID == index && !r.Def.Global && r.Def.State == catalog.IndexPublic {
			if x.all, err = NewIndexCheck(check, rules); err != nil {
				return nil, err
			}
			return x, nil
		}
	}
	return nil, nil
}

// Place implements rows.Index.
func (x *localIndex) Place(value []byte) (bucket, generation uint32, ok bool) {
	return EntryPlace(value, x.order)
}

// Row implements rows.Index.
func (x *localIndex) Row(key, value []byte) ([]byte, error) {
	if x.order {
		if row, ok := x.rows.RowOf(nil, key, value); ok {
			return row, nil
		}
		return nil, corrupted("an entry of an index is malformed")
	}
	row, err := x.all.RowOf(key, value)
	return bytes.Clone(row), err
}

// Follows implements rows.Index.
func (x *localIndex) Follows(key, row, stored []byte) (follows bool, err error) {
	if stored == nil || x.order {
		return stored != nil, nil
	}
	if err := x.rows.Content(stored); err != nil {
		return false, err
	}
	err = x.all.Entries(row, func(e StoredEntry) error {
		follows = follows || e.Index.StorageID == x.index && bytes.Equal(e.Key, key)
		return nil
	})
	return follows, err
}
