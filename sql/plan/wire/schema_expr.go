package wire

import (
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
)

// exprs are the kinds of expressions. 1 OID and 2 Mod are the type of the value, throughout.
var exprs = []message{
	{1, (*query.Const)(nil), "1 OID, 2 Mod, 3 Value, 4 Pos, 5 Columns"},
	{2, (*query.Param)(nil), "1 OID, 2 Mod, 3 N"},
	{3, (*query.Slot)(nil), "1 OID, 2 Mod, 3 N, 4 Name, 5 Rel, 6 Of~"},
	{4, (*query.Outer)(nil), "1 OID, 2 Mod, 3 N, 4 Name, 5 Rel, 6 Of~"},
	{5, (*query.Pick)(nil), "1 OID, 2 Mod, 3 N, 4 Of"},
	{6, (*plan.SubPlan)(nil), "1 OID, 2 Mod, 3 Kind, 4 Plan, 5 Binds, 6 Test?, 7 HashLeft, 8 Name, 9 Volatile"},
	{7, (*query.Var)(nil), "1 OID, 2 Mod, 3 Rel, 4 Col, 5 Up, 6 Name"},
	{8, (*query.Call)(nil), "1 OID, 2 Mod, 3 Proc, 4 Args, 5 Op, 6 Cast, 7 Variadic, 8 Pos, 9 Columns"},
	{9, (*query.Relabel)(nil), "1 OID, 2 Mod, 3 Arg, 4 Cast"},
	{10, (*query.CoerceIO)(nil), "1 OID, 2 Mod, 3 Arg, 4 Explicit"},
	{11, (*query.ArrayCoerce)(nil), "1 OID, 2 Mod, 3 Arg, 4 Elem"},
	{12, (*query.Element)(nil), "1 OID, 2 Mod"},
	{13, (*query.And)(nil), "3 Args"},
	{14, (*query.Or)(nil), "3 Args"},
	{15, (*query.Not)(nil), "3 Arg"},
	{16, (*query.NullTest)(nil), "1 OID, 2 Mod, 3 Arg, 4 Not, 5 Row"},
	{17, (*query.BoolTest)(nil), "1 OID, 2 Mod, 3 Arg, 4 Value, 5 Not"},
	{18, (*query.Distinct)(nil), "1 OID, 2 Mod, 3 Equal, 4 Left, 5 Right, 6 Not"},
	{19, (*query.NullIf)(nil), "1 OID, 2 Mod, 3 Equal, 4 Left, 5 Right"},
	{20, (*query.ArrayOp)(nil), "1 OID, 2 Mod, 3 Proc, 4 Op, 5 All, 6 Left, 7 Array, 8 Pos"},
	{21, (*query.Case)(nil), "1 OID, 2 Mod, 3 Arg?, 4 Whens, 5 Else?"},
	{22, (*query.Coalesce)(nil), "1 OID, 2 Mod, 3 Args"},
	{23, (*query.MinMax)(nil), "1 OID, 2 Mod, 3 Least, 4 Args"},
	{24, (*query.Array)(nil), "1 OID, 2 Mod, 3 Elem, 4 Elems, 5 Multi"},
	{25, (*query.Row)(nil), "1 OID, 2 Mod, 3 Fields, 4 Names"},
	{26, (*query.RowCompare)(nil), "1 OID, 2 Mod, 3 Op, 4 Lt, 5 Eq, 6 Left, 7 Right"},
	{27, (*query.Subscript)(nil), "1 OID, 2 Mod, 3 Base, 4 Upper?, 5 Lower?, 6 Slice, 7 Elem, 8 Assign?"},
	{28, (*query.Field)(nil), "1 OID, 2 Mod, 3 Arg, 4 N, 5 Name"},
	{29, (*query.SubColumn)(nil), "1 OID, 2 Mod, 3 N"},
	{
		30, (*query.Agg)(nil),
		"1 OID, 2 Mod, 3 Proc, 4 Args, 5 Star, 6 Distinct, 7 Order, 8 Direct, 9 Filter?, 10 Up, 11 Pos",
	},
	{31, (*query.WindowCall)(nil), "1 OID, 2 Mod, 3 Proc, 4 Args, 5 Star, 6 Filter?, 7 Window"},
	{32, (*query.Grouping)(nil), "1 OID, 2 Mod, 3 Args"},
	{33, (*query.SQLValue)(nil), "1 OID, 2 Mod, 3 Name"},
}
