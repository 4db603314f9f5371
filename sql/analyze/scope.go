package analyze

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Context is the environment of analysis. Analysis does not change it, so it may be shared.
type Context struct {
	Catalog  *catalog.View
	Database catalog.OID
	// SearchPath lists existing schemas in order. pg_catalog is searched first unless it is listed.
	SearchPath []string
	User       catalog.OID // the current role, which may not use all schemas; 0: it may
	// Source is the text that locations in the parse tree refer to.
	Source string
	// Env is used to parse literals: time zone, date order, names of reg* constants (RegIn).
	Env *types.Env
	// Tables caches the analyzed defaults and constraints of tables; if it is nil, they are
	// analyzed each time.
	Tables *TableCache
	// Storage resolves sequences as the tables that store their state, for the server's own
	// statements.
	Storage bool
	// NoParams refuses parameters such as $1, with their position, because they cannot have values.
	NoParams bool
	// Form keeps how the text writes what the query itself does not show, so that it can be
	// deparsed. Such a query is not planned.
	Form bool
	// Stored reads the form that the catalog keeps of queries (package deparse).
	Stored bool

	// Bodies is the context in which the texts of functions in SQL are analyzed, to inline them; nil: they
	// are not inlined.
	Bodies *Context
	// Transitions are the transition tables that a statement of a trigger function may read, by name.
	Transitions map[string][]query.Column
	// Names finds the variables of the function that a statement is part of; nil: there are none.
	Names function.Names

	lenient bool // for tests of analysis itself: functions need no implementation
}

// state is the state of analyzing one statement.
type state struct {
	ctx      *Context
	text     parse.Positions
	params   []types.OID // by number; 0 if not known yet
	noParams bool        // of stored expressions
	depth    int         // of nested expressions and queries
	locs     locations
	untyped  map[query.Expr]query.Expr // fields of ROW(…) that were literals or parameters without a type
	literals Literals                  // nil: they are not wanted
	current  []*query.Param            // parameters of WHERE CURRENT OF, numbered after all others
	currents []query.Current
	views    []catalog.OID          // whose queries are being analyzed
	inlining []catalog.OID          // functions whose bodies are being analyzed
	keys     []catalog.OID          // primary keys on which grouped columns depend
	rows     map[int][]query.Column // columns of parameters that are records, by number
}

// maxDepth limits the nesting of the tree; the parser's own limit is lower.
const maxDepth = 12_000

// place is the kind of place of an expression, which decides what is allowed there (ParseExprKind).
type place uint8

const (
	inSelect place = iota
	inOther
	inJoinOn
	inFromSubselect
	inFromFunction
	inWhere
	inHaving
	inFilter
	inWindowPartition
	inWindowOrder
	inWindowFrame
	inInsert
	inUpdateSource
	inUpdateTarget
	inGroupBy
	inOrderBy
	inDistinctOn
	inLimit
	inOffset
	inReturning
	inValues
	inValuesSingle
	inCheck
	inDefault
	inGenerated
	inIndexKey
	inIndexPredicate
	inStatistics
	inTransform
	inParameterDefault
	inTriggerWhen
	inMergeWhen
	inCopyWhere
	inRowPolicy
)

var placeNames = [...]string{
	inSelect: "SELECT", inOther: "this context", inJoinOn: "JOIN/ON", inFromSubselect: "sub-SELECT in FROM",
	inFromFunction: "function in FROM",
	inWhere:        "WHERE", inHaving: "HAVING", inFilter: "FILTER", inWindowPartition: "window PARTITION BY",
	inWindowOrder: "window ORDER BY",
	inWindowFrame: "window RANGE", inInsert: "INSERT", inUpdateSource: "UPDATE", inUpdateTarget: "UPDATE",
	inGroupBy: "GROUP BY",
	inOrderBy: "ORDER BY", inDistinctOn: "DISTINCT ON", inLimit: "LIMIT", inOffset: "OFFSET", inReturning: "RETURNING",
	inValues:       "VALUES",
	inValuesSingle: "VALUES", inCheck: "CHECK", inDefault: "DEFAULT", inGenerated: "GENERATED AS", inIndexKey: "INDEX",
	inIndexPredicate: "INDEX WHERE", inStatistics: "statistics expressions",
	inTransform: "USING", inParameterDefault: "DEFAULT", inTriggerWhen: "trigger WHEN conditions",
	inMergeWhen: "MERGE WHEN conditions",
	inCopyWhere: "COPY FROM WHERE conditions", inRowPolicy: "policy expressions",
}

// scope is one query level: the names that are visible, and the place (ParseState).
type scope struct {
	*state
	parent  *scope
	q       *query.Query
	names   []*nameItem
	ctes    []*cteEntry // of this level's WITH
	windows []*windowDef
	future  []*pg_query.Node // later WITH queries of this level
	place   place
	lateral bool // LATERAL references are allowed here
	lastSRF *query.Call
	// lastInlined is the last call that became the expression of its body.
	lastInlined *query.Call
	through     *viewTarget  // of a write to a view
	parts       map[int]part // targets of INSERT that are parts of columns, by position
	groupings   []pendingGrouping
}

func (s *scope) child() *scope {
	return &scope{state: s.state, parent: s, q: &query.Query{}}
}

// at runs f at another place.
func (s *scope) at(p place, f func() error) error {
	old := s.place
	s.place = p
	err := f()
	s.place = old
	return err
}

// pos returns the character position of a location in the parse tree.
func (s *scope) pos(loc int32) int { return s.text.At(int(loc)) }

func (s *scope) errorf(loc int32, code, format string, args ...any) *pgerr.Error {
	return pgerr.New(code, format, args...).At(s.pos(loc))
}

func (s *scope) unsupported(loc int32, format string, args ...any) *pgerr.Error {
	return pgerr.Unsupported(format, args...).At(s.pos(loc))
}

// enter increments the nesting depth and returns an error above the limit; leave decrements it.
func (s *state) enter() error {
	s.depth++
	if s.depth > maxDepth {
		return pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded").WithHint("Simplify the statement.")
	}
	return nil
}

func (s *state) leave() { s.depth-- }

// checkImplemented returns 0A000 for a function that package builtin does not have.
func (s *scope) checkImplemented(p *query.Proc, loc int32) error {
	if _, ok := builtin.For(p); ok || s.ctx.lenient {
		return nil
	}
	kind := "function"
	if p.Kind == 'a' {
		kind = "aggregate function"
	}
	return s.unsupported(loc, "%s %s is not supported yet", kind, procSignature(p))
}

// procSignature returns a function as regprocedure prints it.
func procSignature(p *query.Proc) string { return p.Name + "(" + typeList(p.ArgTypes) + ")" }

func typeList(oids []types.OID) string {
	b := []byte(nil)
	for i, t := range oids {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, pgcatalog.FormatType(t, -1)...)
	}
	return string(b)
}

// returnsSet reports whether e contains a set-returning function.
func returnsSet(e query.Expr) bool {
	return query.Contains(e, func(x query.Expr) bool {
		c, ok := x.(*query.Call)
		return ok && c.Proc.RetSet
	})
}

// nodeStrings returns the texts of a list of String nodes.
func nodeStrings(nodes []*pg_query.Node) []string {
	out := make([]string, 0, len(nodes))
	for _, n := range nodes {
		if v, ok := n.GetNode().(*pg_query.Node_String_); ok {
			out = append(out, v.String_.Sval)
		}
	}
	return out
}

// ColumnsOf returns the columns of a table for analysis; dropped columns keep their position.
func ColumnsOf(t *catalog.Table) []query.Column { return columnsOfTable(t) }

func columnsOfTable(t *catalog.Table) []query.Column {
	out := make([]query.Column, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = query.Column{Name: c.Name, Type: c.Type, Typmod: c.Typmod, Dropped: c.Dropped}
	}
	return out
}

// columnsOfSystem returns the columns of a system relation, with base types instead of the domains
// of information_schema.
func columnsOfSystem(r *pgcatalog.Relation) []query.Column {
	out := make([]query.Column, len(r.Columns))
	for i, c := range r.Columns {
		// The domains of information_schema are treated as their base types.
		out[i] = query.Column{Name: c.Name, Type: baseType(c.Type), Typmod: c.Typmod}
	}
	return out
}
