package table

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"unsafe"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// The keys of rows and index entries:
//
//	table(4) · 0(4)     · bucket(3) · generation(4) · primary key    rows
//	table(4) · index(4) · primary key                             the index in primary key order
//
// The value of an entry of that index is the bucket(3), see generation.go.
//
// The primary key is types.AppendKey of its columns. In a table without one it is a hidden id of 16
// bytes.
const (
	bucketAt     = 8
	generationAt = 11
	KeyAt        = 15
	rowIDSize    = 16
)

// firstGeneration is the generation of a bucket that has never moved.
const firstGeneration = 0

// Table is the part of a table's definition that exec needs, computed once per compilation.
type Table struct {
	Def     *catalog.Table
	Kinds   []types.Kind  // by column position; KindNull for dropped columns
	Missing []types.Datum // values in rows written before a column was added
	Adding  []int         // positions of columns that statements cannot name yet
	Key     []int         // positions of the primary key's columns, in key order; empty without one
	Order   uint32        // storage id of the index in primary key order, 0 if there is none
	Fields  []PolicyField // sources of the policy's values
	text    []byte        // scratch
}

// PolicyField is a column, or a path into the document.
type PolicyField struct {
	Column int
	path   []string
}

func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// New computes the Table of a definition.
func New(def *catalog.Table) (*Table, error) {
	t := &Table{Def: def, Kinds: make([]types.Kind, len(def.Columns)), Missing: make([]types.Datum, len(def.Columns))}
	document := -1
	for i := range def.Columns {
		c := &def.Columns[i]
		if int(c.AttNum) != i+1 {
			return nil, pgerr.New(pgerr.InternalError,
				"column %q of table %q has number %d at position %d", c.Name, def.Name, c.AttNum, i)
		}
		if c.AttNum == def.Document && def.Document > 0 {
			document = i
		}
		if !c.Stored() {
			continue
		}
		t.Kinds[i] = types.KindOf(c.Type)
		if c.Adding {
			t.Adding = append(t.Adding, i)
		}
		if len(c.Missing) > 0 {
			d, _, err := types.DecodeDatum(c.Missing)
			if err != nil {
				return nil, err
			}
			t.Missing[i] = d
		}
	}
	t.keyColumns()
	return t, t.policyFields(document)
}

func (t *Table) keyColumns() {
	for _, c := range t.Def.Constraints {
		if c.Kind != catalog.PrimaryKey {
			continue
		}
		for _, att := range c.Columns {
			t.Key = append(t.Key, int(att)-1)
		}
	}
	for _, ix := range t.Def.Indexes {
		if ix.Primary {
			t.Order = ix.StorageID
		}
	}
}

func (t *Table) policyFields(document int) error {
	if t.Def.Policy == nil {
		return nil
	}
	for _, f := range t.Def.Policy.Fields {
		pf := PolicyField{Column: -1, path: f.Path}
		for i := range t.Def.Columns {
			if c := &t.Def.Columns[i]; len(f.Path) == 1 && !c.Dropped && c.Name == f.Path[0] {
				pf = PolicyField{Column: i}
			}
		}
		if pf.Column < 0 && f.Func != shardmap.IDFunc {
			if document < 0 {
				return pgerr.New(pgerr.InternalError,
					"sharding field %q of table %q is no column, and the table has no document", f.String(), t.Def.Name)
			}
			pf.Column = document
		}
		t.Fields = append(t.Fields, pf)
	}
	return nil
}

// policyValues extracts the values of the policy's fields from a row.
func (t *Table) policyValues(row types.Row) []shardmap.Value {
	if t.Def.Policy == nil {
		return nil
	}
	out := make([]shardmap.Value, len(t.Fields))
	for i, f := range t.Fields {
		if f.Column >= 0 {
			out[i] = t.PolicyValue(f, row[f.Column])
		}
	}
	return out
}

// PolicyValue returns the value of a field in the datum of its column.
func (t *Table) PolicyValue(f PolicyField, d types.Datum) shardmap.Value {
	if d.IsNull() {
		return shardmap.Missing()
	}
	if d.K == types.KindJSONB {
		doc, ok := jsonb.Doc(d.S).Path(f.path...)
		if !ok {
			return shardmap.Missing()
		}
		return jsonValue(doc)
	}
	switch d.K {
	case types.KindText:
		if t.Def.Columns[f.Column].Type == types.BPChar {
			return shardmap.Text(shardmap.CharText(d.S))
		}
		return shardmap.Text(d.S)
	case types.KindInt, types.KindNumeric, types.KindFloat4, types.KindFloat8:
		return shardmap.Number(bucketText(t.Def.Columns[f.Column].Type, d))
	case types.KindArray:
		return shardmap.Array()
	case types.KindRecord:
		return shardmap.Object()
	}
	return shardmap.Text(bucketText(t.Def.Columns[f.Column].Type, d))
}

// bucketText returns the text of a policy column's value. All types of policy columns have one.
func bucketText(oid types.OID, d types.Datum) string {
	b, err := types.AppendBucketText(nil, oid, d)
	if err != nil {
		return types.Output(oid, d, nil)
	}
	return string(b)
}

// jsonValue is a field of a document as a policy sees it.
func jsonValue(v jsonb.Doc) shardmap.Value {
	switch v.Kind() {
	case jsonb.Null:
		return shardmap.Missing()
	case jsonb.Array:
		return shardmap.Array()
	case jsonb.Object:
		return shardmap.Object()
	}
	s, _ := v.AsText()
	if v.Kind() == jsonb.Number {
		return shardmap.Number(s)
	}
	return shardmap.Text(s)
}

// OwnBucket returns the bucket that the key of a relational table (no anchors) is hashed to, under
// the rules for prefixes; for a range table, the bucket of its segment.
func (t *Table) OwnBucket(keys types.Row) (shardmap.Bucket, error) {
	t.text = t.text[:0]
	if t.Ranged() {
		t.text = t.AppendKey(t.text, keys)
		return t.Def.Segments.At(t.text).Bucket, nil
	}
	for i, d := range keys {
		if i > 0 {
			t.text = append(t.text, '/')
		}
		var err error
		if t.text, err = types.AppendBucketText(t.text, t.Def.Columns[t.Key[i]].Type, d); err != nil {
			return 0, err
		}
	}
	return t.Def.Prefixes.HashBucket(string(t.text)), nil
}

// NewRowID draws the hidden id of a row without primary key.
func NewRowID() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, rowIDSize), rand.Uint64())
	return binary.BigEndian.AppendUint64(b, rand.Uint64())
}

// BucketOfRowID returns the bucket that a hidden id chooses: that of its text in hexadecimal.
func BucketOfRowID(id []byte) shardmap.Bucket {
	var text [2 * rowIDSize]byte
	hex.Encode(text[:], id)
	return shardmap.HashBucket(string(text[:]))
}

// KeyValues picks the primary key's values out of a row.
func (t *Table) KeyValues(dst, row types.Row) types.Row {
	dst = dst[:0]
	for _, i := range t.Key {
		dst = append(dst, row[i])
	}
	return dst
}

// AppendKey appends the encoded primary key.
func (t *Table) AppendKey(dst []byte, keys types.Row) []byte {
	for i, d := range keys {
		dst = types.AppendKey(dst, t.Def.Columns[t.Key[i]].Type, d, false)
	}
	return dst
}

// AppendRowPrefix appends the part of a row's key before the primary key.
func (t *Table) AppendRowPrefix(dst []byte, b shardmap.Bucket) []byte {
	dst = binary.BigEndian.AppendUint32(dst, t.Def.StorageID)
	dst = binary.BigEndian.AppendUint32(dst, 0)
	dst = append(dst, byte(b>>16), byte(b>>8), byte(b))
	return binary.BigEndian.AppendUint32(dst, firstGeneration)
}

// AppendOrderKey appends the key of the entry in the index in primary key order.
func (t *Table) AppendOrderKey(dst, primaryKey []byte) []byte {
	return append(t.OrderPrefix(dst), primaryKey...)
}

// OrderPrefix appends the prefix of all keys of the index in primary key order.
func (t *Table) OrderPrefix(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, t.Def.StorageID)
	return binary.BigEndian.AppendUint32(dst, t.Order)
}

// BucketSpan is the rows of the buckets [lo, hi).
func (t *Table) BucketSpan(v shardmap.Interval) txn.Span {
	at := func(b uint32) []byte {
		k := binary.BigEndian.AppendUint32(make([]byte, 0, generationAt), t.Def.StorageID)
		k = binary.BigEndian.AppendUint32(k, 0)
		return append(k, byte(b>>16), byte(b>>8), byte(b))
	}
	return txn.Span{Start: at(v.Lo), End: at(v.Hi)}
}

// BucketIn returns the bucket in a row's key. primaryKeyOf returns the part after the prefix.
func BucketIn[B string | []byte](key B) shardmap.Bucket {
	return shardmap.Bucket(key[bucketAt])<<16 | shardmap.Bucket(key[bucketAt+1])<<8 | shardmap.Bucket(key[bucketAt+2])
}

// SystemColumn computes a system column from the row's key.
func (t *Table) SystemColumn(col int, key []byte) types.Datum {
	switch col {
	case plan.ColKey:
		return types.NewBytes(alias(key))
	case query.ColTableOID:
		return types.NewOid(t.Def.OID)
	case query.ColCtid:
		h := uint32(2166136261)
		for _, b := range key[KeyAt:] {
			h = (h ^ uint32(b)) * 16777619
		}
		return types.Datum{K: types.KindTid, N: int64(BucketIn(key))<<16 | int64(h>>16|1)}
	}
	return types.NewOid(query.FrozenXid)
}

// CompareColumn compares column i of two rows in key order.
func (t *Table) CompareColumn(i int, a, b types.Row) int {
	oid := t.Def.Columns[i].Type
	return bytes.Compare(types.AppendKey(nil, oid, a[i], false), types.AppendKey(nil, oid, b[i], false))
}

// AnyNull reports whether a value is null.
func AnyNull(row types.Row) bool {
	return slices.ContainsFunc(row, func(d types.Datum) bool { return d.IsNull() })
}

// Ranged reports whether the buckets of the table's rows follow ranges of their keys.
func (t *Table) Ranged() bool { return len(t.Def.Segments) > 0 }

// RangedCollection reports whether it is a range table of documents. Their ids are completed as in
// other collections, but $ has no meaning in them.
func (t *Table) RangedCollection() bool {
	return t.Ranged() && t.Def.Document > 0 && len(t.Key) == 1 && t.Def.Columns[t.Key[0]].Type == types.Text
}

// Buckets returns the buckets that rows of the table can be in. A nil table stands for a hashed
// table without rules for prefixes.
func (t *Table) Buckets() shardmap.BucketSet {
	switch {
	case t == nil:
		return shardmap.AllBuckets()
	case t.Ranged():
		return t.Def.Segments.Buckets()
	}
	return t.Def.Prefixes.Buckets()
}

// EncodedKey returns the encoded primary key of a row with these values of its key columns.
func EncodedKey(def *catalog.Table, keys types.Row) ([]byte, error) {
	t, err := New(def)
	if err != nil {
		return nil, err
	}
	if len(keys) != len(t.Key) || AnyNull(keys) {
		return nil, pgerr.New(pgerr.NullValueNotAllowed, "a key of table %q must not be null", def.Name)
	}
	return t.AppendKey(nil, keys), nil
}
