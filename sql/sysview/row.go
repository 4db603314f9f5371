package sysview

import (
	"time"

	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// builder builds the rows of one relation by column name.
type builder struct {
	rel   *pgcatalog.Relation
	at    map[string]int
	blank Row // columns that are never null are zero here
	emit  func(Row) error
	env   *Env
}

func newBuilder(env *Env, rel *pgcatalog.Relation, emit func(Row) error) *builder {
	b := &builder{rel: rel, at: make(map[string]int, len(rel.Columns)), blank: make(Row, len(rel.Columns)), emit: emit,
		env: env}
	for i, c := range rel.Columns {
		b.at[c.Name] = i
		if c.NotNull {
			b.blank[i] = zero(c.Type)
		}
	}
	return b
}

func zero(t types.OID) types.Datum {
	switch types.KindOf(t) {
	case types.KindBool:
		return types.NewBool(false)
	case types.KindInt:
		return types.NewInt(0)
	case types.KindOid:
		return types.NewOid(0)
	case types.KindText:
		return types.NewText("")
	case types.KindFloat4:
		return types.NewFloat4(0)
	case types.KindArray:
		if t == types.Int2Vector || t == types.OidVector {
			return types.NewVector(t, nil)
		}
		return types.NewList(types.ElemOf(t), nil)
	}
	return types.Null
}

// row starts a row.
func (b *builder) row() *record {
	r := &record{b: b, values: make(Row, len(b.blank))}
	copy(r.values, b.blank)
	return r
}

// record is a row that is being built.
type record struct {
	b      *builder
	values Row
}

func (r *record) set(column string, d types.Datum) *record {
	i, ok := r.b.at[column]
	if !ok {
		panic("sysview: " + r.b.rel.Name + " has no column " + column) // a mistake in this package
	}
	r.values[i] = d
	return r
}

func (r *record) text(column, s string) *record          { return r.set(column, types.NewText(s)) }
func (r *record) oid(column string, o uint32) *record    { return r.set(column, types.NewOid(o)) }
func (r *record) int(column string, n int64) *record     { return r.set(column, types.NewInt(n)) }
func (r *record) bool(column string, v bool) *record     { return r.set(column, types.NewBool(v)) }
func (r *record) float(column string, v float64) *record { return r.set(column, types.NewFloat8(v)) }
func (r *record) char(column string, c byte) *record     { return r.set(column, types.NewInt(int64(c))) }

// optional sets a text column; "" is null.
func (r *record) optional(column, s string) *record {
	if s == "" {
		return r.set(column, types.Null)
	}
	return r.text(column, s)
}

// texts sets an array of text or name.
func (r *record) texts(column string, list []string) *record {
	elem := types.ElemOf(r.b.rel.Columns[r.b.at[column]].Type)
	data := make([]types.Datum, len(list))
	for i, s := range list {
		data[i] = types.NewText(s)
	}
	return r.set(column, types.NewList(elem, data))
}

// numbers sets an array or vector of int2.
func (r *record) numbers(column string, list []int16) *record {
	data := make([]types.Datum, len(list))
	for i, n := range list {
		data[i] = types.NewInt(int64(n))
	}
	return r.list(column, data)
}

// oids sets an array or vector of oid.
func (r *record) oids(column string, list []uint32) *record {
	data := make([]types.Datum, len(list))
	for i, n := range list {
		data[i] = types.NewOid(n)
	}
	return r.list(column, data)
}

func (r *record) list(column string, data []types.Datum) *record {
	switch t := r.b.rel.Columns[r.b.at[column]].Type; t {
	case types.Int2Vector, types.OidVector:
		return r.set(column, types.NewVector(t, data))
	default:
		return r.set(column, types.NewList(types.ElemOf(t), data))
	}
}

// time sets a timestamp, null for the zero time.
func (r *record) time(column string, t time.Time) *record {
	if t.IsZero() {
		return r.set(column, types.Null)
	}
	return r.set(column, types.NewTimestamp(types.TimestampOf(t)))
}

// send emits the row.
func (r *record) send() error { return r.b.emit(r.values) }

// charArray returns a "char"[] of bytes.
func charArray(s string) types.Datum {
	data := make([]types.Datum, len(s))
	for i := range len(s) {
		data[i] = types.NewInt(int64(s[i]))
	}
	return types.NewList(types.CharInternal, data)
}

// oids reads an array or vector of oid; null is empty.
func oids(d types.Datum) []uint32 {
	if d.IsNull() {
		return nil
	}
	a, err := types.ArrayOf(d)
	if err != nil {
		return nil
	}
	out := make([]uint32, a.Len())
	for i := range out {
		out[i] = a.At(i).Oid()
	}
	return out
}

// int2s reads an array or vector of int2; null is empty.
func int2s(d types.Datum) []int16 {
	if d.IsNull() {
		return nil
	}
	a, err := types.ArrayOf(d)
	if err != nil {
		return nil
	}
	out := make([]int16, a.Len())
	for i := range out {
		out[i] = int16(a.At(i).N)
	}
	return out
}
