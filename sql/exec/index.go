package exec

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
//	table(4) · index(4) · bucket(3) · columns [· primary key]   global: in the fragment of the bucket, which the columns' values choose
//
// Columns are types.AppendKeyNulls in the index's order. If no other row may have the same columns
// (a unique index, no column null), the primary key is left out, so that the key can be locked and
// looked up. The value leads to the row (V1):
//
//	1 · bucket(3) · primary key           the key ends with its columns
//	2 · bucket(3) · length(2)             that many bytes at the end of the key are the primary key
//
// If the bucket was moved here, its generation (arrival) follows it (arrival.go).
const (
	entryWithKey    = 1
	entryWithLength = 2

	entryAt     = 8 // start of a local entry's columns, and of a global one's bucket
	maxEntryKey = 8 << 10
)

// indexRule computes the entries of a secondary index for writers.
type indexRule struct {
	table *table
	def   *catalog.Index
	late  bool // rows may share values until the commit: of a DEFERRABLE constraint
	at    int  // among the rules of the table
	keys  []expr.Eval
	types []types.OID
	names []string
	where expr.Eval
	vals  types.Row
	plain []byte // the columns in their own order, which are hashed
}

// entry is the entry of an index for a row. Without a key there is none.
type entry struct {
	index     *indexRule
	bucket    shardmap.Bucket // the entry is in its fragment
	key       []byte
	value     []byte
	exclusive bool // no other row may have this key
}

func (k *compiler) indexRules(t *table, list []query.Index) ([]*indexRule, error) {
	var out []*indexRule
	for i := range list {
		x := &list[i]
		r := k.uses(&indexRule{table: t, def: x.Def, late: isDeferrable(t.def, x.Def), at: i, types: query.TypesOf(x.Keys), names: x.Names, vals: make(types.Row, len(x.Keys))})
		var err error
		if r.keys, err = k.Exprs(x.Keys); err != nil {
			return nil, err
		}
		if r.where, err = k.Optional(x.Where); err != nil {
			return nil, err
		}
		k.Own(r)
		out = append(out, r)
	}
	return out, nil
}

// isDeferrable reports whether an index belongs to a DEFERRABLE constraint.
func isDeferrable(t *catalog.Table, x *catalog.Index) bool {
	con := t.ConstraintOf(x.OID)
	return con != nil && con.Deferrable
}

// entry computes the index's entry for a row, in memory after buf. It returns buf including that
// memory.
func (x *indexRule) entry(c *Ctx, row types.Row, rowKey, buf []byte) (entry, []byte, error) {
	if ok, err := x.where.Holds(&c.Ctx, row); err != nil || !ok {
		return entry{}, buf, err
	}
	if err := expr.EvalInto(&c.Ctx, x.vals, x.keys, row); err != nil {
		return entry{}, buf, err
	}
	e := entry{index: x, bucket: bucketOfKey(rowKey), exclusive: x.exclusive(x.vals)}
	at := len(buf)
	buf = x.appendPrefix(buf)
	if x.def.Global {
		e.bucket = x.valueBucket(x.vals, rowKey[keyAt:], e.exclusive)
		buf = append(buf, byte(e.bucket>>16), byte(e.bucket>>8), byte(e.bucket))
	}
	buf = x.appendColumns(buf, x.vals)
	if !e.exclusive {
		buf = append(buf, rowKey[keyAt:]...)
	}
	mid := len(buf)
	if mid-at > maxEntryKey {
		return e, buf, x.tooLong(mid - at)
	}
	buf = appendEntryValue(buf, rowKey, e.exclusive)
	e.key, e.value = buf[at:mid:mid], buf[mid:len(buf):len(buf)]
	return e, buf, nil
}

func (x *indexRule) tooLong(size int) error {
	e := pgerr.New(pgerr.ProgramLimitExceeded, `index row size %d exceeds maximum %d for index "%s"`, size, maxEntryKey, x.def.Name).
		WithHint("Consider a function index of an MD5 hash of the value.")
	e.Table, e.Constraint = x.table.def.Name, x.def.Name
	return e
}

// exclusive reports whether only one row may have these values.
func (x *indexRule) exclusive(vals types.Row) bool {
	return x.def.Unique && (x.def.NullsNotDistinct || !anyNull(vals))
}

func (x *indexRule) appendPrefix(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, x.table.def.StorageID)
	return binary.BigEndian.AppendUint32(dst, x.def.StorageID)
}

func (x *indexRule) appendColumns(dst []byte, vals types.Row) []byte {
	for i, d := range vals {
		o := x.def.OrderOf(i)
		dst = types.AppendKeyNulls(dst, x.types[i], d, o&catalog.KeyDesc != 0, o&catalog.KeyNullsFirst != 0)
	}
	return dst
}

// valueBucket returns the bucket of a global entry. Values with a null cannot be looked up by
// equality, so the primary key is part of the hash; otherwise all rows without a value would share
// one bucket.
func (x *indexRule) valueBucket(vals types.Row, primaryKey []byte, exclusive bool) shardmap.Bucket {
	x.plain = x.plain[:0]
	for i, d := range vals {
		x.plain = types.AppendKey(x.plain, x.types[i], d, false)
	}
	if !exclusive && anyNull(vals) {
		x.plain = append(x.plain, primaryKey...)
	}
	return shardmap.ValueBucket(x.plain)
}

func appendEntryValue(dst, rowKey []byte, exclusive bool) []byte {
	if exclusive {
		dst = append(dst, entryWithKey)
		dst = append(dst, rowKey[bucketAt:arrivalAt]...)
		return append(dst, rowKey[keyAt:]...)
	}
	dst = append(dst, entryWithLength)
	dst = append(dst, rowKey[bucketAt:arrivalAt]...)
	return binary.BigEndian.AppendUint16(dst, uint16(len(rowKey)-keyAt))
}

// rowOfEntry appends the key of the row that an entry leads to.
func (t *table) rowOfEntry(dst, key, value []byte) ([]byte, error) {
	p, ok := placeOfEntry(value)
	if !ok {
		return dst, t.damagedEntry(key)
	}
	primaryKey, ok := primaryKeyOfEntry(key, value)
	if !ok {
		return dst, t.damagedEntry(key)
	}
	p = p.by(t, primaryKey)
	return append(t.appendRowPrefix(dst, p.bucket), primaryKey...), nil
}

func (t *table) damagedEntry(key []byte) error {
	return pgerr.New(pgerr.DataCorrupted, "index entry of table %q is damaged: %x", t.def.Name, key)
}

// change computes the entries to remove and to put when old becomes next; nil means no row. An
// entry without a key means that there is nothing to do.
func (x *indexRule) change(c *Ctx, old types.Row, oldKey []byte, next types.Row, nextKey, buf []byte) (remove, put entry, rest []byte, err error) {
	if old != nil {
		if remove, buf, err = x.entry(c, old, oldKey, buf); err != nil {
			return entry{}, entry{}, buf, err
		}
	}
	if next != nil {
		if put, buf, err = x.entry(c, next, nextKey, buf); err != nil {
			return entry{}, entry{}, buf, err
		}
	}
	if remove.key != nil && bytes.Equal(remove.key, put.key) && bytes.Equal(remove.value, put.value) {
		return entry{}, entry{}, buf, nil
	}
	return remove, put, buf, nil
}

// duplicate returns the error for a row whose values another row has.
func (x *indexRule) duplicate(c *Ctx, schema string, row types.Row) error {
	e := pgerr.New(pgerr.UniqueViolation, `duplicate key value violates unique constraint "%s"`, x.def.Name)
	text, err := x.keyText(c, row)
	if err != nil {
		return err
	}
	e = e.WithDetail("Key %s already exists.", text)
	e.Schema, e.Table, e.Constraint = schema, x.table.def.Name, x.def.Name
	return e
}

// keyText prints the index's values of a row as messages do: (a, b)=(1, 2).
func (x *indexRule) keyText(c *Ctx, row types.Row) (string, error) {
	vals := make(types.Row, len(x.keys))
	if err := expr.EvalInto(&c.Ctx, vals, x.keys, row); err != nil {
		return "", err
	}
	texts := make([]string, len(vals))
	for i, d := range vals {
		texts[i] = "null"
		if !d.IsNull() {
			texts[i] = types.Output(x.types[i], d, c.Env)
		}
	}
	return "(" + strings.Join(x.names, ", ") + ")=(" + strings.Join(texts, ", ") + ")", nil
}

// duplicateEntry is duplicate for an encoded row. building is true if the row exists already and
// the index is new.
func (r *tableRule) duplicateEntry(c *Ctx, index int, value []byte, building bool) error {
	row := make(types.Row, len(r.table.kinds))
	var reader types.RowReader
	if err := r.table.decode(&reader, row, value); err != nil {
		return err
	}
	if building {
		return r.indexes[index].notUnique(c, r.schema, row)
	}
	return r.indexes[index].duplicate(c, r.schema, row)
}
