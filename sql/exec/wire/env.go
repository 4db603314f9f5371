package wire

import (
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
	return appendInt(dst, e.Now)
}

// DecodeEnv decodes the output of AppendEnv. The caller has to set RegIn and RegOut.
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
