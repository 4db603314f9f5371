package exec

import (
	"bytes"

	"github.com/sherddb/sherd/sql/types"
)

// An entry that a move brings along has the key and the version that it had in an earlier stay of its bucket, where there was one; which of the two
// values is found is not certain, and may differ between replicas. Both lead to the same row, of which all versions are there. So an entry of an earlier
// stay counts where the row, as it is now, says the same.

// confirmed tells whether an entry of a local index, of a bucket that is the fragment's, follows from the row that it leads to; get reads that.
func (x *indexRule) confirmed(c *Ctx, key, value []byte, get func(row []byte) ([]byte, error)) (bool, error) {
	row, err := x.table.rowOfEntry(nil, key, value)
	if err != nil {
		return false, err
	}
	stored, err := get(row)
	if err != nil || stored == nil {
		return false, err
	}
	var reader types.RowReader
	values := make(Row, len(x.table.kinds))
	if err := x.table.decode(&reader, values, stored); err != nil {
		return false, err
	}
	own := *x // what it computes in is in use
	own.vals, own.plain = make(Row, len(x.keys)), nil
	e, _, err := own.entry(c, values, row, nil)
	return err == nil && bytes.Equal(e.key, key), err
}
