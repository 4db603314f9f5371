package analyze

import (
	"slices"
	"strconv"
	"sync"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Source is an expression of the parse tree, and the text that its locations refer to.
type Source struct {
	Text string
	Node *pg_query.Node
}

// ParseExpression parses the text of an expression.
func ParseExpression(text string) (Source, error) {
	full := "SELECT " + text
	stmts, err := parse.Parse(full)
	if err != nil {
		return Source{}, err
	}
	sel := (*pg_query.SelectStmt)(nil)
	if len(stmts) == 1 {
		sel = stmts[0].Node.GetSelectStmt()
	}
	if sel == nil || len(sel.TargetList) != 1 || len(sel.FromClause) > 0 || sel.TargetList[0].GetResTarget().
		Name != "" {
		return Source{}, pgerr.New(pgerr.SyntaxError, "invalid expression: %s", text)
	}
	return Source{full, sel.TargetList[0].GetResTarget().Val}, nil
}

// storedScope returns a scope for an expression that the catalog stores: over one table's columns
// (Rels[0]), without parameters.
func storedScope(ctx *Context, source, table string, over []query.Column, p place) *scope {
	s := &scope{state: &state{ctx: ctx, text: parse.Positions{Text: source}, noParams: true, locs: locations{}},
		q: &query.Query{}, place: p}
	if over != nil {
		s.q.Rels = []*query.Rel{{Kind: query.RelTable, Alias: table, Columns: over}}
		it := s.itemOf(0)
		it.system, it.stored = false, true
		s.names = []*nameItem{it}
	}
	return s
}

// Expression analyzes the text of an expression over columns, which are Var{Rel: 0}. An unknown
// type becomes text.
func Expression(ctx *Context, text string, over []query.Column) (query.Expr, error) {
	src, err := ParseExpression(text)
	if err != nil {
		return nil, err
	}
	s := storedScope(ctx, src.Text, "", over, inOther)
	e, err := s.expr(src.Node)
	if err != nil || e.Type() != types.Unknown {
		return e, err
	}
	return s.coerce(e, types.Text, -1, implicit, -1)
}

// Check analyzes a CHECK constraint over the columns of a table, which are Var{Rel: 0}.
func Check(ctx *Context, src Source, table string, over []query.Column) (query.Expr, error) {
	s := storedScope(ctx, src.Text, table, over, inCheck)
	e, err := s.expr(src.Node)
	if err != nil {
		return nil, err
	}
	return s.coerceBool(e, "CHECK", location(src.Node))
}

// Rows of TriggerCondition.
const (
	OldRow = 0
	NewRow = 1
)

// TriggerCondition analyzes the WHEN of a trigger of a table or view: old is Var{Rel: OldRow}, new is
// Var{Rel: NewRow}.
func TriggerCondition(ctx *Context, src Source, over []query.Column) (query.Expr, error) {
	s := storedScope(ctx, src.Text, "old", over, inTriggerWhen)
	s.q.Rels = append(s.q.Rels, &query.Rel{Kind: query.RelTable, Alias: "new", Columns: over})
	it := s.itemOf(NewRow)
	it.system, it.stored = false, true
	s.names = append(s.names, it)
	e, err := s.expr(src.Node)
	if err != nil {
		return nil, err
	}
	return s.coerceBool(e, "WHEN", location(src.Node))
}

// CopyCondition analyzes the WHERE of a COPY FROM over the columns of its table, which are Var{Rel: 0}.
func CopyCondition(ctx *Context, src Source, t *catalog.Table) (query.Expr, error) {
	s := storedScope(ctx, src.Text, t.Name, columnsOfTable(t), inCopyWhere)
	e, err := s.expr(src.Node)
	if err != nil {
		return nil, err
	}
	return s.coerceBool(e, "WHERE", location(src.Node))
}

// Default analyzes the DEFAULT of a column.
func Default(ctx *Context, src Source, c query.Column) (query.Expr, error) {
	s := storedScope(ctx, src.Text, "", nil, inDefault)
	return s.columnExpr(src.Node, c, "default expression")
}

// Generated analyzes the expression of a stored generated column over the columns of its table.
func Generated(ctx *Context, src Source, c query.Column, table string, over []query.Column) (query.Expr, error) {
	s := storedScope(ctx, src.Text, table, over, inGenerated)
	e, err := s.columnExpr(src.Node, c, "generation expression")
	if err != nil {
		return nil, err
	}
	if err := s.refuseWholeRow(e); err != nil {
		return nil, err
	}
	if volatility(e, over) != 'i' {
		return nil, pgerr.New(pgerr.InvalidObjectDefinition, "generation expression is not immutable")
	}
	return e, nil
}

// refuseWholeRow refuses a generation expression that refers to the whole row.
func (s *scope) refuseWholeRow(e query.Expr) error {
	var found *query.Var
	query.Walk(e, func(x query.Expr) bool {
		if v, ok := x.(*query.Var); ok && v.Col == query.ColWholeRow && found == nil {
			found = v
		}
		return found == nil
	})
	if found == nil {
		return nil
	}
	return s.errorf(s.locs.of(found), pgerr.InvalidObjectDefinition,
		"cannot use whole-row variable in column generation expression").
		WithDetail("This would cause the generated column to depend on its own value.")
}

// storedSystemColumn returns the error for a system column in an expression of a table's
// definition; nil if name is not a system column.
func (s *scope) storedSystemColumn(name string, loc int32) error {
	switch name {
	case "tableoid", "ctid", "xmin", "xmax", "cmin", "cmax":
	default:
		return nil
	}
	switch s.place {
	case inIndexKey, inIndexPredicate:
		return pgerr.Unsupported("index creation on system columns is not supported")
	case inStatistics:
		return ErrSystemColumnStatistics()
	case inCheck:
		if name != "tableoid" {
			return s.errorf(loc, pgerr.InvalidColumnReference,
				"system column %q reference in check constraint is invalid", name)
		}
	case inGenerated:
		if name != "tableoid" {
			return s.errorf(loc, pgerr.InvalidColumnReference,
				"cannot use system column %q in column generation expression", name)
		}
	}
	return s.unsupported(loc, "system column %q is not supported in a table's definition", name)
}

// Transform analyzes the conversion of a column whose type changes to that of c: the expression of
// USING over the columns of the old table or, without USING (no Node), the column itself, at
// position col. It returns nil if there is no assignment cast to the type.
func Transform(ctx *Context, src Source, c query.Column, col int, table string,
	over []query.Column) (query.Expr, error) {
	s := storedScope(ctx, src.Text, table, over, inTransform)
	e := query.Expr(&query.Var{T: query.T{OID: over[col].Type, Mod: over[col].Typmod}, Col: col, Name: over[col].Name})
	if src.Node != nil {
		var err error
		if e, err = s.expr(src.Node); err != nil {
			return nil, err
		}
	}
	return s.coerceTo(e, c.Type, c.Typmod, assignment, -1)
}

// Checks analyzes the conditions that a table's rows must satisfy: generated columns first, then
// CHECK constraints. Columns are Var{Rel: 0}.
func Checks(ctx *Context, t *catalog.Table) ([]query.Check, error) {
	e, err := analyzeTable(ctx, t)
	if err != nil {
		return nil, err
	}
	return e.checks, nil
}

func (s *scope) columnExpr(n *pg_query.Node, c query.Column, what string) (query.Expr, error) {
	e, err := s.expr(n)
	if err != nil {
		return nil, err
	}
	r, err := s.coerceTo(e, c.Type, c.Typmod, assignment, -1)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "column %q is of type %s but %s is of type %s", c.Name,
			s.ctx.name(c.Type), what, s.ctx.name(e.Type())).
			WithHint("You will need to rewrite or cast the expression.")
	}
	return r, nil
}

// volatility returns the highest volatility of the functions in e, over the columns of a table.
func volatility(e query.Expr, over []query.Column) byte {
	worst := byte('i')
	query.Walk(e, func(x query.Expr) bool {
		var p *query.Proc
		switch v := x.(type) {
		case *query.Call:
			p = v.Proc
		case *query.ArrayOp:
			p = v.Proc
		case *query.SQLValue:
			worst = max(worst, 's')
		case *query.CoerceIO:
			row := v.Arg.Type() == types.Record && slices.ContainsFunc(over,
				func(c query.Column) bool { return !c.Dropped && hasLabels(c.Type) })
			if row || hasLabels(v.Type()) || hasLabels(v.Arg.Type()) {
				worst = max(worst, 's')
			}
		}
		if p != nil {
			worst = max(worst, p.Volatility) // i < s < v
		}
		return true
	})
	return worst
}

// hasLabels reports whether the texts of values of a type may change, because values of an enum can be
// renamed, also those in rows.
func hasLabels(t types.OID) bool {
	of := func(t types.OID) bool { return types.IsEnum(t) || types.IsComposite(t) }
	return of(t) || of(types.ElemOf(t))
}

// tableExprs are the analyzed expressions of one version of a table; columns are Var{Rel: 0}.
type tableExprs struct {
	defaults []query.Expr // by position; nil if there is none
	checks   []query.Check
	indexes  []query.Index
	together []query.StatisticsExpression
	view     *pg_query.Node // of a view: the tree of its query
}

// TableCache caches analyzed defaults and constraints by table and version. It is safe for
// concurrent use.
type TableCache struct {
	mu      sync.Mutex
	byTable map[tableVersion]*tableExprs // guarded by mu
}

type tableVersion struct {
	oid     catalog.OID
	version uint64
}

const tableCacheSize = 4096

// NewTableCache returns an empty cache.
func NewTableCache() *TableCache { return &TableCache{byTable: map[tableVersion]*tableExprs{}} }

func (c *TableCache) get(t *catalog.Table) *tableExprs {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byTable[tableVersion{t.OID, t.Version}]
}

func (c *TableCache) put(t *catalog.Table, e *tableExprs) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byTable) >= tableCacheSize {
		clear(c.byTable)
	}
	c.byTable[tableVersion{t.OID, t.Version}] = e
}

// tableExprs returns the analyzed defaults and constraints of a table.
func (s *scope) tableExprs(t *catalog.Table) (*tableExprs, error) {
	kept := s.ctx.Tables != nil && !t.UsesFunctions() // a function may change without its table
	if kept {
		if e := s.ctx.Tables.get(t); e != nil {
			return e, nil
		}
	}
	e, err := analyzeTable(s.ctx, t)
	if err == nil && kept {
		s.ctx.Tables.put(t, e)
	}
	return e, err
}

// defaultText returns the expression for a column without a value: its default, or the next value
// of its sequence.
func defaultText(c *catalog.Column) string {
	if c.Identity == 0 {
		return c.Default
	}
	return "nextval('" + strconv.FormatUint(uint64(c.Sequence), 10) + "'::regclass)"
}

// analyzeTable analyzes the expressions that the catalog stores as text. Stored text qualifies
// every name outside of pg_catalog.
func analyzeTable(ctx *Context, t *catalog.Table) (*tableExprs, error) {
	stored := &Context{Catalog: ctx.Catalog, Database: ctx.Database, lenient: ctx.lenient, Bodies: ctx.Bodies}
	columns := columnsOfTable(t)
	out := &tableExprs{defaults: make([]query.Expr, len(columns))}
	for i, c := range t.Columns {
		if c.Dropped {
			continue
		}
		text := defaultText(&c)
		if text == "" && types.IsDomain(c.Type) {
			if text = DomainDefault(ctx.Catalog, c.Type); text == "" {
				text = "NULL" // which the domain may refuse
			}
		}
		if text != "" && c.Generated == "" {
			src, err := ParseExpression(text)
			if err != nil {
				return nil, err
			}
			if out.defaults[i], err = Default(stored, src, columns[i]); err != nil {
				return nil, err
			}
		}
		if c.Generated != "" {
			src, err := ParseExpression(c.Generated)
			if err != nil {
				return nil, err
			}
			e, err := Generated(stored, src, columns[i], t.Name, columns)
			if err != nil {
				return nil, err
			}
			out.checks = append(out.checks, query.Check{Name: c.Name, Expr: e, Generated: i})
		}
	}
	for _, c := range t.Constraints {
		if c.Kind != catalog.Check {
			continue
		}
		src, err := ParseExpression(c.Check)
		if err != nil {
			return nil, err
		}
		e, err := Check(stored, src, t.Name, columns)
		if err != nil {
			return nil, err
		}
		out.checks = append(out.checks, query.Check{Name: c.Name, Expr: e, Generated: -1})
	}
	var err error
	out.indexes, err = Indexes(stored, t)
	out.together = togetherOf(stored, t)
	return out, err
}
