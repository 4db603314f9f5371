package wire

import (
	"encoding/binary"

	"github.com/sherddb/sherd/sql/types"
)

// The fields of a Datum that a kind uses.
const (
	usesA     = 1 << iota // varint
	usesN                 // varint
	usesFixed             // N in 8 bytes
	usesS                 // length and bytes
)

var layouts = [types.KindEnum + 1]byte{
	types.KindBool: usesN, types.KindInt: usesN, types.KindOid: usesN, types.KindFloat4: usesFixed,
	types.KindFloat8: usesFixed, types.KindNumeric: usesA | usesN | usesS, types.KindText: usesS,
	types.KindBytes: usesS, types.KindUUID: usesS,
	types.KindDate: usesN, types.KindTime: usesN, types.KindTimeTZ: usesA | usesN, types.KindTimestamp: usesFixed,
	types.KindInterval: usesA | usesN | usesS, types.KindJSONB: usesS, types.KindJSONPath: usesS,
	types.KindArray: usesS, types.KindRecord: usesS, types.KindBit: usesA | usesS, types.KindTid: usesN,
	types.KindEnum: usesS,
}

// appendValue appends a datum without its kind; nothing for null.
func appendValue(dst []byte, d *types.Datum) []byte {
	layout := layouts[d.K]
	if layout&usesA != 0 {
		dst = appendInt(dst, int64(d.A))
	}
	switch {
	case layout&usesN != 0:
		dst = appendInt(dst, d.N)
	case layout&usesFixed != 0:
		dst = binary.LittleEndian.AppendUint64(dst, uint64(d.N))
	}
	if layout&usesS != 0 {
		dst = appendText(dst, d.S)
	}
	return dst
}

// value reads a datum of kind k.
func (r *reader) value(d *types.Datum, k types.Kind) {
	*d = types.Datum{K: k}
	layout := layouts[k]
	if layout&usesA != 0 {
		a := r.int()
		if d.A = int32(a); int64(d.A) != a {
			r.fail()
		}
	}
	switch {
	case layout&usesN != 0:
		d.N = r.int()
	case layout&usesFixed != 0:
		if len(r.s) < 8 {
			r.fail()
			return
		}
		d.N = int64(binary.LittleEndian.Uint64(aliasBytes(r.s[:8])))
		r.s = r.s[8:]
	}
	if layout&usesS != 0 {
		d.S = r.text()
	}
}

func (r *reader) kind() types.Kind {
	k := types.Kind(r.byte())
	if int(k) >= len(layouts) {
		r.fail()
		return types.KindNull
	}
	return k
}

// AppendValues appends a few values, each with its kind: parameters, outer values, keys.
func AppendValues(dst []byte, row []types.Datum) []byte {
	dst = appendUint(dst, uint64(len(row)))
	for i := range row {
		dst = appendValue(append(dst, byte(row[i].K)), &row[i])
	}
	return dst
}

// DecodeValues decodes the output of AppendValues, which must be all of b. The values alias b.
func DecodeValues(b []byte) ([]types.Datum, error) {
	r := newReader(b, "values")
	row := r.values()
	return row, r.end()
}

func (r *reader) values() []types.Datum {
	n := r.count()
	if n == 0 {
		return nil
	}
	row := make([]types.Datum, n)
	for i := range row {
		r.value(&row[i], r.kind())
	}
	return row
}
