package wire

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// field is a field as it was sent.
type field struct {
	number protowire.Number
	wire   protowire.Type
	n      uint64 // the value, if it is a number
	b      []byte // otherwise
}

// next reads the next field of a message. It returns false at its end, and after an error.
func (d *decoder) next(f *field, b *[]byte) bool {
	if len(*b) == 0 || d.err != nil {
		return false
	}
	var n int
	if f.number, f.wire, n = protowire.ConsumeTag(*b); n < 0 {
		d.damaged("a tag is malformed")
		return false
	}
	*b = (*b)[n:]
	switch f.wire {
	case protowire.VarintType:
		f.n, n = protowire.ConsumeVarint(*b)
	case protowire.BytesType:
		f.b, n = protowire.ConsumeBytes(*b)
	default:
		d.newer() // it uses other types of numbers
		return false
	}
	if n < 0 {
		d.damaged("field %d is cut off", f.number)
		return false
	}
	*b = (*b)[n:]
	return true
}

// uint returns the value of a field that is a number.
func (d *decoder) uint(f field) uint64 {
	if f.wire != protowire.VarintType {
		d.damaged("field %d has another type", f.number)
		return 0
	}
	return f.n
}

// content returns the bytes of a field that is not a number. They are those of the plan.
func (d *decoder) content(f field) []byte {
	if f.wire != protowire.BytesType {
		d.damaged("field %d has another type", f.number)
		return nil
	}
	return f.b
}

// pointer reads a message.
func pointer[T any](d *decoder, f field, get func(*decoder, *T, []byte)) *T {
	v := new(T)
	get(d, v, d.content(f))
	return v
}

// value reads a message.
func value[T any](d *decoder, f field, get func(*decoder, *T, []byte)) T { return *pointer(d, f, get) }

// fill reads a message into a struct. Of several fields of one number the last counts.
func fill[T any](d *decoder, f field, v *T, get func(*decoder, *T, []byte)) {
	*v = *new(T)
	get(d, v, d.content(f))
}

// appendList reads an element of a list.
func appendList[T any](d *decoder, f field, list []T, get func(*decoder, field) T) []T {
	if !d.count() {
		return list
	}
	return append(list, get(d, f))
}

// appendElements does the same if no element may be nil.
func appendElements[T comparable](
	d *decoder, f field, list []T, get func(*decoder, field) T, name string,
) []T {
	list = appendList(d, f, list, get)
	if zero := *new(T); len(list) > 0 && list[len(list)-1] == zero {
		d.damaged("one of %s is missing", name)
	}
	return list
}

// appendStructs reads an element of a list of structs.
func appendStructs[T any](d *decoder, f field, list []T, get func(*decoder, *T, []byte)) []T {
	if !d.count() {
		return list
	}
	list = append(list, *new(T))
	get(d, &list[len(list)-1], d.content(f))
	return list
}

// appendPointers reads an element of a list of pointers to structs.
func appendPointers[T any](d *decoder, f field, list []*T, get func(*decoder, *T, []byte)) []*T {
	if !d.count() {
		return list
	}
	return append(list, pointer(d, f, get))
}

// appendPacked reads an element of a list of numbers, or several packed ones.
func appendPacked[T any](d *decoder, f field, list []T, get func(*decoder, field) T) []T {
	if f.wire == protowire.VarintType {
		return appendList(d, f, list, get)
	}
	one := field{number: f.number, wire: protowire.VarintType}
	for b := f.b; len(b) > 0 && d.err == nil; {
		var n int
		if one.n, n = protowire.ConsumeVarint(b); n < 0 {
			d.damaged("field %d is cut off", f.number)
			break
		}
		b = b[n:]
		list = appendList(d, one, list, get)
	}
	return list
}

func decodeBool(d *decoder, f field) bool { return d.uint(f) != 0 }

func decodeSigned[T ~int | ~int32 | ~int64](d *decoder, f field) T {
	n := protowire.DecodeZigZag(d.uint(f))
	if int64(T(n)) != n {
		d.damaged("a number is too large")
	}
	return T(n)
}

func decodeUnsigned[T ~uint8 | ~uint16 | ~uint32 | ~uint64](d *decoder, f field) T {
	n := d.uint(f)
	if uint64(T(n)) != n {
		d.damaged("a number is too large")
	}
	return T(n)
}

// decodeEnum reads a value of an enumeration that this release knows up to last.
func decodeEnum[T ~uint8](d *decoder, f field, last T) T {
	n := decodeUnsigned[T](d, f)
	if n > last {
		d.newer()
	}
	return n
}

func decodeText(d *decoder, f field) string { return string(d.content(f)) }

func decodeBytes(d *decoder, f field) []byte { return append([]byte(nil), d.content(f)...) }

func decodeDatum(d *decoder, f field) types.Datum {
	v, rest, err := types.DecodeDatum(d.content(f))
	if err != nil || len(rest) != 0 {
		d.damaged("a constant is malformed")
		return types.Null
	}
	return v.Clone()
}

func decodeTableRef(d *decoder, f field) *catalog.Table {
	n := d.uint(f)
	if n == 0 || n > uint64(len(d.tables)) {
		d.damaged("table %d is not listed", n)
		return nil
	}
	return d.tables[n-1]
}

func decodeIndexRef(d *decoder, f field) *catalog.Index {
	n := d.uint(f)
	if n == 0 || n > uint64(len(d.indexes)) {
		d.damaged("index %d is not listed", n)
		return nil
	}
	return d.indexes[n-1]
}

func decodeProc(d *decoder, f field) *query.Proc {
	n := d.uint(f)
	p := pgcatalog.ProcByOID(uint32(n))
	if p == nil || n > 1<<32-1 {
		d.newer()
		return nil
	}
	return p
}
