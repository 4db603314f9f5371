package expr_test

import (
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/query/querytest"
	"github.com/sherddb/sherd/sql/types"
)

// TestExpressions evaluates expressions; want is the text form, NULL, or an SQLSTATE with "!" before it.
func TestExpressions(t *testing.T) {
	i4 := func(s string) query.Expr { return querytest.Lit(t, types.Int4, s) }
	i8 := func(s string) query.Expr { return querytest.Lit(t, types.Int8, s) }
	tx := func(s string) query.Expr { return querytest.Lit(t, types.Text, s) }
	bo := func(s string) query.Expr { return querytest.Lit(t, types.Bool, s) }
	js := func(s string) query.Expr { return querytest.Lit(t, types.JSONB, s) }
	ints := func(s string) query.Expr { return querytest.Lit(t, types.Int4Array, s) }
	boolOf := query.Of(types.Bool)
	any := func(l query.Expr, op string, src string, arr query.Expr, all bool) query.Expr {
		return &query.ArrayOp{T: boolOf, Proc: querytest.Call(t, src).Proc, Op: op, All: all, Left: l, Array: arr}
	}
	deep := querytest.Op(t, "->>", querytest.Op(t, "->", querytest.Op(t, "->", js(`{"a":[{"b":1.50},{"b":null}]}`), tx("a")), i4("0")), tx("b"))
	cases := []struct {
		name string
		e    query.Expr
		want string
	}{
		{"int4 +", querytest.Op(t, "+", i4("2"), i4("3")), "5"},
		{"int4 overflow", querytest.Op(t, "+", i4("2147483647"), i4("1")), "!22003"},
		{"int8 * overflow", querytest.Op(t, "*", i8("-9223372036854775808"), i8("-1")), "!22003"},
		{"int8 * edge", querytest.Op(t, "*", i8("-4611686018427387904"), i8("2")), "-9223372036854775808"},
		{"int8 - overflow", querytest.Op(t, "-", i8("-9223372036854775808"), i8("1")), "!22003"},
		{"int mixed", querytest.Op(t, "-", i8("5"), i4("7")), "-2"},
		{"int / zero", querytest.Op(t, "/", i4("1"), i4("0")), "!22012"},
		{"null +", querytest.Op(t, "+", i4("NULL"), i4("3")), "NULL"},
		{"int <", querytest.Op(t, "<", i4("2"), i8("3")), "t"},
		{"text =", querytest.Op(t, "=", tx("a"), tx("a")), "t"},
		{"text <", querytest.Op(t, "<", tx("B"), tx("a")), "t"},
		{"float NaN >", querytest.Op(t, ">", querytest.Lit(t, types.Float8, "NaN"), querytest.Lit(t, types.Float8, "Infinity")), "t"},
		{"float NaN =", querytest.Op(t, "=", querytest.Lit(t, types.Float8, "NaN"), querytest.Lit(t, types.Float8, "NaN")), "t"},
		{"numeric =", querytest.Op(t, "=", querytest.Lit(t, types.Numeric, "1.0"), querytest.Lit(t, types.Numeric, "1.00")), "t"},
		{"and false null", &query.And{Args: []query.Expr{bo("NULL"), bo("f")}}, "f"},
		{"and true null", &query.And{Args: []query.Expr{bo("t"), bo("NULL")}}, "NULL"},
		{"and null true", &query.And{Args: []query.Expr{bo("NULL"), bo("t")}}, "NULL"},
		{"or null true", &query.Or{Args: []query.Expr{bo("NULL"), bo("t")}}, "t"},
		{"or null false", &query.Or{Args: []query.Expr{bo("NULL"), bo("f")}}, "NULL"},
		{"or three", &query.Or{Args: []query.Expr{bo("f"), bo("NULL"), bo("f")}}, "NULL"},
		{"and short-circuit", &query.And{Args: []query.Expr{bo("f"), querytest.Op(t, "=", querytest.Op(t, "/", i4("1"), i4("0")), i4("1"))}}, "f"},
		{"not null", &query.Not{Arg: bo("NULL")}, "NULL"},
		{"is not null", &query.NullTest{T: boolOf, Arg: i4("1"), Not: true}, "t"},
		{"is unknown", &query.BoolTest{T: boolOf, Arg: bo("NULL"), Value: 'u'}, "t"},
		{"is not true", &query.BoolTest{T: boolOf, Arg: bo("NULL"), Value: 't', Not: true}, "t"},
		{"distinct null", &query.Distinct{T: boolOf, Equal: querytest.Call(t, "int4eq").Proc, Left: i4("NULL"), Right: i4("NULL")}, "f"},
		{"not distinct", &query.Distinct{T: boolOf, Equal: querytest.Call(t, "int4eq").Proc, Left: i4("1"), Right: i4("NULL"), Not: true}, "f"},
		{"nullif", &query.NullIf{T: query.Of(types.Int4), Equal: querytest.Call(t, "int4eq").Proc, Left: i4("1"), Right: i4("1")}, "NULL"},
		{"in", any(i4("2"), "=", "int4eq", ints("{1,2,3}"), false), "t"},
		{"in null", any(i4("5"), "=", "int4eq", ints("{1,NULL}"), false), "NULL"},
		{"not in", any(i4("5"), "<>", "int4ne", ints("{1,2}"), true), "t"},
		{"not in null", any(i4("5"), "<>", "int4ne", ints("{1,NULL}"), true), "NULL"},
		{"not in found", any(i4("1"), "<>", "int4ne", ints("{1,NULL}"), true), "f"},
		{"> any", any(i4("2"), ">", "int4gt", ints("{5,1}"), false), "t"},
		{"> all", any(i4("2"), ">", "int4gt", ints("{5,1}"), true), "f"},
		{"any of empty", any(i4("2"), "=", "int4eq", ints("{}"), false), "f"},
		{"null any of empty", any(i4("NULL"), "=", "int4eq", ints("{}"), false), "f"},
		{"json chain", deep, "1.50"},
		{"json null", querytest.Op(t, "->>", js(`{"a":null}`), tx("a")), "NULL"},
		{"json missing", querytest.Op(t, "->", js(`{"a":1}`), tx("b")), "NULL"},
		{"json container", querytest.Op(t, "->>", js(`{"a":{"b":[1,2]}}`), tx("a")), `{"b": [1, 2]}`},
		{"json #>>", querytest.Op(t, "#>>", js(`{"a":[10,{"b":"x"}]}`), querytest.Lit(t, types.TextArray, "{a,1,b}")), "x"},
		{"json #> end", querytest.Op(t, "#>", js(`{"a":[10,20]}`), querytest.Lit(t, types.TextArray, "{a,-1}")), "20"},
		{"json -> on array by key", querytest.Op(t, "->", js(`[1]`), tx("0")), "NULL"},
		{"like prefix", querytest.Op(t, "~~", tx("abc"), tx("ab%")), "t"},
		{"like infix", querytest.Op(t, "~~", tx("abc"), tx("%b%")), "t"},
		{"like %", querytest.Op(t, "~~", tx(""), tx("%")), "t"},
		{"like exact", querytest.Op(t, "~~", tx("abc"), tx("abc")), "t"},
		{"like _", querytest.Op(t, "~~", tx("abc"), tx("a_c")), "t"},
		{"not like", querytest.Op(t, "!~~", tx("abc"), tx("%c")), "f"},
		{"case", &query.Case{T: query.Of(types.Text), Arg: i4("2"), Whens: []query.When{
			{Cond: querytest.Op(t, "=", &query.Element{T: query.Of(types.Int4)}, i4("1")), Result: tx("one")},
			{Cond: querytest.Op(t, "=", &query.Element{T: query.Of(types.Int4)}, i4("2")), Result: tx("two")},
		}}, "two"},
		{"case without else", &query.Case{T: query.Of(types.Text), Whens: []query.When{{Cond: bo("NULL"), Result: tx("x")}}}, "NULL"},
		{"coalesce", &query.Coalesce{T: query.Of(types.Int4), Args: []query.Expr{i4("NULL"), i4("7")}}, "7"},
		{"greatest", &query.MinMax{T: query.Of(types.Int4), Args: []query.Expr{i4("3"), i4("NULL"), i4("7")}}, "7"},
		{"least", &query.MinMax{T: query.Of(types.Int4), Least: true, Args: []query.Expr{i4("3"), i4("-1")}}, "-1"},
		{"coerce io", &query.CoerceIO{T: query.Of(types.Int4), Arg: tx(" 12 ")}, "12"},
		{"coerce io error", &query.CoerceIO{T: query.Of(types.Int4), Arg: tx("x")}, "!22P02"},
		{"coerce to text", &query.CoerceIO{T: query.Of(types.Text), Arg: i4("12")}, "12"},
		{"relabel oid", &query.Relabel{T: query.Of(types.Oid), Arg: i4("-1")}, "4294967295"},
		{"array", &query.Array{T: query.Of(types.Int4Array), Elem: types.Int4, Elems: []query.Expr{i4("1"), i4("NULL")}}, "{1,NULL}"},
		{"array multi", &query.Array{T: query.Of(types.Int4Array), Elem: types.Int4, Multi: true,
			Elems: []query.Expr{ints("{1,2}"), ints("{3,4}")}}, "{{1,2},{3,4}}"},
		{"array multi mismatch", &query.Array{T: query.Of(types.Int4Array), Elem: types.Int4, Multi: true,
			Elems: []query.Expr{ints("{1,2}"), ints("{3}")}}, "!2202E"},
		{"array coerce", &query.ArrayCoerce{T: query.Of(types.TextArray), Arg: ints("{1,NULL}"),
			Elem: &query.CoerceIO{T: query.Of(types.Text), Arg: &query.Element{T: query.Of(types.Int4)}}}, "{1,NULL}"},
		{"subscript", &query.Subscript{T: query.Of(types.Int4), Base: ints("{4,5}"), Upper: []query.Expr{i4("2")}, Elem: types.Int4}, "5"},
		{"subscript outside", &query.Subscript{T: query.Of(types.Int4), Base: ints("{4,5}"), Upper: []query.Expr{i4("3")}, Elem: types.Int4}, "NULL"},
		{"slice", &query.Subscript{T: query.Of(types.Int4Array), Base: ints("{4,5,6}"), Upper: []query.Expr{nil}, Lower: []query.Expr{i4("2")},
			Slice: true, Elem: types.Int4}, "{5,6}"},
		{"assign", &query.Subscript{T: query.Of(types.Int4Array), Base: ints("{4}"), Upper: []query.Expr{i4("3")}, Elem: types.Int4,
			Assign: i4("9")}, "{4,NULL,9}"},
		{"assign below", &query.Subscript{T: query.Of(types.Int4Array), Base: ints("{4}"), Upper: []query.Expr{i4("0")}, Elem: types.Int4,
			Assign: i4("9")}, "[0:1]={9,4}"},
		{"json subscript", &query.Subscript{T: query.Of(types.JSONB), Base: js(`{"a":[1,2]}`), Upper: []query.Expr{tx("a"), i4("-1")},
			Elem: types.JSONB}, "2"},
		{"json assign", &query.Subscript{T: query.Of(types.JSONB), Base: js(`{"a":[1]}`), Upper: []query.Expr{tx("a"), i4("2")},
			Elem: types.JSONB, Assign: js("7")}, `{"a": [1, null, 7]}`},
		{"row", &query.Row{T: query.Of(types.Record), Fields: []query.Expr{i4("1"), tx("a b")}}, `(1,"a b")`},
		{"row is null", &query.NullTest{T: boolOf, Row: true, Arg: &query.Row{T: query.Of(types.Record), Fields: []query.Expr{i4("NULL")}}}, "t"},
		{"row <", &query.RowCompare{T: boolOf, Op: "<", Lt: procs(t, "int4lt", "text_lt"), Eq: procs(t, "int4eq", "texteq"),
			Left: []query.Expr{i4("1"), tx("a")}, Right: []query.Expr{i4("1"), tx("b")}}, "t"},
		{"row <= equal", &query.RowCompare{T: boolOf, Op: "<=", Lt: procs(t, "int4lt"), Eq: procs(t, "int4eq"),
			Left: []query.Expr{i4("1")}, Right: []query.Expr{i4("1")}}, "t"},
		{"row < null", &query.RowCompare{T: boolOf, Op: "<", Lt: procs(t, "int4lt"), Eq: procs(t, "int4eq"),
			Left: []query.Expr{i4("NULL")}, Right: []query.Expr{i4("1")}}, "NULL"},
		{"field", &query.Field{T: query.Of(types.Int4), N: 0, Arg: &query.Row{T: query.Of(types.Record), Fields: []query.Expr{i4("8")}}}, "8"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d, err := expr.EvalConst(c.e)
			got := "NULL"
			switch {
			case err != nil:
				got = "!" + pgerr.Code(err)
			case !d.IsNull():
				got = types.Output(c.e.Type(), d, nil)
			}
			if got != c.want {
				t.Errorf("got %s, want %s (%v)", got, c.want, err)
			}
		})
	}
}

func procs(t *testing.T, srcs ...string) (out []*query.Proc) {
	for _, s := range srcs {
		out = append(out, querytest.Call(t, s).Proc)
	}
	return out
}

func BenchmarkExpr(b *testing.B) {
	const doc = `{"Customer":"customers/1-A","Total":12.50,"State":"NY","Lines":[{"Product":"p","Qty":3}]}`
	row := types.Row{types.NewInt(41), types.NewText("customers/1-A"), querytest.Lit(b, types.JSONB, doc).Value}
	d := querytest.Slot(2, types.JSONB)
	for _, c := range []struct {
		name string
		e    query.Expr
	}{
		{"int-compare", querytest.Op(b, ">", querytest.Slot(0, types.Int4), querytest.Lit(b, types.Int4, "40"))},
		{"int-arith", querytest.Op(b, "+", querytest.Op(b, "*", querytest.Slot(0, types.Int4), querytest.Lit(b, types.Int4, "2")), querytest.Slot(0, types.Int4))},
		{"text-equal", querytest.Op(b, "=", querytest.Slot(1, types.Text), querytest.Lit(b, types.Text, "customers/1-A"))},
		{"json-field", querytest.Op(b, "->>", d, querytest.Lit(b, types.Text, "State"))},
		{"json-path", querytest.Op(b, "->>", querytest.Op(b, "->", querytest.Op(b, "->", d, querytest.Lit(b, types.Text, "Lines")), querytest.Lit(b, types.Int4, "0")), querytest.Lit(b, types.Text, "Product"))},
		{"json-cast", &query.CoerceIO{T: query.Of(types.Numeric), Arg: querytest.Op(b, "->>", d, querytest.Lit(b, types.Text, "Total"))}},
		{"contains", querytest.Op(b, "@>", d, querytest.Lit(b, types.JSONB, `{"State":"NY"}`))},
	} {
		f, err := expr.Compile(c.e)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			ctx := &expr.Ctx{}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f(ctx, row); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
