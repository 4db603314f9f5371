package table

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/query"
)

// IndexCheck computes the entries that the secondary indexes of a table must have for a stored row,
// to check a database. It must not be used by several goroutines.
type IndexCheck struct {
	check *RowCheck
	rules []*Index
	ctx   expr.Ctx
	list  []Entry
	buf   []byte
	row   []byte
}

// StoredEntry is a stored entry of an index. Its contents are valid until the next call.
type StoredEntry struct {
	Index      *catalog.Index
	Bucket     shardmap.Bucket // the entry is in its fragment
	Key, Value []byte
}

// NewIndexCheck returns an IndexCheck for a RowCheck of the same table. indexes come from
// plan.TableIndexes.
func NewIndexCheck(check *RowCheck, indexes []query.Index) (*IndexCheck, error) {
	rules, err := NewIndexes(&expr.Compiler{}, check.Table, indexes)
	return &IndexCheck{check: check, rules: rules, ctx: expr.Ctx{Run: 1}}, err
}

// Entries calls f with each entry that must exist for the row that the RowCheck's Content has
// decoded, stored under key. If f reads another row, it must do nothing for the entries of other
// indexes.
func (x *IndexCheck) Entries(key []byte, f func(StoredEntry) error) error {
	for _, r := range x.rules {
		list, buf := x.list, x.buf
		x.list, x.buf = nil, nil // f may call Entries
		list, buf, err := r.Entries(&x.ctx, x.check.row, key, list[:0], buf[:0])
		for _, e := range list {
			if err != nil {
				break
			}
			err = f(StoredEntry{r.Def, e.Bucket, e.Key, e.Value})
		}
		x.list, x.buf = list, buf
		if err != nil {
			return err
		}
	}
	return nil
}

// RowOf returns the key of the row that an entry names, valid until the next call, and an error if
// the entry is malformed.
func (x *IndexCheck) RowOf(key, value []byte) ([]byte, error) {
	row, err := x.check.Table.RowOfEntry(x.row[:0], key, value)
	x.row = row
	return row, err
}

// BucketOfEntry reads the bucket in the key of a global entry; ok is false if the key is too short.
func BucketOfEntry(key []byte) (b shardmap.Bucket, ok bool) {
	if len(key) < generationAt {
		return 0, false
	}
	return BucketIn(key), true
}
