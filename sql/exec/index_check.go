package exec

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/query"
)

// IndexCheck says which entries the secondary indexes of a table must have of a stored row, for whoever checks a database. It serves one
// goroutine.
type IndexCheck struct {
	check *RowCheck
	rules []*indexRule
	ctx   Ctx
	buf   []byte
	row   []byte
}

// Entry is an entry of an index as it is stored; what it holds is valid until the next call.
type Entry struct {
	Index      *catalog.Index
	Bucket     shardmap.Bucket // in whose fragment it lies
	Key, Value []byte
}

// NewIndexCheck makes an IndexCheck beside a RowCheck of the same table; indexes are as plan.TableIndexes gives them.
func NewIndexCheck(check *RowCheck, indexes []query.Index) (*IndexCheck, error) {
	rules, err := (&compiler{}).indexRules(check.table, indexes)
	return &IndexCheck{check: check, rules: rules, ctx: Ctx{run: 1}}, err
}

// Entries calls f with each entry that must be there of the row that the RowCheck's Content has decoded, stored under key.
func (x *IndexCheck) Entries(key []byte, f func(Entry) error) error {
	for _, r := range x.rules {
		e, buf, err := r.entry(&x.ctx, x.check.row, key, x.buf[:0])
		x.buf = buf
		if err != nil {
			return err
		}
		if e.key == nil {
			continue
		}
		if err := f(Entry{r.def, e.bucket, e.key, e.value}); err != nil {
			return err
		}
	}
	return nil
}

// RowOf gives the key of the row that an entry names, valid until the next call; an error where the entry is malformed.
func (x *IndexCheck) RowOf(key, value []byte) ([]byte, error) {
	row, err := x.check.table.rowOfEntry(x.row[:0], key, value)
	x.row = row
	return row, err
}

// BucketOfEntry reads the bucket in the key of a global entry; ok is false where it is too short.
func BucketOfEntry(key []byte) (b shardmap.Bucket, ok bool) {
	if len(key) < arrivalAt {
		return 0, false
	}
	return bucketOfKey(key), true
}
