package wire

import (
	"math"
	"time"

	"github.com/sherddb/sherd/sql/types"
)

// AppendEnv appends the settings that text forms depend on, except the names of reg* types, which
// the node that runs the task has in its own catalog.
func AppendEnv(dst []byte, e *types.Env) []byte {
	if e == nil {
		e = &types.Env{}
	}
	zone := e.ZoneName
	if zone == "" && e.Zone != nil && e.Zone != time.UTC {
		zone = e.Zone.String()
	}
	dst = appendText(dst, zone)
	dst = append(dst, byte(e.DateFormat), byte(e.DateOrder), byte(e.IntervalFormat))
	dst = appendInt(dst, int64(e.ExtraFloatDigits))
	dst = appendBool(dst, e.LowFloatDigits)
	dst = appendBool(dst, e.ByteaEscape)
	dst = appendInt(dst, e.Now)
	if len(e.Uncommitted)+len(e.UncommittedRows) == 0 {
		return dst
	}
	dst = appendUint(dst, uint64(len(e.Uncommitted)))
	for i := range e.Uncommitted {
		x := &e.Uncommitted[i]
		dst = appendUint(appendText(appendUint(dst, uint64(x.OID)), x.Name), uint64(len(x.Values)))
		for _, v := range x.Values {
			dst = appendBool(appendText(appendText(dst, v.Rank), v.Text), v.Unsafe)
		}
	}
	if len(e.UncommittedRows) == 0 {
		return dst
	}
	dst = appendUint(dst, uint64(len(e.UncommittedRows)))
	for i := range e.UncommittedRows {
		x := &e.UncommittedRows[i]
		dst = appendUint(appendText(appendUint(dst, uint64(x.OID)), x.Name), uint64(len(x.Attributes)))
		for _, a := range x.Attributes {
			dst = appendInt(appendUint(appendText(dst, a.Name), uint64(a.Type)), int64(a.Typmod))
		}
	}
	return dst
}

// DecodeEnv decodes the output of AppendEnv. The caller has to set RegIn, RegOut and the functions of
// types of users.
func DecodeEnv(b []byte) (*types.Env, error) {
	r := newReader(b, "settings of a session")
	zone := r.text()
	e := &types.Env{
		DateFormat: types.DateFormat(r.byte()), DateOrder: types.DateOrder(r.byte()),
		IntervalFormat: types.IntervalFormat(r.byte()), ExtraFloatDigits: int(r.int()), LowFloatDigits: r.bool(),
		ByteaEscape: r.bool(), Now: r.int(),
	}
	if e.DateFormat > types.DateGerman || e.DateOrder > types.OrderYMD || e.IntervalFormat > types.IntervalISO {
		r.fail()
	}
	if r.s != "" { // since there are types of users
		e.Uncommitted = r.enums()
	}
	if r.s != "" { // since there are composite types
		e.UncommittedRows = r.composites()
	}
	if err := r.end(); err != nil || zone == "" {
		return e, err
	}
	loc, name, ok := types.LoadZone(zone)
	if !ok {
		return nil, errDamaged("time zone " + zone)
	}
	e.Zone, e.ZoneName = loc, name
	return e, nil
}

func (r *reader) enums() []types.Enum {
	var out []types.Enum
	for range r.count() {
		x := types.Enum{OID: types.OID(r.upTo(math.MaxUint32)), Name: r.text()}
		for range r.count() {
			x.Values = append(x.Values, types.EnumValue{Rank: r.text(), Text: r.text(), Unsafe: r.bool()})
		}
		out = append(out, x)
	}
	return out
}

func (r *reader) composites() []types.Composite {
	var out []types.Composite
	for range r.count() {
		x := types.Composite{OID: types.OID(r.upTo(math.MaxUint32)), Name: r.text()}
		for range r.count() {
			x.Attributes = append(x.Attributes, types.Attribute{
				Name: r.text(), Type: types.OID(r.upTo(math.MaxUint32)), Typmod: int32(r.int()),
			})
		}
		out = append(out, x)
	}
	return out
}
