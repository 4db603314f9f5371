package wire

import (
	"reflect"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// numbers makes a coder for a type that is sent as a number.
func numbers(put func(v reflect.Value) uint64, get func(v reflect.Value, n uint64) error) *coder {
	return &coder{
		wire: protowire.VarintType,
		put: func(e *encoder, v reflect.Value) error {
			e.varint(put(v))
			return nil
		},
		get: func(_ *decoder, v reflect.Value, r raw) error { return get(v, r.n) },
	}
}

func boolCoder() *coder {
	put := func(v reflect.Value) uint64 {
		if v.Bool() {
			return 1
		}
		return 0
	}
	return numbers(put, func(v reflect.Value, n uint64) error {
		v.SetBool(n != 0)
		return nil
	})
}

// intCoder sends signed numbers as sint64, since -1 is common.
func intCoder() *coder {
	put := func(v reflect.Value) uint64 { return protowire.EncodeZigZag(v.Int()) }
	return numbers(put, func(v reflect.Value, n uint64) error {
		i := protowire.DecodeZigZag(n)
		if v.OverflowInt(i) {
			return damaged("a number is too large")
		}
		v.SetInt(i)
		return nil
	})
}

// uintCoder sends unsigned numbers. largest is the last value of an enumeration, and 0 for other
// types.
func uintCoder(largest uint64) *coder {
	return numbers(reflect.Value.Uint, func(v reflect.Value, n uint64) error {
		switch {
		case v.OverflowUint(n):
			return damaged("a number is too large")
		case largest > 0 && n > largest:
			return ErrNewer
		}
		v.SetUint(n)
		return nil
	})
}

func stringCoder() *coder {
	return &coder{
		wire: protowire.BytesType,
		put: func(e *encoder, v reflect.Value) error {
			s := v.String()
			e.raw(unsafe.Slice(unsafe.StringData(s), len(s)))
			return nil
		},
		get: func(_ *decoder, v reflect.Value, r raw) error {
			v.SetString(string(r.b))
			return nil
		},
	}
}

func bytesCoder() *coder {
	return &coder{
		wire: protowire.BytesType,
		put: func(e *encoder, v reflect.Value) error {
			e.raw(v.Bytes())
			return nil
		},
		get: func(_ *decoder, v reflect.Value, r raw) error {
			v.SetBytes(append([]byte(nil), r.b...))
			return nil
		},
	}
}

// datumCoder sends a value with its kind.
func datumCoder() *coder {
	return &coder{
		wire: protowire.BytesType,
		put: func(e *encoder, v reflect.Value) error {
			e.raw(types.AppendDatum(nil, v.Interface().(types.Datum)))
			return nil
		},
		get: func(_ *decoder, v reflect.Value, r raw) error {
			d, rest, err := types.DecodeDatum(r.b)
			if err != nil || len(rest) != 0 {
				return damaged("a constant is malformed")
			}
			v.Set(reflect.ValueOf(d.Clone()))
			return nil
		},
	}
}

// tableCoder sends a table as its position in the plan's list, from 1.
func tableCoder() *coder {
	return &coder{
		wire: protowire.VarintType,
		put: func(e *encoder, v reflect.Value) error {
			e.varint(e.table(v.Interface().(*catalog.Table)))
			return nil
		},
		get: func(d *decoder, v reflect.Value, r raw) error {
			if r.n == 0 || r.n > uint64(len(d.tables)) {
				return damaged("table %d is not listed", r.n)
			}
			v.Set(reflect.ValueOf(d.tables[r.n-1]))
			return nil
		},
	}
}

// indexCoder does the same for an index.
func indexCoder() *coder {
	return &coder{
		wire: protowire.VarintType,
		put: func(e *encoder, v reflect.Value) error {
			e.varint(e.index(v.Interface().(*catalog.Index)))
			return nil
		},
		get: func(d *decoder, v reflect.Value, r raw) error {
			if r.n == 0 || r.n > uint64(len(d.indexes)) {
				return damaged("index %d is not listed", r.n)
			}
			v.Set(reflect.ValueOf(d.indexes[r.n-1]))
			return nil
		},
	}
}

// procCoder sends a function as its OID.
func procCoder() *coder {
	put := func(v reflect.Value) uint64 { return uint64(v.Interface().(*query.Proc).OID) }
	return numbers(put, func(v reflect.Value, n uint64) error {
		p := pgcatalog.ProcByOID(uint32(n))
		if p == nil || n > 1<<32-1 {
			return ErrNewer
		}
		v.Set(reflect.ValueOf(p))
		return nil
	})
}

func structCoder(st *structure) *coder {
	return &coder{
		wire: protowire.BytesType,
		put:  func(e *encoder, v reflect.Value) error { return e.message(st, v) },
		get:  func(d *decoder, v reflect.Value, r raw) error { return d.message(st, v, r.b) },
	}
}

func pointerCoder(st *structure) *coder {
	return &coder{
		wire: protowire.BytesType,
		put:  func(e *encoder, v reflect.Value) error { return e.message(st, v.Elem()) },
		get: func(d *decoder, v reflect.Value, r raw) error {
			v.Set(reflect.New(st.typ))
			return d.message(st, v.Elem(), r.b)
		},
	}
}

// listCoder sends a list within a list: as a message that has it as field 1.
func listCoder(elem *coder) *coder {
	f := &field{number: 1, list: true, optional: true, coder: elem}
	return &coder{
		wire: protowire.BytesType,
		put:  func(e *encoder, v reflect.Value) error { return e.list(f, v) },
		get: func(d *decoder, v reflect.Value, r raw) error {
			return d.fields(r.b, func(number protowire.Number, wire protowire.Type, r raw) error {
				if number != 1 {
					return ErrNewer
				}
				return d.element(f, v, wire, r)
			})
		},
	}
}

// coder returns the coder of an interface type: a message with one field, whose number is the kind.
func (u *union) coder() *coder {
	return &coder{
		wire: protowire.BytesType,
		put: func(e *encoder, v reflect.Value) error {
			if v.IsNil() {
				return nil
			}
			return e.kind(u, v.Elem())
		},
		get: func(d *decoder, v reflect.Value, r raw) error {
			if len(r.b) == 0 {
				return nil
			}
			return d.kind(u, v, r.b)
		},
	}
}
