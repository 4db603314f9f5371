// Package querytest builds expressions by hand for tests, as parse analysis would.
package querytest

import (
	"sync"
	"testing"

	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

var procsBySrc = sync.OnceValue(func() map[string]*pgcatalog.Proc {
	m := map[string]*pgcatalog.Proc{}
	pgcatalog.Procs(func(p *pgcatalog.Proc) {
		if old := m[p.Src]; p.Kind == 'f' && (old == nil || p.OID < old.OID) {
			m[p.Src] = p
		}
	})
	return m
})

// Call calls the function with a prosrc.
func Call(t testing.TB, src string, args ...query.Expr) *query.Call {
	t.Helper()
	p := procsBySrc()[src]
	if p == nil {
		t.Fatalf("no function %s", src)
		return nil
	}
	return &query.Call{T: query.Of(p.RetType), Proc: p, Args: args}
}

// Op applies a binary operator by the operands' types.
func Op(t testing.TB, name string, a, b query.Expr) *query.Call {
	t.Helper()
	o := pgcatalog.OperatorFor(name, a.Type(), b.Type())
	if o == nil {
		t.Fatalf("no operator %s", name)
		return nil
	}
	return &query.Call{T: query.Of(o.Result), Proc: pgcatalog.ProcByOID(o.Proc), Args: []query.Expr{a, b}, Op: name}
}

// Lit reads a literal: Lit(types.Int4, "5"); "NULL" is null.
func Lit(t testing.TB, oid types.OID, text string) *query.Const {
	t.Helper()
	if text == "NULL" {
		return &query.Const{T: query.Of(oid)}
	}
	d, err := types.Input(oid, -1, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &query.Const{T: query.Of(oid), Value: d}
}

// Slot reads slot n of the row.
func Slot(n int, oid types.OID) *query.Slot { return &query.Slot{T: query.Of(oid), N: n} }
