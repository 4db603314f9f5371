package table

import (
	"bytes"
	"slices"

	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/types"
)

// An entry that a move copies has the key and version that it had in an earlier generation of its
// bucket, if there was one. Which of the two values a reader finds is not certain, and may differ
// between replicas. Both lead to the same row, and all its versions are present. So an entry of an
// earlier generation counts if the present row implies the same entry.

// Confirmed reports whether an entry of a local index, whose bucket the fragment owns, follows from
// the row that it leads to; get reads that row.
func (x *Index) Confirmed(c *expr.Ctx, key, value []byte, get func(row []byte) ([]byte, error)) (bool, error) {
	row, err := x.Table.RowOfEntry(nil, key, value)
	if err != nil {
		return false, err
	}
	stored, err := get(row)
	if err != nil || stored == nil {
		return false, err
	}
	var reader types.RowReader
	values := make(types.Row, len(x.Table.Kinds))
	if err := x.Table.Decode(&reader, values, stored); err != nil {
		return false, err
	}
	own := *x // the scratch space of x is in use
	own.vals, own.plain, own.was, own.now = make(types.Row, len(x.keys)), nil, nil, nil
	if own.terms, err = newTerms(x); err != nil {
		return false, err
	}
	list, _, err := own.Entries(c, values, row, nil, nil)
	return err == nil && slices.ContainsFunc(list, func(e Entry) bool { return bytes.Equal(e.Key, key) }), err
}
