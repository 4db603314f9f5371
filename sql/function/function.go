package function

import (
	"context"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// SQL is the language of functions whose bodies are SQL.
const SQL = "sql"

// Language is a language in which functions are written. It is safe for concurrent use.
type Language interface {
	// Check returns the error of a definition that CREATE FUNCTION refuses. Types may be
	// polymorphic.
	Check(d *Definition, a Analysis) error
	// Compile compiles a definition without polymorphic types (FN1).
	Compile(d *Definition, a Analysis) (Body, error)
}

// Body is a compiled function.
type Body interface {
	// Call runs the function. A function that returns a set emits its rows, and its result is not
	// used; so is that of a procedure without OUT arguments. A function that returns a record, or
	// a procedure with OUT arguments, returns a row of Definition.Columns.
	Call(c *Call) (types.Datum, error)
}

// Definition is a function or procedure as a language sees it.
type Definition struct {
	OID       catalog.OID // 0: an anonymous block (DO)
	Schema    string
	Name      string
	Procedure bool
	Arguments []Argument // all of them, in the order of the definition
	// Result is the type that RETURNS names, the actual one if that is polymorphic; Record for
	// several OUT arguments; types.Void for void and for procedures without OUT arguments.
	Result types.OID
	Typmod int32
	// Columns are those of the result: OUT and TABLE arguments, the columns of a table's row type
	// or those that the caller names (AS t(a int, …)). Nil: one value that is not a row.
	Columns  []query.Column
	Set      bool // RETURNS SETOF and TABLE
	Strict   bool // never called with a null: the caller of Body checks that
	ReadOnly bool // STABLE or IMMUTABLE: statements in it write nothing and see the caller's snapshot
	Source   string
}

// Argument is an argument of a function.
type Argument struct {
	Name   string // "" if it has none
	Mode   byte   // proargmodes: i(n), o(ut), b (INOUT), v(ariadic), t(able)
	Type   types.OID
	Typmod int32
}

// IsInput reports whether the argument has a value in a call.
func (a *Argument) IsInput() bool { return a.Mode == 'i' || a.Mode == 'b' || a.Mode == 'v' }

// Signature returns the function's name with the types of its input arguments, as CONTEXT lines
// have it: f(integer,text). format is Analysis.Format.
func (d *Definition) Signature(format func(types.OID, int32) string) string {
	text := d.Name + "("
	first := true
	for i := range d.Arguments {
		if a := &d.Arguments[i]; a.IsInput() {
			if !first {
				text += ","
			}
			text, first = text+format(a.Type, -1), false
		}
	}
	return text + ")"
}

// Analysis is what a language may ask while it compiles: names and types as the function's
// search_path finds them.
type Analysis interface {
	// Type finds the type of a name, such as "numeric(10,2)[]", "t.a%TYPE" or "t%ROWTYPE". columns
	// are those of a row type.
	Type(name string) (oid types.OID, typmod int32, columns []query.Column, err error)
	Format(oid types.OID, typmod int32) string
	// Prepare analyzes one statement of the text, whose names may refer to vars. It is prepared
	// again when it runs, if definitions have changed.
	Prepare(text string, vars Names) (Statement, error)
	// Assign analyzes the value of an assignment: a SELECT of one column, converted to the target's
	// type. Its value is the target's new one.
	Assign(a Assignment, vars Names) (Statement, error)
	// Conversion returns how values of a type become those of another one where a language assigns
	// them: by an assignment cast, else through text. It returns nil if values stay as they are.
	Conversion(from Typed, to Typed) (Convert, error)
}

// Typed is a type with its modifier.
type Typed struct {
	OID    types.OID
	Typmod int32
}

// Convert converts a value.
type Convert func(ctx context.Context, env *types.Env, d types.Datum) (types.Datum, error)

// Assignment is the analysis of target := value.
type Assignment struct {
	Text string // a SELECT of the value
	Name string // of the target, for errors
	Into Typed
	// Path leads into the variable Base: subscripts. The value is then that of an element or slice,
	// and the statement's value is the whole variable.
	Path []*pg_query.Node
	Base Variable
}

// Names finds the variables of a language by the names in a statement.
type Names interface {
	// Find returns the variable of a name of one to three parts, such as a, f.a or r.field. Its
	// value is parameter number n when the statement runs; ok is false if there is no such
	// variable.
	Find(parts []string) (v Variable, ok bool)
	// Numbered returns the variable of $n.
	Numbered(n int) (v Variable, ok bool)
	// Conflict says what a name means that is both a column and a variable.
	Conflict() Conflict
}

// Variable is what a name in a statement refers to.
type Variable struct {
	N       int // number of the parameter that has its value, from 1; the language chooses the numbers
	Type    types.OID
	Typmod  int32
	Columns []query.Column // of a record
}

// Conflict is plpgsql.variable_conflict.
type Conflict uint8

// Conflicts.
const (
	PreferColumn   Conflict = iota // SQL functions: the column
	PreferVariable                 // the variable
	Refuse                         // 42702
)

// Statement is a prepared statement.
type Statement interface {
	Columns() []query.Column // of its rows; nil: it returns none
	// Params are the numbers of the parameters that it reads.
	Params() []int
	// Tag is the first word or words of its command tag: SELECT, INSERT, CREATE TABLE.
	Tag() string
}

// Call is a call of a function.
type Call struct {
	Context context.Context
	Args    []types.Datum // of the input arguments; valid during the call
	Values  *types.Env
	// Statements runs statements in the transaction of the statement that calls.
	Statements Statements
	// Emit takes a row of a set: the value, or the values of Columns. The row is copied.
	Emit   func(row []types.Datum) error
	Notice func(*pgerr.Error) error
	// Setting returns a setting of the session, such as plpgsql.variable_conflict.
	Setting func(name string) (string, bool)
	// Passing reports whether an error makes the statement that calls run again. No handler in the
	// function takes such an error.
	Passing func(error) bool
	// Trigger is the event that a function which returns trigger is called for; nil: it is called for
	// none.
	Trigger *Trigger
	// Atomic reports whether the call is a part of a transaction that it may not end: a function,
	// or a procedure called in a transaction block.
	Atomic bool
}

// Trigger is the event that a trigger function is called for.
type Trigger struct {
	Name               string // of the trigger
	When, Level, Op    string // BEFORE, ROW, INSERT …
	Relation           catalog.OID
	Table, TableSchema string
	Args               []string
	Columns            []query.Column // of the table
	Old, New           []types.Datum  // rows of Columns; nil: the event has none
	Tables             []Transition   // transition tables
	Result             []types.Datum  // set by the call: the row that the function has returned, nil: null
}

// Transition is a transition table.
type Transition struct {
	Name    string
	Columns []query.Column
	Each    func(emit func(row []types.Datum) error) error // emits the rows, each valid during emit
}

// Result is the outcome of a statement.
type Result struct {
	Rows int64 // returned, or written by one without RETURNING
}

// Statements prepares and runs statements of a function.
type Statements interface {
	// What is prepared during a call is analyzed as the session sees it now.
	Analysis
	// Run runs a statement. args are the values of its parameters by number: args[n-1]. emit takes
	// its rows, which are valid during the call; it may run other statements, and ends the
	// statement early by returning Stop. emit may be nil.
	Run(ctx context.Context, st Statement, args []types.Datum, emit func(row []types.Datum) error) (Result, error)
	// RunHeld is Run that reads all rows before emit gets the first, unless the call is atomic:
	// emit may end the transaction.
	RunHeld(ctx context.Context, st Statement, args []types.Datum, emit func(row []types.Datum) error) (Result, error)
	// IsStale reports whether definitions have changed since a statement was prepared.
	IsStale(st Statement) bool
	// Value returns the only column of the only row of a SELECT, null if there is no row.
	// Expressions without tables are evaluated without a plan.
	Value(ctx context.Context, st Statement, args []types.Datum) (types.Datum, error)
	// Savepoint begins a subtransaction: a block with EXCEPTION.
	Savepoint() (Savepoint, error)
	// End commits or rolls back the transaction and begins another: COMMIT and ROLLBACK in
	// procedures. It returns 2D000 if Call.Atomic.
	End(ctx context.Context, commit, chain bool) error
	Cursors
}

// Cursors are the cursors of a session.
type Cursors interface {
	// Open opens a cursor and returns its name. It chooses one if the cursor has none.
	Open(ctx context.Context, c Cursor) (name string, err error)
	// Fetch moves a cursor and emits the rows that it passes or, with To, the row that it reaches.
	// It returns how many rows there were. emit may be nil.
	Fetch(ctx context.Context, name string, f Fetch, emit func(row []types.Datum) error) (int64, error)
	// CursorColumns returns the columns of a cursor's rows.
	CursorColumns(name string) ([]query.Column, error)
	CloseCursor(name string) error
}

// Cursor is what a cursor reads.
type Cursor struct {
	Name      string // "": one that is chosen
	Statement Statement
	Args      []types.Datum
	Options   int32 // bits of DECLARE CURSOR
}

// Fetch is the direction of FETCH and MOVE, as FetchStmt of the grammar has it.
type Fetch struct {
	Direction pg_query.FetchDirection
	Count     int64
}

// Savepoint is a subtransaction. Exactly one of its methods is called.
type Savepoint interface {
	Release()
	Rollback() // undoes what was written, locked and defined since
}

// Stop is what emit returns to end a statement early; Run returns no error then.
var Stop = pgerr.New(pgerr.SuccessfulCompletion, "no more rows are wanted")

// ErrTransaction is the error of a statement that controls transactions.
var ErrTransaction = pgerr.New(pgerr.FeatureNotSupported, "unsupported transaction command in PL/pgSQL")
