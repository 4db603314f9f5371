package exec

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// The keys of rows and index entries:
//
//	table(4) · 0(4)     · bucket(3) · arrival(4) · primary key    rows
//	table(4) · index(4) · primary key                             the index in primary key order; its value is the bucket(3), see arrival.go
//
// The primary key is types.AppendKey of its columns. In a table without one it is a hidden id of 16
// bytes.
const (
	bucketAt  = 8
	arrivalAt = 11
	keyAt     = 15
	rowIDSize = 16
)

// firstArrival is the arrival number of a bucket that has never moved.
const firstArrival = 0

// table is the part of a table's definition that exec needs, computed once per compilation.
type table struct {
	def     *catalog.Table
	kinds   []types.Kind  // by column position; KindNull for dropped columns
	missing []types.Datum // values in rows written before a column was added
	adding  []int         // positions of columns that statements cannot name yet
	key     []int         // positions of the primary key's columns, in key order; empty without one
	order   uint32        // storage id of the index in primary key order, 0 if there is none
	fields  []policyField // sources of the policy's values
	text    []byte        // scratch
}

// policyField is a column, or a path into the document.
type policyField struct {
	column int
	path   []string
}

func newTable(def *catalog.Table) (*table, error) {
	t := &table{def: def, kinds: make([]types.Kind, len(def.Columns)), missing: make([]types.Datum, len(def.Columns))}
	document := -1
	for i := range def.Columns {
		c := &def.Columns[i]
		if int(c.AttNum) != i+1 {
			return nil, internal("column %q of table %q has number %d at position %d", c.Name, def.Name, c.AttNum, i)
		}
		if c.AttNum == def.Document && def.Document > 0 {
			document = i
		}
		if !c.Stored() {
			continue
		}
		t.kinds[i] = types.KindOf(c.Type)
		if c.Adding {
			t.adding = append(t.adding, i)
		}
		if len(c.Missing) > 0 {
			d, _, err := types.DecodeDatum(c.Missing)
			if err != nil {
				return nil, err
			}
			t.missing[i] = d
		}
	}
	t.keyColumns()
	return t, t.policyFields(document)
}

func (t *table) keyColumns() {
	for _, c := range t.def.Constraints {
		if c.Kind != catalog.PrimaryKey {
			continue
		}
		for _, att := range c.Columns {
			t.key = append(t.key, int(att)-1)
		}
	}
	for _, ix := range t.def.Indexes {
		if ix.Primary {
			t.order = ix.StorageID
		}
	}
}

func (t *table) policyFields(document int) error {
	if t.def.Policy == nil {
		return nil
	}
	for _, f := range t.def.Policy.Fields {
		pf := policyField{column: -1, path: f.Path}
		for i := range t.def.Columns {
			if c := &t.def.Columns[i]; len(f.Path) == 1 && !c.Dropped && c.Name == f.Path[0] {
				pf = policyField{column: i}
			}
		}
		if pf.column < 0 && f.Func != shardmap.IDFunc {
			if document < 0 {
				return internal("sharding field %q of table %q is no column, and the table has no document", f.String(), t.def.Name)
			}
			pf.column = document
		}
		t.fields = append(t.fields, pf)
	}
	return nil
}

// policyValues extracts the values of the policy's fields from a row.
func (t *table) policyValues(row types.Row) []shardmap.Value {
	if t.def.Policy == nil {
		return nil
	}
	out := make([]shardmap.Value, len(t.fields))
	for i, f := range t.fields {
		if f.column >= 0 {
			out[i] = t.policyValue(f, row[f.column])
		}
	}
	return out
}

func (t *table) policyValue(f policyField, d types.Datum) shardmap.Value {
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
		if t.def.Columns[f.column].Type == types.BPChar {
			return shardmap.Text(shardmap.CharText(d.S))
		}
		return shardmap.Text(d.S)
	case types.KindInt, types.KindNumeric, types.KindFloat4, types.KindFloat8:
		return shardmap.Number(bucketText(t.def.Columns[f.column].Type, d))
	case types.KindArray:
		return shardmap.Array()
	case types.KindRecord:
		return shardmap.Object()
	}
	return shardmap.Text(bucketText(t.def.Columns[f.column].Type, d))
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

// ownBucket returns the bucket that the key of a relational table (no anchors) is hashed to, under
// the rules for prefixes; for a range table, the bucket of its segment.
func (t *table) ownBucket(keys types.Row) (shardmap.Bucket, error) {
	t.text = t.text[:0]
	if t.ranged() {
		t.text = t.appendKey(t.text, keys)
		return t.def.Segments.At(t.text).Bucket, nil
	}
	for i, d := range keys {
		if i > 0 {
			t.text = append(t.text, '/')
		}
		var err error
		if t.text, err = types.AppendBucketText(t.text, t.def.Columns[t.key[i]].Type, d); err != nil {
			return 0, err
		}
	}
	return t.def.Prefixes.HashBucket(string(t.text)), nil
}

// newRowID draws the hidden id of a row without primary key.
func newRowID() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, rowIDSize), rand.Uint64())
	return binary.BigEndian.AppendUint64(b, rand.Uint64())
}

// bucketOfRowID returns the bucket that a hidden id chooses: that of its text in hexadecimal.
func bucketOfRowID(id []byte) shardmap.Bucket {
	var text [2 * rowIDSize]byte
	hex.Encode(text[:], id)
	return shardmap.HashBucket(string(text[:]))
}

// keyValues picks the primary key's values out of a row.
func (t *table) keyValues(dst, row types.Row) types.Row {
	dst = dst[:0]
	for _, i := range t.key {
		dst = append(dst, row[i])
	}
	return dst
}

// appendKey appends the encoded primary key.
func (t *table) appendKey(dst []byte, keys types.Row) []byte {
	for i, d := range keys {
		dst = types.AppendKey(dst, t.def.Columns[t.key[i]].Type, d, false)
	}
	return dst
}

// appendRowPrefix appends the part of a row's key before the primary key.
func (t *table) appendRowPrefix(dst []byte, b shardmap.Bucket) []byte {
	dst = binary.BigEndian.AppendUint32(dst, t.def.StorageID)
	dst = binary.BigEndian.AppendUint32(dst, 0)
	dst = append(dst, byte(b>>16), byte(b>>8), byte(b))
	return binary.BigEndian.AppendUint32(dst, firstArrival)
}

// appendOrderKey appends the key of the entry in the index in primary key order.
func (t *table) appendOrderKey(dst, primaryKey []byte) []byte {
	return append(t.orderPrefix(dst), primaryKey...)
}

func (t *table) orderPrefix(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, t.def.StorageID)
	return binary.BigEndian.AppendUint32(dst, t.order)
}

// bucketSpan is the rows of the buckets [lo, hi).
func (t *table) bucketSpan(v shardmap.Interval) txn.Span {
	at := func(b uint32) []byte {
		k := binary.BigEndian.AppendUint32(make([]byte, 0, arrivalAt), t.def.StorageID)
		k = binary.BigEndian.AppendUint32(k, 0)
		return append(k, byte(b>>16), byte(b>>8), byte(b))
	}
	return txn.Span{Start: at(v.Lo), End: at(v.Hi)}
}

// bucketOfKey returns the bucket in a row's key. primaryKeyOf returns the part after the prefix.
func bucketOfKey[B string | []byte](key B) shardmap.Bucket {
	return shardmap.Bucket(key[bucketAt])<<16 | shardmap.Bucket(key[bucketAt+1])<<8 | shardmap.Bucket(key[bucketAt+2])
}

// systemColumn computes a system column from the row's key.
func (t *table) systemColumn(col int, key []byte) types.Datum {
	switch col {
	case plan.ColKey:
		return types.NewBytes(aliasString(key))
	case query.ColTableOID:
		return types.NewOid(t.def.OID)
	case query.ColCtid:
		h := uint32(2166136261)
		for _, b := range key[keyAt:] {
			h = (h ^ uint32(b)) * 16777619
		}
		return types.Datum{K: types.KindTid, N: int64(bucketOfKey(key))<<16 | int64(h>>16|1)}
	}
	return types.NewOid(query.FrozenXid)
}
