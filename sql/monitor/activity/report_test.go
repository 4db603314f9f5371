package activity

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/txn"
)

// filled gives v with something in every field, so that one that is not sent shows.
func filled(v reflect.Value, n int64) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.UnixMicro(1_000_000 + n)))
			return
		}
		for i := range v.NumField() {
			filled(v.Field(i), n+int64(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			filled(v.Index(i), n+int64(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(i + 1))
		}
	case reflect.String:
		v.SetString(strings.Repeat("x", int(n%7)+1))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(n + 1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(n) + 0.5)
	case reflect.Uint8:
		v.SetUint(uint64(n%4) + 1)
	default:
		v.SetUint(uint64(n) + 1)
	}
}

// TestReport sends a report with something in every field.
func TestReport(t *testing.T) {
	var r monitor.Report
	filled(reflect.ValueOf(&r).Elem(), 1)
	for i := range r.Locks {
		l := &r.Locks[i]
		l.Blockers, l.XID, l.Fragment = nil, 0, 0 // are found of the waits, or are not of these locks
	}
	for i := range r.Heat {
		r.Heat[i].Collection, r.Heat[i].Text, r.Heat[i].Part = 0, "", false // sessions find them
	}
	for i := range r.Waits {
		r.Waits[i].Since = time.Time{} // is of no use elsewhere
	}
	if got := fromReport(toReport(&r)); !reflect.DeepEqual(got, r) {
		t.Errorf("sent:\n%+v\ncame:\n%+v", r, got)
	}
	long := monitor.Report{Rows: []txn.RowLock{{Mode: txn.Update}}}
	long.Sessions = append(long.Sessions, r.Sessions[0])
	long.Sessions[0].Query = strings.Repeat("é", 2000)
	if got := fromReport(toReport(&long)).Sessions[0].Query; len(got) != maxText {
		t.Errorf("%d bytes of a text", len(got))
	}
}
