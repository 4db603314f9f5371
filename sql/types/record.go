package types

import (
	"encoding/binary"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types/composite"
)

// The flat form of a record (V2): fields(2) · type of each(4) · tuple, little endian. The row of a
// table, subquery or function also has its column names: then the highest bit of the number of
// fields is set, and length(2) · (length(2) · name) of each precede the tuple. The names become the
// keys of to_jsonb wherever the value is used; comparison and hash ignore them. Values of composite
// types have no names, which are in the catalog: an attribute can be renamed.

const (
	namedRecord  = 1 << 15
	recordFields = namedRecord - 1
)

// RecordValue reads a KindRecord Datum without decoding the fields. Fields alias the Datum.
type RecordValue struct {
	s     string
	t     tuple
	names string // length(2) · name of each; "" without names
}

// RecordOf opens a record value.
func RecordOf(d Datum) (RecordValue, error) {
	if len(d.S) < 3 {
		return RecordValue{}, errTuple
	}
	head := int(d.S[0]) | int(d.S[1])<<8
	n := head & recordFields
	at, names := 2+4*n, ""
	if head&namedRecord != 0 {
		if len(d.S) < at+2 {
			return RecordValue{}, errTuple
		}
		end := at + 2 + (int(d.S[at]) | int(d.S[at+1])<<8)
		if len(d.S) < end {
			return RecordValue{}, errTuple
		}
		names, at = d.S[at+2:end], end
	}
	t, err := openTuple(d.S, at, n)
	if err == nil && !t.monotone() {
		err = errTuple
	}
	return RecordValue{s: d.S, t: t, names: names}, err
}

// Len returns the number of fields.
func (r *RecordValue) Len() int { return r.t.n }

// Type returns the type of field i, from 0.
func (r *RecordValue) Type(i int) OID { return le32(r.s[2+4*i:]) }

// At returns field i. A damaged field is null.
func (r *RecordValue) At(i int) Datum {
	d, err := r.t.datum(i, KindOf(r.Type(i)))
	if err != nil {
		return Null
	}
	return d
}

// Names returns the fields' names; nil if the record has none.
func (r *RecordValue) Names() []string {
	var out []string
	for s := r.names; len(s) >= 2; {
		n := int(s[0]) | int(s[1])<<8
		if len(s) < 2+n {
			return nil
		}
		out, s = append(out, s[2:2+n]), s[2+n:]
	}
	return out
}

// RecordNames encodes field names for NewNamedRecord.
func RecordNames(names []string) string {
	var b []byte
	for _, n := range names {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(n)))
		b = append(b, n...)
	}
	if len(b) > 0xffff {
		return "" // more than 1,000 columns of 63 bytes: the record has no names
	}
	return string(b)
}

// NewRecord returns a record of fields with their types.
func NewRecord(fieldTypes []OID, fields []Datum) Datum { return NewNamedRecord(fieldTypes, fields, "") }

// NewNamedRecord returns a record whose fields have the names encoded by RecordNames; "" means no
// names.
func NewNamedRecord(fieldTypes []OID, fields []Datum, names string) Datum {
	head := len(fields)
	if names != "" {
		head |= namedRecord
	}
	b := binary.LittleEndian.AppendUint16(nil, uint16(head))
	for _, t := range fieldTypes { // fields of domains are values of the base types
		b = binary.LittleEndian.AppendUint32(b, BaseOf(t))
	}
	if names != "" {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(names)))
		b = append(b, names...)
	}
	return Datum{K: KindRecord, S: aliasString(appendTuple(b, fields))}
}

// CompareRecords compares records field by field with null last, in btree order. Records of
// different shapes are an error.
func CompareRecords(a, b Datum) (int, error) {
	x, err := RecordOf(a)
	if err != nil {
		return 0, err
	}
	y, err := RecordOf(b)
	if err != nil {
		return 0, err
	}
	for i := 0; i < min(x.Len(), y.Len()); i++ {
		if x.Type(i) != y.Type(i) {
			return 0, pgerr.New(pgerr.DatatypeMismatch,
				"cannot compare dissimilar column types %s and %s at record column %d",
				typeLabel(x.Type(i)), typeLabel(y.Type(i)), i+1)
		}
		if c := CompareNulls(x.Type(i), x.At(i), y.At(i)); c != 0 {
			return c, nil
		}
	}
	if x.Len() != y.Len() {
		return 0, pgerr.New(pgerr.DatatypeMismatch, "cannot compare record types with different numbers of columns")
	}
	return 0, nil
}

// compareRecord orders records whose shapes analysis has checked; it compares the bytes of others.
func compareRecord(a, b Datum) int {
	c, err := CompareRecords(a, b)
	if err != nil {
		return compareS(a, b)
	}
	return c
}

func hashRecord(seed uint64, d *Datum) uint64 {
	r, err := RecordOf(*d)
	if err != nil {
		return seed
	}
	for i := 0; i < r.Len(); i++ {
		seed = Hash(r.Type(i), seed, r.At(i))
	}
	return seed
}

func appendRecord(dst []byte, d Datum, env *Env) []byte {
	r, err := RecordOf(d)
	if err != nil {
		return append(dst, "()"...)
	}
	dst = append(dst, '(')
	var buf []byte
	for i := 0; i < r.Len(); i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		f := r.At(i)
		if f.IsNull() {
			continue
		}
		buf = AppendOutput(buf[:0], r.Type(i), f, env)
		dst = appendRecordField(dst, buf)
	}
	return append(dst, ')')
}

// appendRecordField quotes a field if the record syntax requires it; quotes and backslashes are
// doubled.
func appendRecordField(dst, text []byte) []byte {
	quote := len(text) == 0
	for _, c := range text {
		if c == '"' || c == '\\' || c == '(' || c == ')' || c == ',' || isSpace(c) {
			quote = true
		}
	}
	if !quote {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	for _, c := range text {
		if c == '"' || c == '\\' {
			dst = append(dst, c)
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

// Attribute is an attribute of a composite type.
type Attribute struct {
	Name   string
	Type   OID
	Typmod int32
}

// Composite is the definition of a composite type.
type Composite struct {
	OID        OID
	Name       string // as messages have it
	Attributes []Attribute
}

// NewComposite returns the value of a composite type with these attributes.
func NewComposite(attributes []Attribute, values []Datum) Datum {
	of := make([]OID, len(attributes))
	for i, a := range attributes {
		of[i] = a.Type
	}
	return NewRecord(of, values)
}

func (e *Env) attributes(oid OID) ([]Attribute, error) {
	if e.Attributes == nil {
		return nil, pgerr.New(pgerr.InternalError, "values of type %d cannot be read without a catalog", oid)
	}
	return e.Attributes(oid)
}

func (e *Env) typeName(oid OID) string {
	if e != nil && e.TypeOut != nil {
		return e.TypeOut(oid)
	}
	return typeLabel(oid)
}

func malformedRecord(text, detail string) error {
	return pgerr.New(pgerr.InvalidTextRepresentation, `malformed record literal: "%s"`, text).WithDetail("%s", detail)
}

// parseComposite parses the text form of a value of a composite type.
func parseComposite(oid OID, text string, env *Env) (Datum, error) {
	attributes, err := env.attributes(oid)
	if err != nil {
		return Null, err
	}
	fields, detail := composite.Split(text, len(attributes))
	for n := len(attributes) - 1; n > 0 && env.padRows && detail == composite.TooFew; n-- {
		fields, detail = composite.Split(text, n)
	}
	if detail != "" {
		return Null, malformedRecord(text, detail)
	}
	values := make([]Datum, len(attributes))
	for i, a := range attributes {
		if i >= len(fields) || fields[i].Null {
			continue
		}
		if values[i], err = Input(a.Type, a.Typmod, fields[i].Text, env); err != nil {
			return Null, err
		}
	}
	return NewComposite(attributes, values), nil
}

// applyAttribute applies the type modifier of an attribute to its value.
func applyAttribute(a Attribute, d Datum) (Datum, error) {
	if a.Typmod < 0 || d.IsNull() {
		return d, nil
	}
	return ApplyTypmod(a.Type, a.Typmod, d, false)
}
