package types

import (
	"encoding/binary"
	"math"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
)

// Receive parses the binary form of a value, as the type's receive function does, and applies
// typmod. The value may alias b.
func Receive(oid OID, typmod int32, b []byte, env *Env) (Datum, error) {
	oid = BaseOf(oid)
	r := binReader{b: aliasString(b), env: env}
	d, err := r.receive(oid)
	if err != nil {
		return Null, err
	}
	if r.short || len(r.b) != 0 {
		return Null, binaryError(r.short)
	}
	return ApplyTypmod(oid, typmod, d, false)
}

func binaryError(short bool) error {
	if short {
		return pgerr.New(pgerr.ProtocolViolation, "insufficient data left in message")
	}
	return pgerr.New(pgerr.InvalidBinaryRepresentation, "incorrect binary data format")
}

func badBinary(format string, args ...any) error {
	return pgerr.New(pgerr.InvalidBinaryRepresentation, format, args...)
}

// binReader reads big-endian fields. Once short is set, it stays set.
type binReader struct {
	b     string
	short bool
	env   *Env
}

func (r *binReader) take(n int) string {
	if n < 0 || n > len(r.b) {
		r.short = true
		r.b = ""
		return "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	}
	s := r.b[:n]
	r.b = r.b[n:]
	return s
}

func (r *binReader) rest() string { return r.take(len(r.b)) }

func (r *binReader) uint16() uint16 {
	s := r.take(2)
	return uint16(s[0])<<8 | uint16(s[1])
}

func (r *binReader) uint32() uint32 {
	s := r.take(4)
	return uint32(s[0])<<24 | uint32(s[1])<<16 | uint32(s[2])<<8 | uint32(s[3])
}

func (r *binReader) int32() int32 { return int32(r.uint32()) }

func (r *binReader) int64() int64 { return int64(r.uint32())<<32 | int64(r.uint32()) }

func (r *binReader) receive(oid OID) (Datum, error) {
	switch KindOf(oid) {
	case KindBool:
		return NewBool(r.take(1)[0] != 0), nil
	case KindInt:
		return r.integer(oid), nil
	case KindOid:
		return NewOid(r.uint32()), nil
	case KindFloat4:
		return NewFloat4(math.Float32frombits(r.uint32())), nil
	case KindFloat8:
		return NewFloat8(math.Float64frombits(uint64(r.int64()))), nil
	case KindNumeric:
		return r.numeric()
	case KindText:
		return r.text(oid)
	case KindBytes:
		return NewBytes(r.rest()), nil
	case KindUUID:
		return Datum{K: KindUUID, S: r.take(16)[:16]}, nil
	case KindJSONB:
		return r.jsonb()
	case KindJSONPath:
		return r.jsonPath()
	case KindArray:
		return r.array(oid)
	case KindBit:
		return r.bits()
	case KindTid:
		block := int64(r.uint32())
		return Datum{K: KindTid, N: block<<16 | int64(r.uint16())}, nil
	case KindVoid:
		return Datum{K: KindVoid}, nil
	case KindRecord:
		return r.record(oid)
	case KindEnum:
		s := r.rest()
		if err := ValidateText(s); err != nil {
			return Null, err
		}
		return parseEnum(oid, s, r.env.orDefault())
	}
	return r.temporal(oid)
}

func (r *binReader) integer(oid OID) Datum {
	switch oid {
	case Int2:
		return NewInt(int64(int16(r.uint16())))
	case Int4:
		return NewInt(int64(r.int32()))
	case CharInternal:
		return NewInt(int64(r.take(1)[0]))
	}
	return NewInt(r.int64())
}

func (r *binReader) text(oid OID) (Datum, error) {
	s := r.rest()
	if err := ValidateText(s); err != nil {
		return Null, err
	}
	switch oid {
	case Name:
		if len(s) > NameLen {
			return Null, pgerr.New(pgerr.NameTooLong, "identifier too long").
				WithDetail("Identifier must be less than %d characters.", NameLen+1)
		}
	case JSON:
		return parseJSON(s)
	}
	return NewText(s), nil
}

func (r *binReader) jsonb() (Datum, error) {
	if v := r.take(1)[0]; v != 1 {
		return Null, pgerr.New(pgerr.InternalError, "unsupported jsonb version number %d", v)
	}
	s := r.rest()
	if err := ValidateText(s); err != nil {
		return Null, err
	}
	doc, err := jsonb.Parse(s)
	return NewJSONB(string(doc)), err
}

func (r *binReader) jsonPath() (Datum, error) {
	if v := r.take(1)[0]; v != 1 {
		return Null, pgerr.New(pgerr.InternalError, "unsupported jsonpath version number: %d", v)
	}
	return parseJSONPath(r.rest())
}

func (r *binReader) bits() (Datum, error) {
	n := r.int32()
	if n < 0 || n > maxBits {
		return Null, badBinary("invalid length in external bit string")
	}
	size := (int(n) + 7) / 8
	s := r.take(size)
	if r.short {
		return Null, nil
	}
	if n%8 != 0 && s[size-1]&(0xff>>(n%8)) != 0 {
		b := []byte(s)
		b[size-1] &= 0xff << (8 - n%8)
		s = string(b)
	}
	return NewBits(n, s), nil
}

func (r *binReader) temporal(oid OID) (Datum, error) {
	switch oid {
	case Date:
		n := int64(r.int32())
		if !validDate(n) {
			return Null, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range")
		}
		return NewDate(n), nil
	case Timestamp, TimestampTZ:
		n := r.int64()
		if !validTimestamp(n) {
			return Null, timestampRange()
		}
		return NewTimestamp(n), nil
	case Time, TimeTZ:
		n := r.int64()
		if n < 0 || n > usPerDay {
			return Null, pgerr.New(pgerr.DatetimeFieldOverflow, "time out of range")
		}
		if oid == Time {
			return NewTime(n), nil
		}
		zone := r.int32()
		if zone <= -57600 || zone >= 57600 {
			return Null, pgerr.New("22009", "time zone displacement out of range")
		}
		return NewTimeTZ(n, zone), nil
	case Interval:
		us, days := r.int64(), r.int32()
		return NewInterval(r.int32(), days, us), nil
	}
	return Null, pgerr.Unsupported("the binary format of %s is not supported", typeLabel(oid)).
		WithHint("Use the text format.")
}

// array reads dimensions, flags, element type, then bounds and elements.
func (r *binReader) array(oid OID) (Datum, error) {
	elem := ElemOf(oid)
	ndim, flags, got := r.int32(), r.int32(), r.uint32()
	if r.short {
		return Null, nil
	}
	if ndim < 0 {
		return Null, badBinary("invalid number of dimensions: %d", ndim)
	}
	if ndim > MaxDims {
		return Null, ArrayDimError(int(ndim))
	}
	if flags != 0 && flags != 1 {
		return Null, badBinary("invalid array flags")
	}
	if got != elem {
		return Null, pgerr.New(pgerr.DatatypeMismatch,
			"binary data has array element type %d (%s) instead of expected %d (%s)",
			got, typeLabel(got), elem, typeLabel(elem))
	}
	dims, lbs := make([]int32, ndim), make([]int32, ndim)
	items := int64(1)
	for i := range dims {
		dims[i], lbs[i] = r.int32(), r.int32()
		if dims[i] < 0 || items*int64(dims[i]) > maxArrayItems {
			return Null, pgerr.New(pgerr.ProgramLimitExceeded, "array size exceeds the maximum allowed (%d)",
				maxArrayItems)
		}
		items *= int64(dims[i])
	}
	if ndim == 0 {
		items = 0
	}
	if items*4 > int64(len(r.b)) {
		r.short = true
		return Null, nil
	}
	vals := make([]Datum, items)
	for i := range vals {
		var err error
		if vals[i], err = r.field(elem); err != nil {
			return Null, err
		}
	}
	return NewArray(elem, dims, lbs, vals), nil
}

// field reads a length and that many bytes; -1 is null.
func (r *binReader) field(oid OID) (Datum, error) {
	n := r.int32()
	if n == -1 {
		return Null, nil
	}
	if n < 0 || int(n) > len(r.b) {
		return Null, badBinary("insufficient data left in message")
	}
	inner := binReader{b: r.take(int(n)), env: r.env}
	d, err := inner.receive(oid)
	if err != nil {
		return Null, err
	}
	if inner.short || len(inner.b) != 0 {
		return Null, badBinary("improper binary format in array element")
	}
	return d, nil
}

// record reads the number of fields, and type and value of each.
func (r *binReader) record(oid OID) (Datum, error) {
	if oid == Record {
		return Null, pgerr.New(pgerr.FeatureNotSupported, "input of anonymous composite types is not implemented")
	}
	attributes, err := r.env.orDefault().attributes(oid)
	if err != nil {
		return Null, err
	}
	n := r.int32()
	if r.short {
		return Null, nil
	}
	if int(n) != len(attributes) {
		return Null, pgerr.New(pgerr.DatatypeMismatch, "wrong number of columns: %d, expected %d", n, len(attributes))
	}
	values := make([]Datum, n)
	for i, a := range attributes {
		got := r.uint32()
		if r.short {
			return Null, nil
		}
		if got != a.Type {
			return Null, pgerr.New(pgerr.DatatypeMismatch,
				"binary data has type %d (%s) instead of expected %d (%s) in record column %d",
				got, r.env.typeName(got), a.Type, r.env.typeName(a.Type), i+1)
		}
		if values[i], err = r.field(a.Type); err == nil {
			values[i], err = applyAttribute(a, values[i])
		}
		if err != nil {
			return Null, err
		}
	}
	return NewComposite(attributes, values), nil
}

// wireFloatNaN is C's NaN, whose payload differs from Go's.
const wireFloatNaN = 0x7ff8000000000000

// AppendSend appends the binary form of d, which must not be null.
func AppendSend(dst []byte, oid OID, d Datum, env *Env) []byte {
	oid = BaseOf(oid)
	switch d.K {
	case KindInt:
		return appendSendInt(dst, oid, d.N)
	case KindText, KindBytes, KindUUID:
		return append(dst, d.S...)
	case KindBool:
		return append(dst, byte(d.N))
	case KindOid:
		return binary.BigEndian.AppendUint32(dst, uint32(d.N))
	case KindFloat4:
		return binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(d.Float())))
	case KindFloat8:
		if f := d.Float(); f != f {
			return binary.BigEndian.AppendUint64(dst, wireFloatNaN)
		}
		return binary.BigEndian.AppendUint64(dst, uint64(d.N))
	case KindTimestamp, KindTime:
		return binary.BigEndian.AppendUint64(dst, uint64(d.N))
	case KindDate:
		return binary.BigEndian.AppendUint32(dst, uint32(d.N))
	case KindTimeTZ:
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(dst, uint64(d.N)), uint32(d.A))
	case KindInterval:
		dst = binary.BigEndian.AppendUint64(dst, uint64(d.N))
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, uint32(d.days())), uint32(d.A))
	case KindJSONB:
		return appendJSONB(append(dst, 1), d.S)
	case KindJSONPath:
		return append(append(dst, 1), d.S...)
	case KindNumeric:
		return appendSendNumeric(dst, d)
	case KindBit:
		return append(binary.BigEndian.AppendUint32(dst, uint32(d.A)), d.S...)
	case KindTid:
		dst = binary.BigEndian.AppendUint32(dst, uint32(d.N>>16))
		return binary.BigEndian.AppendUint16(dst, uint16(d.N))
	case KindArray:
		return appendSendArray(dst, d, env)
	case KindRecord:
		return appendSendRecord(dst, d, env)
	case KindEnum:
		return appendEnum(dst, oid, d, env.orDefault())
	}
	return dst
}

func appendSendInt(dst []byte, oid OID, n int64) []byte {
	switch oid {
	case Int2:
		return binary.BigEndian.AppendUint16(dst, uint16(n))
	case Int4:
		return binary.BigEndian.AppendUint32(dst, uint32(n))
	case CharInternal:
		return append(dst, byte(n))
	}
	return binary.BigEndian.AppendUint64(dst, uint64(n))
}

func appendSendArray(dst []byte, d Datum, env *Env) []byte {
	a, err := ArrayOf(d)
	if err != nil {
		a = Array{Elem: Text}
	}
	flags := uint32(boolByte(a.HasNulls()))
	dst = binary.BigEndian.AppendUint32(dst, uint32(a.NDim))
	dst = binary.BigEndian.AppendUint32(dst, flags)
	dst = binary.BigEndian.AppendUint32(dst, a.Elem)
	for i := 0; i < a.NDim; i++ {
		dst = binary.BigEndian.AppendUint32(dst, uint32(a.Dim(i)))
		dst = binary.BigEndian.AppendUint32(dst, uint32(a.Lower(i)))
	}
	for i := 0; i < a.Len(); i++ {
		dst = appendSendField(dst, a.Elem, a.At(i), env)
	}
	return dst
}

func appendSendRecord(dst []byte, d Datum, env *Env) []byte {
	rec, err := RecordOf(d)
	if err != nil {
		return binary.BigEndian.AppendUint32(dst, 0)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(rec.Len()))
	for i := 0; i < rec.Len(); i++ {
		dst = binary.BigEndian.AppendUint32(dst, rec.Type(i))
		dst = appendSendField(dst, rec.Type(i), rec.At(i), env)
	}
	return dst
}

func appendSendField(dst []byte, oid OID, d Datum, env *Env) []byte {
	if d.IsNull() {
		return binary.BigEndian.AppendUint32(dst, 0xffffffff)
	}
	at := len(dst)
	dst = AppendSend(append(dst, 0, 0, 0, 0), oid, d, env)
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}
