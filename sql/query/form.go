package query

import "github.com/sherddb/sherd/catalog"

// Holds reports what a query is and what its lists hold.
type Holds struct {
	// HasAggs is true where Targets, Having or OrderBy hold an Agg of this level.
	HasAggs   bool
	HasSRFs   bool // a set-returning function stands in Targets
	HasWindow bool
	IsCall    bool // it is CALL
	// Inlined: it is the body of a function, which runs as the role that runs the statement, also in the
	// query of a view.
	Inlined bool
}

// WrittenKind is what Written keeps.
type WrittenKind uint8

// Kinds of Written.
const (
	WrittenJoin    WrittenKind = iota // a column of a join that is no column of its sides
	WrittenSyntax                     // a call with the syntax of SQL, such as EXTRACT(year FROM x)
	WrittenRowType                    // a cast to the row type of a table
	WrittenCollate                    // a COLLATE clause
	WrittenCall                       // a call with named arguments, or without all with defaults
)

// Written keeps how a text writes an expression, if the expression itself does not show it. Only
// queries that are analyzed to be deparsed have it; they are not planned.
type Written struct {
	Arg   Expr
	Kind  WrittenKind
	Table string      // WrittenJoin: the alias of the join, "" if there is none
	Name  string      // WrittenJoin: of the column; WrittenCollate: the collation
	Row   catalog.OID // WrittenRowType: the table
	Given []Given     // WrittenCall: the arguments
	// WrittenJoin: the join, and the position in its Columns or, without a Table, in Using.
	Join   *JoinForm
	Column int
}

// Given is an argument of a call as it is written: its position in the call, and its name, "" if
// there is none.
type Given struct {
	Arg  int
	Name string
}

// Type returns the type of the expression.
func (w *Written) Type() catalog.OID { return w.Arg.Type() }

// Typmod returns the type modifier of the expression.
func (w *Written) Typmod() int32 { return w.Arg.Typmod() }

// Unwritten returns the expression that a Written stands for; others are returned as they are.
func Unwritten(e Expr) Expr {
	for {
		w, ok := e.(*Written)
		if !ok {
			return e
		}
		e = w.Arg
	}
}

// GroupingKind is the kind of an item of GROUP BY.
type GroupingKind uint8

// Kinds of items of GROUP BY.
const (
	GroupSimple GroupingKind = iota // expressions, in parentheses if there are several
	GroupEmpty
	GroupRollup
	GroupCube
	GroupSets
)

// GroupingForm is an item of GROUP BY as it is written, in queries that are analyzed to be
// deparsed.
type GroupingForm struct {
	Kind  GroupingKind
	Keys  []int // of a simple one: positions in Query.GroupBy
	Items []GroupingForm
}

// Form is how a query is written, in queries that are analyzed to be deparsed.
type Form struct {
	Grouping      []GroupingForm // if GROUP BY has grouping sets
	GroupDistinct bool
}

// JoinForm is how a join is written, in queries that are analyzed to be deparsed.
type JoinForm struct {
	Using      []string
	Sides      [][2]Expr // of each column of Using
	Merged     bool      // one of them is no column of a side
	UsingAlias string
	Alias      string
	Columns    []JoinColumn // with Alias: all its columns
	Listed     bool         // the names of Columns have to be written
}

// JoinColumn is a column of a join: its name, "" if the query cannot name it, and the column of a
// side that it is.
type JoinColumn struct {
	Name string
	Expr Expr
}

// WindowForm is how a window is written, in queries that are analyzed to be deparsed.
type WindowForm struct {
	Name   string // in WINDOW
	Ref    string // the window that it copies
	Copied bool   // its order is of that window
}

// FunctionForm is how a function in FROM is written, in queries that are analyzed to be deparsed.
type FunctionForm struct {
	Defined bool // with definitions of its columns
}
