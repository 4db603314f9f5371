package analyze

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// rangeFunction is a function, or several as ROWS FROM, in FROM (transformRangeFunction).
func (s *scope) rangeFunction(rf *pg_query.RangeFunction) (*nameItem, error) {
	rel := &query.Rel{Kind: query.RelFunction, Ordinality: rf.Ordinality}
	name, scalar, err := s.functionItems(rf, rel)
	if err != nil {
		return nil, err
	}
	for _, f := range rel.Functions {
		rel.Columns = append(rel.Columns, f.Columns...)
		rel.Lateral = rel.Lateral || hasOwnVars(f.Call)
	}
	if rf.Ordinality {
		if len(rf.Coldeflist) > 0 {
			return nil, pgerr.New(pgerr.SyntaxError, "WITH ORDINALITY cannot be used with a column definition list").
				WithHint("Put the column definition list inside ROWS FROM().")
		}
		rel.Columns = append(rel.Columns, query.Column{Name: "ordinality", Type: types.Int8, Typmod: -1})
	}
	// an alias also names the column
	if scalar && rf.Alias != nil && !namesResult(rel.Functions[0].Call) {
		rel.Columns[0].Name = rf.Alias.Aliasname
	}
	if _, err := s.applyAlias(rel, rf.Alias, name); err != nil {
		return nil, err
	}
	if err := inlineSet(s, rel); err != nil {
		return nil, err
	}
	at := 0
	for i := range rel.Functions {
		n := len(rel.Functions[i].Columns)
		rel.Functions[i].Columns = rel.Columns[at : at+n : at+n]
		at += n
	}
	it := s.itemOf(s.addRel(rel))
	it.scalar = scalar && !rf.Ordinality
	return it, nil
}

// namesResult reports whether a function has a name for its single result.
func namesResult(e query.Expr) bool {
	call, ok := query.Unwritten(e).(*query.Call)
	if !ok {
		return false
	}
	out := procColumns(call)
	return len(out) == 1 && out[0].Name != "column1"
}

// functionItems analyzes the calls. scalar is set if there is only one, which returns one scalar
// column.
func (s *scope) functionItems(rf *pg_query.RangeFunction, rel *query.Rel) (name string, scalar bool, err error) {
	for i, n := range rf.Functions {
		parts := n.GetList().GetItems()
		if len(parts) == 0 {
			return "", false, s.errorf(-1, pgerr.SyntaxError, "missing function in FROM")
		}
		var defs []*pg_query.Node
		if len(parts) > 1 {
			defs = parts[1].GetList().GetItems()
		}
		if len(rf.Coldeflist) > 0 {
			defs = rf.Coldeflist
		}
		nodes := []*pg_query.Node{parts[0]}
		if fc := parts[0].GetFuncCall(); fc != nil && isPlainUnnest(fc) {
			nodes = splitUnnest(fc)
		}
		for _, node := range nodes {
			f, plain, err := s.functionItem(node, defs)
			if err != nil {
				return "", false, err
			}
			if i == 0 && name == "" {
				name = columnName(node)
			}
			scalar = plain && len(rf.Functions) == 1 && len(nodes) == 1
			rel.Functions = append(rel.Functions, f)
		}
	}
	return name, scalar, nil
}

// isPlainUnnest reports whether f is an unnest of several arrays, which only FROM allows.
func isPlainUnnest(f *pg_query.FuncCall) bool {
	return len(f.Args) > 1 && len(f.Funcname) == 1 && f.Funcname[0].GetString_().GetSval() == "unnest" &&
		len(f.AggOrder) == 0 &&
		f.AggFilter == nil && f.Over == nil && !f.AggStar && !f.AggDistinct && !f.FuncVariadic
}

func splitUnnest(f *pg_query.FuncCall) []*pg_query.Node {
	var out []*pg_query.Node
	for _, a := range f.Args {
		out = append(out, &pg_query.Node{Node: &pg_query.Node_FuncCall{FuncCall: &pg_query.FuncCall{
			Funcname: []*pg_query.Node{pg_query.MakeStrNode("pg_catalog"), pg_query.MakeStrNode("unnest")},
			Args:     []*pg_query.Node{a}, Location: f.Location,
		}}})
	}
	return out
}

// functionItem analyzes one call and its columns. plain is set if it returns one column that is not
// a row.
func (s *scope) functionItem(n *pg_query.Node, defs []*pg_query.Node) (f query.FuncItem, plain bool, err error) {
	s.lastSRF, s.lastInlined = nil, nil
	old := s.lateral
	s.lateral = true
	err = s.at(inFromFunction, func() error {
		f.Call, err = s.expr(n)
		return err
	})
	s.lateral, s.lastSRF = old, nil
	if err != nil {
		return f, false, err
	}
	if f.Call.Type() == types.Unknown {
		if f.Call, err = s.coerce(f.Call, types.Text, -1, implicit, location(n)); err != nil {
			return f, false, err
		}
	}
	name := columnName(n)
	call, isCall := query.Unwritten(f.Call).(*query.Call)
	if len(defs) > 0 && isCall && call.Columns != nil {
		return f, false, s.errorf(defs[0].GetColumnDef().GetLocation(), pgerr.SyntaxError,
			"a column definition list is redundant for a function returning a named composite type")
	}
	if len(defs) > 0 {
		if !isCall || call.Type() != types.Record || procColumns(call) != nil {
			return f, false, s.errorf(defs[0].GetColumnDef().GetLocation(), pgerr.SyntaxError,
				"a column definition list is only allowed for functions returning \"record\"")
		}
		f.Columns, err = s.columnDefs(defs)
		if s.ctx.Form {
			f.Form = &query.FunctionForm{Defined: true}
		}
		return f, false, err
	}
	if isCall && isComposite(call.Type()) {
		if f.Columns = procColumns(call); f.Columns != nil {
			return f, false, nil
		}
		return f, false, s.errorf(location(n), pgerr.SyntaxError,
			`a column definition list is required for functions returning "record"`)
	}
	if types.IsComposite(f.Call.Type()) { // a body that was inlined
		if f.Columns = columnsOfType(s.ctx, f.Call.Type()); f.Columns == nil {
			f.Columns, _ = s.rowColumns(f.Call)
		}
		return f, false, nil
	}
	if c := s.lastInlined; c != nil && c.Pos == s.pos(location(n)) && namesResult(c) {
		f.Columns = procColumns(c)
		f.Columns[0].Type = f.Call.Type()
		return f, true, nil
	}
	if namesResult(f.Call) {
		f.Columns = procColumns(call) // a single OUT argument names the column
		f.Columns[0].Type = call.Type()
		return f, true, nil
	}
	f.Columns = []query.Column{{Name: name, Type: f.Call.Type(), Typmod: f.Call.Typmod()}}
	return f, true, nil
}

// columnDefs reads AS (name type, …).
func (s *scope) columnDefs(defs []*pg_query.Node) ([]query.Column, error) {
	var out []query.Column
	for _, n := range defs {
		d := n.GetColumnDef()
		t, mod, err := s.typeName(d.TypeName)
		if err != nil {
			return nil, err
		}
		if p := pgcatalog.TypeByOID(t); p != nil && p.Kind == 'p' {
			return nil, s.errorf(d.Location, pgerr.InvalidTableDefinition, "column %q has pseudo-type %s", d.Colname,
				s.ctx.name(t))
		}
		for _, o := range out {
			if o.Name == d.Colname {
				return nil, s.errorf(d.Location, pgerr.DuplicateColumn, "column name %q specified more than once",
					d.Colname)
			}
		}
		out = append(out, query.Column{Name: d.Colname, Type: t, Typmod: mod})
	}
	return out, nil
}
