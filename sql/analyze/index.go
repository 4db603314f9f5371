package analyze

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/deparse"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// IndexKey analyzes an expression of an index over the columns of its table, which are Var{Rel: 0}.
func IndexKey(ctx *Context, src Source, table string, over []query.Column) (query.Expr, error) {
	s := storedScope(ctx, src.Text, table, over, inIndexKey)
	e, err := s.expr(src.Node)
	if err == nil && e.Type() == types.Unknown {
		e, err = s.coerce(e, types.Text, -1, implicit, -1)
	}
	if err != nil {
		return nil, err
	}
	if volatility(e, over) != 'i' {
		return nil, pgerr.New(pgerr.InvalidObjectDefinition, "functions in index expression must be marked IMMUTABLE")
	}
	return e, nil
}

// IndexPredicate analyzes the WHERE clause of a partial index likewise.
func IndexPredicate(ctx *Context, src Source, table string, over []query.Column) (query.Expr, error) {
	s := storedScope(ctx, src.Text, table, over, inIndexPredicate)
	e, err := s.expr(src.Node)
	if err != nil {
		return nil, err
	}
	if e, err = s.coerceBool(e, "WHERE", location(src.Node)); err != nil {
		return nil, err
	}
	if volatility(e, over) != 'i' {
		return nil, pgerr.New(pgerr.InvalidObjectDefinition, "functions in index predicate must be marked IMMUTABLE")
	}
	return e, nil
}

// StatisticsExpression analyzes an expression of CREATE STATISTICS over the columns of its table, which
// are Var{Rel: 0}.
func StatisticsExpression(ctx *Context, src Source, table string, over []query.Column) (query.Expr, error) {
	return storedScope(ctx, src.Text, table, over, inStatistics).expr(src.Node)
}

// ErrSystemColumnStatistics returns the error of CREATE STATISTICS for a system column or the whole row.
func ErrSystemColumnStatistics() error {
	return pgerr.Unsupported("statistics creation on system columns is not supported")
}

// IndexColumnName returns the part of a generated index name for an expression.
func IndexColumnName(n *pg_query.Node) string {
	if name, strength := figureName(n); strength > 0 {
		return name
	}
	return "expr"
}

// Indexes analyzes the stored definitions of a table's secondary indexes; columns are Var{Rel: 0}.
func Indexes(ctx *Context, t *catalog.Table) ([]query.Index, error) {
	stored := &Context{Catalog: ctx.Catalog, Database: ctx.Database, lenient: ctx.lenient, Bodies: ctx.Bodies}
	columns := columnsOfTable(t)
	var out []query.Index
	for i := range t.Indexes {
		if !t.Indexes[i].Secondary() {
			continue
		}
		x, err := tableIndex(stored, t, columns, &t.Indexes[i])
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func tableIndex(ctx *Context, t *catalog.Table, columns []query.Column, def *catalog.Index) (query.Index, error) {
	x := query.Index{Def: def}
	texts := def.Expressions
	for _, att := range def.Columns {
		if att > 0 {
			c := &columns[att-1]
			x.Keys = append(x.Keys, &query.Var{T: query.T{OID: c.Type, Mod: c.Typmod}, Col: int(att) - 1, Name: c.Name})
			x.Names = append(x.Names, builtin.QuoteIdent(c.Name))
			continue
		}
		src, err := ParseExpression(texts[0])
		texts = texts[1:]
		if err != nil {
			return x, err
		}
		e, err := IndexKey(ctx, src, t.Name, columns)
		if err != nil {
			return x, err
		}
		x.Keys, x.Names = append(x.Keys, e), append(x.Names, IndexKeyText(e, true))
	}
	if def.Predicate == "" {
		return x, nil
	}
	src, err := ParseExpression(def.Predicate)
	if err == nil {
		x.Where, err = IndexPredicate(ctx, src, t.Name, columns)
	}
	return x, err
}

// IndexKeyText returns an expression of an index as pg_get_indexdef does: in parentheses, unless it
// looks like a function call.
func IndexKeyText(e query.Expr, pretty bool) string {
	text := deparse.With(e, nil, pretty)
	if looksLikeFunction(e) {
		return text
	}
	return "(" + text + ")"
}

// looksLikeFunction follows looks_like_function of ruleutils.c.
func looksLikeFunction(e query.Expr) bool {
	switch n := e.(type) {
	case *query.Call:
		return n.Op == "" && n.Cast == 0
	case *query.Coalesce, *query.MinMax, *query.NullIf:
		return true
	}
	return false
}

// indexesOf returns the analyzed secondary indexes of a table that is read.
func (s *scope) indexesOf(t *catalog.Table) ([]query.Index, error) {
	for i := range t.Indexes {
		if t.Indexes[i].Secondary() {
			exprs, err := s.tableExprs(t)
			if err != nil {
				return nil, err
			}
			return exprs.indexes, nil
		}
	}
	return nil, nil
}

// togetherOf analyzes the expressions of a table's statistics objects. One that cannot be analyzed is
// left out: statistics change no answer.
func togetherOf(ctx *Context, t *catalog.Table) (out []query.StatisticsExpression) {
	columns := columnsOfTable(t)
	for i := range t.Statistics {
		x := &t.Statistics[i]
		for k, text := range x.Expressions {
			src, err := ParseExpression(text)
			if err != nil {
				continue
			}
			e, err := StatisticsExpression(ctx, src, t.Name, columns)
			if err != nil {
				continue
			}
			out = append(out, query.StatisticsExpression{Object: x.OID, Position: k + 1, Expr: e})
		}
	}
	return out
}

// StatisticsExpressions returns the analyzed expressions of a table's statistics objects; columns are
// Var{Rel: 0}.
func StatisticsExpressions(ctx *Context, t *catalog.Table) []query.StatisticsExpression {
	if !slices.ContainsFunc(t.Statistics, func(x catalog.ExtendedStatistics) bool { return len(x.Expressions) > 0 }) {
		return nil
	}
	e, err := (&scope{state: &state{ctx: ctx}}).tableExprs(t)
	if err != nil {
		return nil
	}
	return e.together
}
