package analyze

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Context is what a statement is analysed against. It is not changed by analysis and may be shared.
type Context struct {
	Catalog  *catalog.View
	Database catalog.OID
	// SearchPath lists schemas that exist, in order. pg_catalog is searched first unless it is listed.
	SearchPath []string
	User       catalog.OID // the current role
	// Source is the text that locations in the parse tree count in.
	Source string
	// Env reads literals: time zone, date order, names of reg* constants (RegIn).
	Env *types.Env
	// Tables keeps the analysed defaults and constraints of tables; nil analyses them each time.
	Tables *TableCache
	// Storage shows sequences as the tables in which their state is stored: for the server's own statements.
	Storage bool
	// NoParams refuses $1 and its kin, where it stands: nobody can give them a value.
	NoParams bool

	lenient bool // tests of analysis itself: functions need no implementation
}

// state is one statement being analysed.
type state struct {
	ctx      *Context
	text     parse.Positions
	params   []types.OID // by number; 0 is not known yet
	noParams bool        // of stored expressions
	depth    int         // of nested expressions and queries
	locs     locations
	current  []*query.Param // of WHERE CURRENT OF, to be numbered behind all others
	currents []query.Current
}

// maxDepth bounds the nesting of the tree; the parser's own limit is lower.
const maxDepth = 12_000

// place says where an expression stands, for the rules of what is allowed there (ParseExprKind).
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
	inTransform
)

var placeNames = [...]string{
	inSelect: "SELECT", inOther: "this context", inJoinOn: "JOIN/ON", inFromSubselect: "sub-SELECT in FROM", inFromFunction: "function in FROM",
	inWhere: "WHERE", inHaving: "HAVING", inFilter: "FILTER", inWindowPartition: "window PARTITION BY", inWindowOrder: "window ORDER BY",
	inWindowFrame: "window RANGE", inInsert: "INSERT", inUpdateSource: "UPDATE", inUpdateTarget: "UPDATE", inGroupBy: "GROUP BY",
	inOrderBy: "ORDER BY", inDistinctOn: "DISTINCT ON", inLimit: "LIMIT", inOffset: "OFFSET", inReturning: "RETURNING", inValues: "VALUES",
	inValuesSingle: "VALUES", inCheck: "CHECK", inDefault: "DEFAULT", inGenerated: "GENERATED AS", inIndexKey: "INDEX", inIndexPredicate: "INDEX WHERE",
	inTransform: "USING",
}

// scope is one query level: what can be named and where (ParseState).
type scope struct {
	*state
	parent    *scope
	q         *query.Query
	names     []*nameItem
	ctes      []*cteEntry // of this level's WITH
	windows   []*windowDef
	future    []*pg_query.Node // WITH queries of this level that come later
	place     place
	lateral   bool // LATERAL references are possible here
	lastSRF   *query.Call
	groupings []pendingGrouping
}

func (s *scope) child() *scope {
	return &scope{state: s.state, parent: s, q: &query.Query{}}
}

// at runs f with another place.
func (s *scope) at(p place, f func() error) error {
	old := s.place
	s.place = p
	err := f()
	s.place = old
	return err
}

// pos gives the character position of a location of the parse tree.
func (s *scope) pos(loc int32) int { return s.text.At(int(loc)) }

func (s *scope) errorf(loc int32, code, format string, args ...any) *pgerr.Error {
	return pgerr.New(code, format, args...).At(s.pos(loc))
}

func (s *scope) unsupported(loc int32, format string, args ...any) *pgerr.Error {
	return pgerr.Unsupported(format, args...).At(s.pos(loc))
}

// enter counts nesting; leave undoes it.
func (s *state) enter() error {
	s.depth++
	if s.depth > maxDepth {
		return pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded").WithHint("Simplify the statement.")
	}
	return nil
}

func (s *state) leave() { s.depth-- }

// checkImplemented answers 0A000 for a function that package builtin does not have.
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

// procSignature spells a function as regprocedure does.
func procSignature(p *query.Proc) string { return p.Name + "(" + typeList(p.ArgTypes) + ")" }

func typeList(oids []types.OID) string {
	b := []byte(nil)
	for i, t := range oids {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, typeName(t)...)
	}
	return string(b)
}

// returnsSet tells whether a set-returning function stands anywhere in e.
func returnsSet(e query.Expr) bool {
	return query.Contains(e, func(x query.Expr) bool {
		c, ok := x.(*query.Call)
		return ok && c.Proc.RetSet
	})
}

// strings reads a list of String nodes.
func nodeStrings(nodes []*pg_query.Node) []string {
	out := make([]string, 0, len(nodes))
	for _, n := range nodes {
		if v, ok := n.GetNode().(*pg_query.Node_String_); ok {
			out = append(out, v.String_.Sval)
		}
	}
	return out
}

// columnsOfTable lists a table's columns; dropped ones keep their place.
// ColumnsOf lists the columns of a table for analysis; dropped ones keep their place.
func ColumnsOf(t *catalog.Table) []query.Column { return columnsOfTable(t) }

func columnsOfTable(t *catalog.Table) []query.Column {
	out := make([]query.Column, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = query.Column{Name: c.Name, Type: c.Type, Typmod: c.Typmod, Dropped: c.Dropped}
	}
	return out
}

// columnsOfSystem lists the columns of a system relation; the domains of information_schema are looked through.
func columnsOfSystem(r *pgcatalog.Relation) []query.Column {
	out := make([]query.Column, len(r.Columns))
	for i, c := range r.Columns {
		// The domains of information_schema are read as the types under them.
		out[i] = query.Column{Name: c.Name, Type: baseType(c.Type), Typmod: c.Typmod}
	}
	return out
}
