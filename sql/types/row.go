package types

import (
	"github.com/sherddb/sherd/internal/pgerr"
)

// Row has the values of one row in the order of its columns.
type Row = []Datum

// RowFormat is the first byte of a stored row (V2). The format is frozen by golden files:
//
//	2 · columns(2, little endian) · tuple (see tuple.go)
//
// Column i of the tuple is attnum i+1; dropped columns are written as null. A row has as many
// columns as the table had when the row was written.
const RowFormat = 2

// MaxColumns is the greatest number of columns of a table, as in PostgreSQL.
const MaxColumns = 1600

// AppendRow appends the stored form of a row. The kind of each Datum must be that of its column's
// type (KindOf) or KindNull.
func AppendRow(dst []byte, row []Datum) []byte {
	dst = append(dst, RowFormat, byte(len(row)), byte(len(row)>>8))
	return appendTuple(dst, row)
}

// RowReader reads columns of a stored row. The values alias the row's bytes and are valid only
// while these do not change; Clone values to keep them. The zero RowReader has no columns.
type RowReader struct {
	t tuple
}

// Reset makes the reader read another stored row.
func (r *RowReader) Reset(b []byte) error { return r.ResetString(aliasString(b)) }

// ResetString is Reset for bytes in a string.
func (r *RowReader) ResetString(s string) error {
	if len(s) < 4 {
		return errTuple
	}
	if s[0] != RowFormat {
		return pgerr.New(pgerr.DataCorrupted, "row format %d is not known to this version", s[0])
	}
	if !r.t.open(s, 3, int(s[1])|int(s[2])<<8) {
		r.t = tuple{}
		return errTuple
	}
	return nil
}

// Len returns the number of columns the row was written with.
func (r *RowReader) Len() int { return r.t.n }

// Column reads column i (attnum i+1) of kind k. missing is set if the column was added after the
// row was written; the caller then uses the column's missing value.
func (r *RowReader) Column(i int, k Kind) (d Datum, missing bool, err error) {
	if uint(i) >= uint(r.t.n) {
		return Null, true, nil
	}
	if r.t.isNull(i) {
		return Null, false, nil
	}
	s, ok := r.t.value(i)
	if !ok {
		return Null, false, errTuple
	}
	if k == KindJSONB || k == KindText {
		return Datum{K: k, S: s}, false, nil
	}
	d, err = decodeValue(k, s)
	return d, false, err
}

// Columns reads columns of the given kinds into dst, which must be as long as kinds. KindNull skips
// a column. A missing column gets missing[i], or null if missing is nil.
func (r *RowReader) Columns(dst []Datum, kinds []Kind, missing []Datum) error {
	for i, k := range kinds {
		if k == KindNull {
			continue
		}
		d, absent, err := r.Column(i, k)
		if err != nil {
			return err
		}
		if absent && missing != nil {
			d = missing[i]
		}
		dst[i] = d
	}
	return nil
}

// AppendDatum appends one value of a known kind in a self-delimiting form, for partial aggregates,
// parameters sent to fragments, and the catalog's missing values. Nulls are encoded too.
func AppendDatum(dst []byte, d Datum) []byte {
	one := [1]Datum{d}
	return AppendRow(append(dst, byte(d.K)), one[:])
}

// DecodeDatum decodes a value that AppendDatum wrote, and returns the rest; the value aliases b.
func DecodeDatum(b []byte) (Datum, []byte, error) {
	if len(b) < 1 || Kind(b[0]) > lastKind {
		return Null, nil, errTuple
	}
	var r RowReader
	if err := r.Reset(b[1:]); err != nil {
		return Null, nil, err
	}
	if r.Len() != 1 {
		return Null, nil, errTuple
	}
	d, _, err := r.Column(0, Kind(b[0]))
	if err != nil {
		return Null, nil, err
	}
	n := r.t.size()
	if n > len(b)-1 {
		return Null, nil, errTuple
	}
	return d, b[1+n:], nil
}
