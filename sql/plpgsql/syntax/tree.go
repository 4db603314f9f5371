package syntax

import (
	"unicode/utf8"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// Body is a parsed routine.
type Body struct {
	Block     *Block
	Variables []*Variable // by number: parameters first
	SQL       []*SQL      // by number
	Conflict  Conflict
	// EndsTransaction is set if there is a COMMIT, a ROLLBACK or a CALL.
	EndsTransaction bool
	// PrintStrict is the option print_strict_params; nil: the setting plpgsql.print_strict_params.
	PrintStrict *bool
}

// Conflict says what a name in SQL means that is both a variable's and a column's.
type Conflict uint8

// The ways to resolve a conflict, as #variable_conflict and plpgsql.variable_conflict name them.
const (
	ConflictSetting Conflict = iota // as the setting says
	ConflictError
	UseVariable
	UseColumn
)

// Variable is a variable of a routine, a parameter, or the target of a loop.
type Variable struct {
	Number   int // in Body.Variables
	Name     string
	Line     int
	Type     Type
	Constant bool
	NotNull  bool
	Default  *SQL    // nil: NULL
	Cursor   *Cursor // of a bound cursor
	Param    int     // number of the parameter, from 1; 0: it is none
	Special  Special
	// Composite is set for records and rows: a field's name may follow.
	Composite bool
}

// Special is a variable that the language sets.
type Special uint8

// The special variables.
const (
	Ordinary Special = iota
	Found
	SQLState
	SQLErrm
	LoopInteger // of FOR i IN 1 .. 10
	CaseValue   // the tested value of a CASE
	TriggerInfo // NEW, OLD and TG_…
)

// Type is the declared type of a variable.
type Type struct {
	Text    string             // as written; "" for special variables
	Name    *pg_query.TypeName // nil: see Of and Row
	Of      []string           // name%TYPE
	Row     []string           // name%ROWTYPE
	Record  bool               // record, or the target of a loop over rows
	Collate string
	Pos     int
}

// Cursor is the query of a bound cursor.
type Cursor struct {
	Query   *SQL
	Args    []*Variable
	Options int32 // bits of DECLARE CURSOR
}

// SQL is an expression or a statement inside of a body.
type SQL struct {
	Number int // in Body.SQL
	Text   string
	Kind   SQLKind
	Names  *Names // visible at its place
	Tree   *pg_query.Node
	skip   int // bytes of Text before the expression of an assignment
}

// selectWord makes an expression a query.
const selectWord = "SELECT "

// Parsed returns the text that Tree was parsed from.
func (s *SQL) Parsed() string {
	if s.Kind == Statement {
		return s.Text
	}
	return selectWord + s.Text[s.skip:]
}

// Position returns the position in Text of a position in Parsed, in characters from 1.
func (s *SQL) Position(n int) int {
	if s.Kind == Statement || n == 0 {
		return n
	}
	return max(n-len(selectWord), 1) + utf8.RuneCountInString(s.Text[:s.skip])
}

// SQLKind says what the text of SQL is.
type SQLKind uint8

// The kinds of SQL.
const (
	Statement  SQLKind = iota
	Expression         // without SELECT
	Assignment         // target := expression
)

// Target is where a value goes: a variable, a field of a record, or an element of an array in one
// of them.
type Target struct {
	Variable *Variable
	Field    string           // "": the variable itself
	Path     []*pg_query.Node // subscripts, and fields of what they lead to
	Offset   int              // of the target in the text of its assignment
}

// Stmt is a statement of a body.
type Stmt interface {
	// At returns the line, from 1.
	At() int
	// What returns the statement's name in CONTEXT: "assignment", "RAISE".
	What() string
}

// Line is the line of a statement in the body, from 1.
type Line int

// At returns the line.
func (l Line) At() int { return int(l) }

// The statements.
type (
	Block struct {
		Line
		Label      string
		Variables  []*Variable // that it declares
		Body       []Stmt
		Exceptions []Handler
		Catches    bool
		State      *Variable // sqlstate and sqlerrm in its handlers
		Message    *Variable
	}
	Assign struct {
		Line
		Target Target
		Value  *SQL
	}
	Perform struct {
		Line
		Query *SQL
	}
	Execute struct { // a SQL statement
		Line
		Query  *SQL
		Into   *Into
		Called bool // CALL or DO
	}
	Dynamic struct { // EXECUTE
		Line
		Query *SQL
		Using []*SQL
		Into  *Into
	}
	If struct {
		Line
		Arms []Arm
		Else []Stmt
	}
	Case struct {
		Line
		Test    *SQL // nil: the arms have conditions
		Value   *Variable
		Arms    []Arm
		HasElse bool
		Else    []Stmt
	}
	Loop struct {
		Line
		Label string
		While *SQL // nil: without end
		Body  []Stmt
	}
	ForInteger struct {
		Line
		Label          string
		Variable       *Variable
		From, To, Step *SQL
		Reverse        bool
		Body           []Stmt
	}
	ForRows struct {
		Line
		Label  string
		Into   *Into
		Query  *SQL // or
		Text   *SQL // of EXECUTE, or
		Cursor *Variable
		Args   []*SQL // of EXECUTE … USING, or of the cursor
		Body   []Stmt
	}
	ForEach struct {
		Line
		Label string
		Into  *Into
		Slice int
		Array *SQL
		Body  []Stmt
	}
	Leave struct { // EXIT and CONTINUE
		Line
		Continue bool
		Label    string
		When     *SQL
	}
	Return struct {
		Line
		Value *SQL // nil: none, or the parameters of mode OUT
	}
	ReturnNext struct {
		Line
		Value *SQL
	}
	ReturnQuery struct {
		Line
		Query *SQL
		Text  *SQL // of EXECUTE
		Using []*SQL
	}
	Raise struct {
		Line
		Level     string // "exception", "notice", …
		Condition string // name or SQLSTATE
		Message   string
		HasFormat bool
		Args      []*SQL
		Options   []RaiseOption
		Again     bool // RAISE alone
	}
	Assert struct {
		Line
		Condition, Message *SQL
	}
	GetDiagnostics struct {
		Line
		Stacked bool
		Items   []Diagnostic
	}
	Open struct {
		Line
		Cursor  *Variable
		Args    []*SQL
		Query   *SQL
		Text    *SQL
		Using   []*SQL
		Options int32
	}
	Fetch struct { // and MOVE
		Line
		Cursor    *Variable
		Into      *Into
		Move      bool
		Direction Direction
		Count     *SQL // nil: HowMany
		HowMany   int64
		Many      bool // it may move over several rows
	}
	Close struct {
		Line
		Cursor *Variable
	}
	EndTransaction struct { // COMMIT and ROLLBACK
		Line
		Rollback, Chain bool
	}
	Null struct{ Line }
)

// Into is the target of rows.
type Into struct {
	Record *Variable // the whole row; nil: Targets
	Fields []Target
	Strict bool
}

// Arm is a condition with the statements that it leads to. That of a CASE with a test compares its
// value.
type Arm struct {
	Line
	When *SQL
	Then []Stmt
}

// Handler is WHEN conditions THEN statements.
type Handler struct {
	Line
	Conditions []string // SQLSTATEs, "" is OTHERS
	Body       []Stmt
}

// RaiseOption is an option of RAISE … USING: "errcode", "message", "detail", "hint", "column",
// "constraint", "datatype", "table", "schema".
type RaiseOption struct {
	Name  string
	Value *SQL
}

// Diagnostic is target = item of GET DIAGNOSTICS.
type Diagnostic struct {
	Target Target
	Item   string // "row_count", "pg_context", "returned_sqlstate", …
}

// Direction is where FETCH and MOVE go.
type Direction uint8

// The directions.
const (
	Forward Direction = iota
	Backward
	Absolute
	Relative
)

func (*Block) What() string       { return "statement block" }
func (*Assign) What() string      { return "assignment" }
func (*Perform) What() string     { return "PERFORM" }
func (*Dynamic) What() string     { return "EXECUTE" }
func (*If) What() string          { return "IF" }
func (*Case) What() string        { return "CASE" }
func (*ForInteger) What() string  { return "FOR with integer loop variable" }
func (*ForEach) What() string     { return "FOREACH over array" }
func (*Return) What() string      { return "RETURN" }
func (*ReturnNext) What() string  { return "RETURN NEXT" }
func (*ReturnQuery) What() string { return "RETURN QUERY" }
func (*Raise) What() string       { return "RAISE" }
func (*Assert) What() string      { return "ASSERT" }
func (*Open) What() string        { return "OPEN" }
func (*Close) What() string       { return "CLOSE" }
func (*Null) What() string        { return "NULL" }

func (s *Execute) What() string {
	switch {
	case !s.Called:
		return "SQL statement"
	case s.Query.Tree.GetDoStmt() != nil:
		return "DO"
	}
	return "CALL"
}

func (s *Loop) What() string {
	if s.While != nil {
		return "WHILE"
	}
	return "LOOP"
}

func (s *ForRows) What() string {
	switch {
	case s.Cursor != nil:
		return "FOR over cursor"
	case s.Text != nil:
		return "FOR over EXECUTE statement"
	}
	return "FOR over SELECT rows"
}

func (s *Leave) What() string {
	if s.Continue {
		return "CONTINUE"
	}
	return "EXIT"
}

func (s *GetDiagnostics) What() string {
	if s.Stacked {
		return "GET STACKED DIAGNOSTICS"
	}
	return "GET DIAGNOSTICS"
}

func (s *Fetch) What() string {
	if s.Move {
		return "MOVE"
	}
	return "FETCH"
}

func (s *EndTransaction) What() string {
	if s.Rollback {
		return "ROLLBACK"
	}
	return "COMMIT"
}
