package table

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// The entries of secondary indexes:
//
//	table(4) · index(4) · columns [· primary key]               local: in the fragment of the row
//	table(4) · index(4) · bucket(3) · columns [· primary key]   global: in the fragment of the bucket
//	table(4) · index(4) · term(8) · primary key                 GIN, local: an entry for each term
//
// The columns' values choose the bucket of a global entry.
//
// Columns are types.AppendKeyNulls in the index's order. If no other row may have the same columns
// (a unique index, no column null), the primary key is left out, so that the key can be locked and
// looked up. The value leads to the row (V1):
//
//	1 · bucket(3) · primary key           the key ends with its columns
//	2 · bucket(3) · length(2)             that many bytes at the end of the key are the primary key
//
// If the bucket was moved here, its generation follows it (generation.go).
const (
	entryWithKey    = 1
	EntryWithLength = 2

	entryAt     = 8 // start of a local entry's columns, and of a global one's bucket
	maxEntryKey = 8 << 10
)

// Index computes the entries of a secondary index for writers.
type Index struct {
	Table *Table
	Def   *catalog.Index
	Late  bool // rows may share values until the commit: of a DEFERRABLE constraint
	At    int  // among the rules of the table
	keys  []expr.Eval
	Types []types.OID
	names []string
	where expr.Eval
	vals  types.Row
	plain []byte // the columns in their own order, which are hashed
	terms *terms // of a GIN index, else nil
	// The entries of a row before and after a change.
	was, now []Entry
}

// Entry is the entry of an index for a row. Without a key there is none.
type Entry struct {
	Index     *Index
	Bucket    shardmap.Bucket // the entry is in its fragment
	Key       []byte
	Value     []byte
	Exclusive bool // no other row may have this key
}

// NewGlobalIndex returns the rule of a global index that is only read.
func NewGlobalIndex(t *Table, x query.Index) *Index {
	return &Index{Table: t, Def: x.Def, Late: isDeferrable(t.Def, x.Def), Types: query.TypesOf(x.Keys)}
}

// isDeferrable reports whether an index belongs to a DEFERRABLE constraint.
func isDeferrable(t *catalog.Table, x *catalog.Index) bool {
	con := t.ConstraintOf(x.OID)
	return con != nil && con.Deferrable
}

// Entries appends the index's entries for a row to dst, in the order of their keys. Their memory is
// behind buf, which is returned with it.
func (x *Index) Entries(c *expr.Ctx, row types.Row, rowKey []byte, dst []Entry, buf []byte) ([]Entry, []byte, error) {
	if ok, err := x.where.Holds(c, row); err != nil || !ok {
		return dst, buf, err
	}
	if err := expr.EvalInto(c, x.vals, x.keys, row); err != nil {
		return dst, buf, err
	}
	if x.terms != nil {
		return x.termEntries(rowKey, dst, buf)
	}
	e, buf, err := x.entry(rowKey, buf)
	if err == nil {
		dst = append(dst, e)
	}
	return dst, buf, err
}

// entry returns the entry of the values in vals.
func (x *Index) entry(rowKey, buf []byte) (Entry, []byte, error) {
	e := Entry{Index: x, Bucket: BucketIn(rowKey), Exclusive: x.exclusive(x.vals)}
	at := len(buf)
	buf = x.AppendPrefix(buf)
	if x.Def.Global {
		e.Bucket = x.ValueBucket(x.vals, rowKey[KeyAt:], e.Exclusive)
		buf = append(buf, byte(e.Bucket>>16), byte(e.Bucket>>8), byte(e.Bucket))
	}
	buf = x.AppendColumns(buf, x.vals)
	if !e.Exclusive {
		buf = append(buf, rowKey[KeyAt:]...)
	}
	mid := len(buf)
	if mid-at > maxEntryKey {
		return e, buf, x.tooLong(mid - at)
	}
	buf = AppendEntryValue(buf, rowKey, e.Exclusive)
	e.Key, e.Value = buf[at:mid:mid], buf[mid:len(buf):len(buf)]
	return e, buf, nil
}

func (x *Index) tooLong(size int) error {
	e := pgerr.New(pgerr.ProgramLimitExceeded,
		`index row size %d exceeds maximum %d for index "%s"`, size, maxEntryKey, x.Def.Name).
		WithHint("Consider a function index of an MD5 hash of the value.")
	e.Table, e.Constraint = x.Table.Def.Name, x.Def.Name
	return e
}

// exclusive reports whether only one row may have these values.
func (x *Index) exclusive(vals types.Row) bool {
	return x.Def.Unique && (x.Def.NullsNotDistinct || !AnyNull(vals))
}

// AppendPrefix appends the part of a key before the bucket or the columns.
func (x *Index) AppendPrefix(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, x.Table.Def.StorageID)
	return binary.BigEndian.AppendUint32(dst, x.Def.StorageID)
}

// AppendColumns appends the values of the first columns, in the order of the index.
func (x *Index) AppendColumns(dst []byte, vals types.Row) []byte {
	for i, d := range vals {
		o := x.Def.OrderOf(i)
		dst = types.AppendKeyNulls(dst, x.Types[i], d, o&catalog.KeyDesc != 0, o&catalog.KeyNullsFirst != 0)
	}
	return dst
}

// ValueBucket returns the bucket of a global entry. Values with a null cannot be looked up by
// equality, so the primary key is part of the hash; otherwise all rows without a value would share
// one bucket.
func (x *Index) ValueBucket(vals types.Row, primaryKey []byte, exclusive bool) shardmap.Bucket {
	x.plain = x.plain[:0]
	for i, d := range vals {
		x.plain = types.AppendKey(x.plain, x.Types[i], d, false)
	}
	if !exclusive && AnyNull(vals) {
		x.plain = append(x.plain, primaryKey...)
	}
	return shardmap.ValueBucket(x.plain)
}

// AppendEntryValue appends the plain form of an entry's value.
func AppendEntryValue(dst, rowKey []byte, exclusive bool) []byte {
	if exclusive {
		dst = append(dst, entryWithKey)
		dst = append(dst, rowKey[bucketAt:generationAt]...)
		return append(dst, rowKey[KeyAt:]...)
	}
	dst = append(dst, EntryWithLength)
	dst = append(dst, rowKey[bucketAt:generationAt]...)
	return binary.BigEndian.AppendUint16(dst, uint16(len(rowKey)-KeyAt))
}

// RowOfEntry appends the key of the row that an entry leads to.
func (t *Table) RowOfEntry(dst, key, value []byte) ([]byte, error) {
	p, ok := placeOfEntry(value)
	if !ok {
		return dst, t.DamagedEntry(key)
	}
	primaryKey, ok := primaryKeyOfEntry(key, value)
	if !ok {
		return dst, t.DamagedEntry(key)
	}
	p = p.By(t, primaryKey)
	return append(t.AppendRowPrefix(dst, p.Bucket), primaryKey...), nil
}

// DamagedEntry returns the error of an entry that cannot be decoded.
func (t *Table) DamagedEntry(key []byte) error {
	return pgerr.New(pgerr.DataCorrupted, "index entry of table %q is damaged: %x", t.Def.Name, key)
}

// Change computes the entries to remove and to put when old becomes next; nil means no row. They are
// valid until the next call.
func (x *Index) Change(
	c *expr.Ctx, old types.Row, oldKey []byte, next types.Row, nextKey, buf []byte,
) (remove, put []Entry, rest []byte, err error) {
	x.was, x.now = x.was[:0], x.now[:0]
	if old != nil {
		if x.was, buf, err = x.Entries(c, old, oldKey, x.was, buf); err != nil {
			return nil, nil, buf, err
		}
	}
	if next != nil {
		if x.now, buf, err = x.Entries(c, next, nextKey, x.now, buf); err != nil {
			return nil, nil, buf, err
		}
	}
	remove, put = differences(x.was, x.now)
	return remove, put, buf, nil
}

// differences returns the entries of two lists that the other list has not. Both are in the order of
// keys, and are overwritten.
func differences(was, now []Entry) (remove, put []Entry) {
	remove, put = was[:0], now[:0]
	for len(was) > 0 || len(now) > 0 {
		switch order := orderOf(was, now); {
		case order < 0:
			remove, was = append(remove, was[0]), was[1:]
		case order > 0:
			put, now = append(put, now[0]), now[1:]
		default:
			if !bytes.Equal(was[0].Value, now[0].Value) {
				remove, put = append(remove, was[0]), append(put, now[0])
			}
			was, now = was[1:], now[1:]
		}
	}
	return remove, put
}

// orderOf compares the keys of the first entries of two lists, not both empty. An entry is before none.
func orderOf(a, b []Entry) int {
	switch {
	case len(b) == 0:
		return -1
	case len(a) == 0:
		return 1
	}
	return bytes.Compare(a[0].Key, b[0].Key)
}

// duplicate returns the error for a row whose values another row has.
func (x *Index) duplicate(c *expr.Ctx, schema string, row types.Row) error {
	e := pgerr.New(pgerr.UniqueViolation, `duplicate key value violates unique constraint "%s"`, x.Def.Name)
	text, err := x.keyText(c, row)
	if err != nil {
		return err
	}
	e = e.WithDetail("Key %s already exists.", text)
	e.Schema, e.Table, e.Constraint = schema, x.Table.Def.Name, x.Def.Name
	return e
}

// keyText prints the index's values of a row as messages do: (a, b)=(1, 2).
func (x *Index) keyText(c *expr.Ctx, row types.Row) (string, error) {
	vals := make(types.Row, len(x.keys))
	if err := expr.EvalInto(c, vals, x.keys, row); err != nil {
		return "", err
	}
	texts := make([]string, len(vals))
	for i, d := range vals {
		texts[i] = "null"
		if !d.IsNull() {
			texts[i] = types.Output(x.Types[i], d, c.Env)
		}
	}
	return "(" + strings.Join(x.names, ", ") + ")=(" + strings.Join(texts, ", ") + ")", nil
}

// DuplicateEntry is duplicate for an encoded row. building is true if the row exists already and
// the index is new.
func (r *Rule) DuplicateEntry(c *expr.Ctx, index int, value []byte, building bool) error {
	row := make(types.Row, len(r.Table.Kinds))
	var reader types.RowReader
	if err := r.Table.Decode(&reader, row, value); err != nil {
		return err
	}
	if building {
		return r.Indexes[index].NotUnique(c, r.Schema, row)
	}
	return r.Indexes[index].duplicate(c, r.Schema, row)
}

// NotUnique is the error of a unique index over rows that are there already.
func (x *Index) NotUnique(c *expr.Ctx, schema string, row types.Row) error {
	text, err := x.keyText(c, row)
	if err != nil {
		return err
	}
	e := pgerr.New(pgerr.UniqueViolation, `could not create unique index "%s"`, x.Def.Name).
		WithDetail("Key %s is duplicated.", text)
	e.Schema, e.Table, e.Constraint = schema, x.Table.Def.Name, x.Def.Name
	return e
}

// NewIndexes compiles the rules of a table's secondary indexes.
func NewIndexes(k *expr.Compiler, t *Table, list []query.Index) ([]*Index, error) {
	var out []*Index
	for i := range list {
		x := &list[i]
		r := &Index{
			Table: t, Def: x.Def, Late: isDeferrable(t.Def, x.Def), At: i,
			Types: query.TypesOf(x.Keys), names: x.Names, vals: make(types.Row, len(x.Keys)),
		}
		var err error
		if r.keys, err = k.Exprs(x.Keys); err != nil {
			return nil, err
		}
		if r.where, err = k.Optional(x.Where); err != nil {
			return nil, err
		}
		if r.terms, err = newTerms(r); err != nil {
			return nil, err
		}
		k.Own(r)
		out = append(out, r)
	}
	return out, nil
}

// AppendColumn appends the value of column i.
func (x *Index) AppendColumn(dst []byte, i int, d types.Datum) []byte {
	o := x.Def.OrderOf(i)
	return types.AppendKeyNulls(dst, x.Types[i], d, o&catalog.KeyDesc != 0, o&catalog.KeyNullsFirst != 0)
}
