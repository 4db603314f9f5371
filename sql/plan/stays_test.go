package plan_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
)

// TestNothingStaysBelow looks below the Gathers of every plan there is for what only the gateway
// can run.
func TestNothingStaysBelow(t *testing.T) {
	ctx := testContext(t)
	for _, text := range goldenStatements(t) {
		_, p, err := build(ctx, text)
		if err != nil {
			continue
		}
		walk(reflect.ValueOf(p.Root), false, func(x any, below bool) {
			switch n := x.(type) {
			case *plan.SubPlan:
				if below {
					t.Errorf("%s: %s runs in a fragment", text, n.Name)
				}
			case *query.Call:
				at := builtin.PlaceOf(n.Proc)
				if named, ok := n.Args, at == builtin.AnywhereNamed; ok {
					if _, constant := named[0].(*query.Const); constant {
						return
					}
				}
				if below && at != builtin.Anywhere {
					t.Errorf("%s: %s() runs in a fragment", text, n.Proc.Name)
				}
			}
		})
	}
}

// walk calls f for every pointer to a struct in v, and passes whether it lies below a Gather. It
// leaves out fields that are only for display, and routes, which the gateway evaluates.
func walk(v reflect.Value, below bool, f func(x any, below bool)) {
	switch v.Kind() {
	case reflect.Interface:
		walk(v.Elem(), below, f)
	case reflect.Pointer:
		if v.IsNil() || v.Elem().Kind() != reflect.Struct {
			return
		}
		switch v.Type().Elem().PkgPath() {
		case reflect.TypeFor[plan.Scan]().PkgPath(), reflect.TypeFor[query.Call]().PkgPath():
		default:
			return // definitions
		}
		f(v.Interface(), below)
		if g, ok := v.Interface().(*plan.Gather); ok {
			walk(reflect.ValueOf(g.Child), true, f)
			return
		}
		walk(v.Elem(), below, f)
	case reflect.Struct:
		for i := range v.NumField() {
			if f2 := v.Type().Field(i); f2.IsExported() && f2.Name != "Of" && f2.Name != "Conds" {
				walk(v.Field(i), below, f)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), below, f)
		}
	}
}

// goldenStatements are those of the golden plans and of answers.sql.
func goldenStatements(t *testing.T) []string {
	files, err := filepath.Glob("testdata/*.golden")
	must(t, err)
	out := statementsOf(t, "testdata/answers.sql")
	for _, file := range files {
		if filepath.Base(file) != "answers.golden" {
			out = append(out, goldenEntries(t, file)...)
		}
	}
	return out
}
