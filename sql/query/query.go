package query

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// Command says what a Query does.
type Command uint8

// Commands.
const (
	Select Command = iota
	Insert
	Update
	Delete
	Merge
)

// String returns the command as SQL spells it.
func (c Command) String() string {
	return [...]string{"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE"}[c]
}

// Query is one analysed SELECT, VALUES, INSERT, UPDATE, DELETE or MERGE, or a subquery.
type Query struct {
	Command Command
	CTEs    []*CTE
	Rels    []*Rel // range table; Var.Rel counts into it
	// From is the FROM list, a cross product of its items; for UPDATE and DELETE the other tables (FROM, USING),
	// for MERGE the join of its source with its target.
	From  []From
	Where Expr // bool, nil is true

	Targets []Target // SELECT list (hidden ones last), or RETURNING where Command is not Select
	Holds
	Form *Form // nil, except in queries that are analyzed to be deparsed

	GroupBy      []Expr
	GroupingSets [][]int // each a set of positions in GroupBy; nil is one set of all
	Having       Expr
	Windows      []Window
	Distinct     bool
	DistinctOn   []int // positions in Targets (DISTINCT ON), implies Distinct
	OrderBy      []SortKey
	Bounds
	Locking []RowLock

	SetOp  *SetOp   // UNION, INTERSECT, EXCEPT: From is empty, Targets name the result's columns
	Values [][]Expr // VALUES lists: Rels and From may hold LATERAL references only

	// Insert, Update, Delete, Merge.
	Result    int          // Rels index of the target table
	Assign    []Assignment // UPDATE: SET list; INSERT: expression per target column, over Source's output
	Source    *Query       // INSERT … SELECT or VALUES; nil is DEFAULT VALUES. Its columns are Rel SourceRel
	SourceRel int
	Choices
	Returning bool      // Targets is a RETURNING list
	Currents  []Current // of all that the statement writes, WITH included; at its top only

	Checks  []Check // constraints and generated columns of the target table, analysed over Rels[Result]
	Indexes []Index // secondary indexes of the target table, likewise
}

// Bounds says which rows of a query's result there are. The expressions are of type int8.
type Bounds struct {
	Limit  Expr // nil is none
	Offset Expr // nil is none
	// WithTies is the row count of FETCH FIRST … WITH TIES, in place of Limit: the rows that are equal
	// in OrderBy to the last one are there too. Offset is not nil then.
	WithTies Expr
}

// Current is WHERE CURRENT OF: the primary key of the row that a cursor is on comes in parameters
// behind those of the client, and of the Currents before.
type Current struct {
	Cursor  string
	Param   int // number of the parameter that has the cursor's name; 0: it is Cursor
	Table   *catalog.Table
	Columns int // of the key
}

// Target is one output column.
type Target struct {
	Expr   Expr
	Name   string
	Hidden bool // sort or group key that is not shown
	// Origin is the table column that it is, for RowDescription; 0 is none.
	OriginTable uint32
	OriginCol   int16
}

// RelKind says what a range table entry is.
type RelKind uint8

// Kinds of range table entries.
const (
	RelTable    RelKind = iota // Table
	RelSystem                  // a pg_catalog, information_schema or sherd view: System names it
	RelSubquery                // Subquery
	RelFunction                // Functions
	RelJoin                    // the columns of a JOIN with alias or USING; planner replaces its Vars by JoinVars
	RelCTE                     // CTE
	RelSource                  // the source rows of an INSERT
	RelExcluded                // EXCLUDED of ON CONFLICT: same columns as the target
)

// Rel is a range table entry.
type Rel struct {
	Kind       RelKind
	Alias      string // the name it goes by
	Columns    []Column
	Table      *catalog.Table
	SchemaName string // schema of Table or System, for EXPLAIN and messages
	System     string // schema.name of a system view
	Subquery   *Query
	Functions  []FuncItem // ROWS FROM: rows are zipped
	Ordinality bool       // WITH ORDINALITY: last column
	CTE        *CTE
	CTELevels  int
	Lateral    bool           // refers to earlier items of the same FROM
	Indexes    []Index        // of Table, over Vars of Rel 0
	JoinVars   []Expr         // RelJoin: what each column is
	View       *catalog.Table // the view that Subquery is the query of, nil if it is none
	Aliased    bool           // the text has an alias
	Aliases    int            // columns that the alias names
	// Through are the views through which a statement writes to Table, the one that it names first.
	Through []*catalog.Table
	// Named is what privileges are checked for, beside the expressions of the query.
	Named Named
	// Security are conditions of row security: a row of Table that does not meet all of them is not there
	// for the query. No other condition may see it before, unless it cannot reveal anything about it.
	Security []Expr
}

// Named has columns that the text of a write names.
type Named struct {
	Given []int // of the target of an INSERT, for which there are values
	// Of the target of a write to a view: the columns of the view that the text reads, and for each
	// column of the table the one of the view, -1 if there is none.
	View, Below []int
	Locked      bool // the rows of a subquery are locked
}

// OfView returns the column of the view that a statement names which is a column of the table below
// it, -1 if there is none.
func (r *Rel) OfView(column int) int {
	if column < 0 || column >= len(r.Named.Below) {
		return -1
	}
	return r.Named.Below[column]
}

// FuncItem is a function in FROM.
type FuncItem struct {
	Call    Expr // a Call with Proc.RetSet or a scalar expression (one row)
	Columns []Column
	Form    *FunctionForm
}

// Column is a column of a Rel.
type Column struct {
	Name    string
	Type    types.OID
	Typmod  int32
	Dropped bool // keeps its place, cannot be named
}

// From is an item of FROM.
type From interface{ from() }

// FromRel is a leaf: Rels[Rel].
type FromRel struct{ Rel int }

// JoinKind is the kind of a join.
type JoinKind uint8

// Kinds of joins.
const (
	Inner JoinKind = iota
	Left
	Right
	Full
	Semi // made by the planner from EXISTS and IN
	Anti
	RightSemi // the sides of a Semi changed: of hash joins only
	RightAnti
)

// FromJoin joins two items.
type FromJoin struct {
	Kind        JoinKind
	Left, Right From
	On          Expr // nil is true
	Rel         int  // Rels index of the RelJoin, -1 is none
	Form        *JoinForm
}

func (*FromRel) from()  {}
func (*FromJoin) from() {}

// CTE is a WITH query.
type CTE struct {
	Name         string
	Query        *Query
	Recursive    bool
	Materialized byte // 0 default, 'm' MATERIALIZED, 'n' NOT MATERIALIZED
	Columns      []Column
	Refs         int
	Aliases      int  // columns that the text names
	InRecursive  bool // it is in WITH RECURSIVE
}

// SortKey orders by a target.
type SortKey struct {
	Target     int // position in Targets
	Desc       bool
	NullsFirst bool
}

// Window is a window specification; Agg and WindowCall name it by position.
type Window struct {
	Partition []Expr
	Order     []WindowOrder
	Frame     Frame
	Form      *WindowForm
}

// WindowOrder is an ORDER BY item of a window.
type WindowOrder struct {
	Expr       Expr
	Desc       bool
	NullsFirst bool
}

// Frame is the frame clause: option bits as PostgreSQL's FRAMEOPTION_*, and the offsets.
type Frame struct {
	Options    int
	Start, End Expr
}

// SetOpKind is the kind of a set operation.
type SetOpKind uint8

// Set operations.
const (
	Union SetOpKind = iota
	Intersect
	Except
)

// SetOp combines two queries whose columns have been coerced to the same types.
type SetOp struct {
	Kind        SetOpKind
	All         bool
	Left, Right *Query
}

// Assignment sets a column of the target table (index into Rels[Result].Columns).
type Assignment struct {
	Col  int
	Expr Expr // type of the column; a *Default stands for DEFAULT
}

// Choices say what a write does with some rows and not with others.
type Choices struct {
	OnConflict *OnConflict
	Merge      []MergeAction // in the order of the text: the first whose condition is met decides
	Overriding byte          // 0, 'u' OVERRIDING USER VALUE, 's' SYSTEM VALUE
}

// MergeAction is a WHEN clause of MERGE.
type MergeAction struct {
	Matched bool // the row of the source has met one of the target
	Cond    Expr // nil is true
	Nothing bool // DO NOTHING
	// Command is Insert, Update or Delete, unless Nothing is set.
	Command Command
	// Assign is the SET list, or the expressions of the columns of a new row, defaults included.
	Assign []Assignment
	Given  []int // the columns of a new row for which the text has values
}

// Does reports whether q has an action of MERGE that is a command.
func (q *Query) Does(c Command) bool {
	return slices.ContainsFunc(q.Merge, func(a MergeAction) bool { return !a.Nothing && a.Command == c })
}

// DoesNothing reports whether q is a MERGE all of whose actions are DO NOTHING.
func (q *Query) DoesNothing() bool {
	return q.Command == Merge && !slices.ContainsFunc(q.Merge, func(a MergeAction) bool { return !a.Nothing })
}

// Updates returns what the actions of MERGE assign in rows that are there.
func (q *Query) Updates() (out []Assignment) {
	for _, a := range q.Merge {
		if a.Command == Update {
			out = append(out, a.Assign...)
		}
	}
	return out
}

// OnConflict is ON CONFLICT of an INSERT.
type OnConflict struct {
	Named    bool          // the text names the keys that may conflict
	Primary  bool          // a row with the same primary key is a conflict
	Indexes  []catalog.OID // so is one with the same entry in these unique indexes
	Update   bool          // DO UPDATE, else DO NOTHING
	Assign   []Assignment
	Where    Expr
	Excluded int // Rels index
}

// Check is a constraint of the target table, to be evaluated over the new row (a Var of Rel
// Result).
type Check struct {
	Name string
	Expr Expr
	// Generated is the column that Expr computes, -1 for a CHECK constraint.
	Generated int
	// View is the view whose check option it is: the row is refused unless Expr is true. For all
	// others it is "".
	View string
	// Row is set if it is a check of row security, which refuses a row unless Expr is true. Name is the
	// row policy then, "" if it stands for several.
	Row RowCheck
}

// RowCheck says which rows a check of row security is for.
type RowCheck uint8

// Checks of row security.
const (
	NoRowCheck    RowCheck = iota
	RowInserted            // rows that INSERT proposes
	RowConflicted          // existing rows that ON CONFLICT DO UPDATE would change
	RowUpdated             // rows as UPDATE or ON CONFLICT DO UPDATE makes them
)

// Proc is a function's catalog entry.
type Proc = pgcatalog.Proc
