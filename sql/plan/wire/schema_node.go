package wire

import (
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
)

// message is a Go struct and the numbers of its fields. of is a value of the type as it is in an
// interface or a list: a pointer, or the struct.
//
// In fields "?" marks a field that may be missing. The receiver checks that all other pointers,
// steps and expressions are present. "~" marks a field that is only for display, and is left out if
// it cannot be sent.
type message struct {
	number int // as a kind of step or expression; 0: it is neither
	of     any
	fields string
}

// nodes are the kinds of steps.
var nodes = []message{
	{
		1, (*plan.Scan)(nil),
		"1 Cols, 2 Table, 3 Alias, 4 Schema, 5 Slots, 6 Filter?, 7 Access, 8 Keys, 9 KeyArray?, 10 Lo?, 11 Hi?, " +
			"12 LoInc, 13 HiInc, 14 Desc, 15 Index?, 16 Sums?, 17 Span?",
	},
	{2, (*plan.SystemScan)(nil), "1 Cols, 2 Name, 3 Alias, 4 Slots, 5 Filter?"},
	{3, (*plan.FunctionScan)(nil), "1 Cols, 2 Alias, 3 Functions, 4 Ordinality"},
	{4, (*plan.Values)(nil), "1 Cols, 2 Rows"},
	{5, (*plan.Source)(nil), "1 Cols"},
	{6, (*plan.Filter)(nil), "1 Cols, 2 Child, 3 Cond"},
	{7, (*plan.Project)(nil), "1 Cols, 2 Child, 3 Exprs, 4 Sets"},
	{8, (*plan.Aggregate)(nil), "1 Cols, 2 Child, 3 Keys, 4 Sets, 5 Aggs, 6 Mode"},
	{9, (*plan.Sort)(nil), "1 Cols, 2 Child, 3 Keys, 4 Limit?, 5 Offset?"},
	{10, (*plan.Limit)(nil), "1 Cols, 2 Child, 3 Count?, 4 Offset?"},
	{11, (*plan.Distinct)(nil), "1 Cols, 2 Child, 3 Keys, 4 Sorted"},
	{
		12, (*plan.HashJoin)(nil),
		"1 Cols, 2 Kind, 3 Left, 4 Right, 5 LeftKeys, 6 RightKeys, 7 KeyTypes, 8 NullsEqual, 9 On?",
	},
	{13, (*plan.NestLoop)(nil), "1 Cols, 2 Kind, 3 Left, 4 Right, 5 Binds, 6 On?"},
	{14, (*plan.SetOperation)(nil), "1 Cols, 2 Kind, 3 All, 4 Left, 5 Right"},
	{15, (*plan.Append)(nil), "1 Cols, 2 Inputs"},
	{16, (*plan.With)(nil), "1 Cols, 2 CTEs, 3 Child"},
	{17, (*plan.CTEScan)(nil), "1 Cols, 2 ID, 3 Alias, 4 Work"},
	{18, (*plan.Window)(nil), "1 Cols, 2 Child, 3 Calls, 4 Specs"},
	{19, (*plan.Gather)(nil), "1 Cols, 2 Child, 3 Route, 4 Merge"},
	{20, (*plan.LockRows)(nil), "1 Cols, 2 Child, 3 Locks, 4 Scan?, 5 Most?, 6 OneByOne, 7 Rejoin?"},
	{
		21, (*plan.Modify)(nil),
		"1 Cols, 2 Kind, 3 Table, 4 Schema, 5 Child?, 6 Assign, 7 Checks, 8 Watch, 9 Indexes, 10 Returning, " +
			"11 OnConflict?, 12 MovesKey",
	},
	{22, plan.Stage{}, "1 Modify"},
	{23, plan.Find{}, "1 Scan"},
	{24, plan.LockKeys{}, "1 Lock, 2 Scan?"},
	{25, (*plan.Fill)(nil), "1 Table, 2 Schema, 3 Index, 4 After, 5 Limit, 6 Beside"},
}

// parts are the structs that steps and expressions contain.
var parts = []message{
	{0, plan.Col{}, "1 Name, 2 Type, 3 Typmod"},
	{0, plan.Bind{}, "1 Param, 2 Expr"},
	{0, plan.SortKey{}, "1 Slot, 2 Type, 3 Desc, 4 NullsFirst"},
	{0, plan.CTEPlan{}, "1 ID, 2 Name, 3 Plan, 4 Step?, 5 Distinct"},
	{0, plan.RowLock{}, "1 Table, 2 Key, 3 Strength, 4 Wait"},
	{0, plan.Rejoin{}, "1 Tables, 2 Unmatched, 3 Cond?, 4 Same"},
	{0, plan.Reread{}, "1 Scan, 2 At"},
	{0, plan.Unmatched{}, "1 On?, 2 Slots"},
	{0, plan.KeyWatch{}, "1 Columns, 2 Old, 3 Nulls, 4 N"},
	{0, plan.OnConflict{}, "1 Primary, 2 Arbiters, 3 Update, 4 Assign, 5 Where?"},
	{
		0, plan.Route{},
		"1 Table?, 2 Keys, 3 KeyArray?, 4 Content, 5 ContentArray?, 6 Lo?, 7 Hi?, 8 Index?, 9 Never, 10 Span?, " +
			"11 Under, 12 UnderEnd, 13 UnderLike?, 14 UnderFrom?, 15 UnderTo?, 16 UnderToInc, 17 ContentRange",
	},
	{0, plan.FieldRange{}, "1 From?, 2 To?, 3 ToInc"},
	{
		0, plan.KeySpan{},
		"1 Equal, 2 Lo?, 3 Hi?, 4 LoInc, 5 HiInc, 6 Prefix?, 7 LoRow, 8 HiRow, 9 LoRowInc, 10 HiRowInc",
	},
	{
		0, plan.IndexScan{},
		"1 N, 2 Table, 3 Index, 4 Equal, 5 Arrays?, 6 Lo?, 7 Hi?, 8 LoInc, 9 HiInc, 10 Conds~, 11 Paired",
	},
	{0, query.Index{}, "1 Def, 2 Keys, 3 Names, 4 Where?"},
	{0, query.Column{}, "1 Name, 2 Type, 3 Typmod, 4 Dropped"},
	{0, query.FuncItem{}, "1 Call, 2 Columns"},
	{0, query.Assignment{}, "1 Col, 2 Expr"},
	{0, query.Check{}, "1 Name, 2 Expr, 3 Generated"},
	{0, query.When{}, "1 Cond, 2 Result"},
	{0, query.AggOrder{}, "1 Arg, 2 Desc, 3 NullsFirst"},
	{0, query.Window{}, "1 Partition, 2 Order, 3 Frame"},
	{0, query.WindowOrder{}, "1 Expr, 2 Desc, 3 NullsFirst"},
	{0, query.Frame{}, "1 Options, 2 Start?, 3 End?"},
}

// largest are the last values of the enumerations. A larger value comes from a newer release.
var largest = []any{
	plan.ScanFound, plan.AggFinal, plan.ModDelete, query.Anti, query.Except, query.SubRow,
	query.LockUpdate, query.LockError,
}
