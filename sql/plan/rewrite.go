package plan

import (
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// rewrite replaces columns by slots and outer parameters, subqueries by SubPlans, and folds what is
// constant.
func (p *planner) rewrite(l *level, e query.Expr, in *layout) (query.Expr, error) {
	if e == nil {
		return nil, nil
	}
	var failed error
	out := query.Rewrite(e, func(x query.Expr) (query.Expr, bool) {
		if failed != nil {
			return x, true
		}
		r, done, err := p.rewriteNode(l, x, in)
		if err != nil {
			failed = err
		}
		return r, done
	})
	if failed != nil {
		return nil, failed
	}
	return p.fold(out), nil
}

func (p *planner) rewriteNode(l *level, x query.Expr, in *layout) (query.Expr, bool, error) {
	for _, pl := range in.exprs {
		if query.Equal(x, pl.expr) {
			s := slot(pl.slot, pl.col)
			if _, column := x.(*query.Var); !column {
				s.Of = pl.expr
			}
			return s, true, nil
		}
	}
	switch n := x.(type) {
	case *query.Var:
		r, err := p.column(l, n, in)
		return r, true, err
	case *query.SubLink:
		r, err := p.subPlan(l, n, in)
		return r, true, err
	case *query.Agg:
		if n.Up > 0 {
			return nil, true, pgerr.Unsupported("aggregates of an outer query are not supported yet").
				WithHint("Compute the aggregate in a subquery of its own and join it.")
		}
		return nil, true, pgerr.New(pgerr.GroupingError, "aggregate functions are not allowed here")
	case *query.Grouping:
		for _, g := range in.grouping {
			if query.Equal(g.call, n) {
				return g.expr, true, nil
			}
		}
		return &query.Const{T: n.T, Value: types.NewInt(0)}, true, nil
	case *query.Slot, *query.Outer, *SubPlan, *query.Pick:
		return x, true, nil
	}
	return nil, false, nil
}

func (p *planner) column(l *level, v *query.Var, in *layout) (query.Expr, error) {
	if v.Up > 0 {
		return p.outer(l, v)
	}
	if n, ok := in.slots[varKey{v.Rel, v.Col}]; ok {
		s := &query.Slot{T: v.T, N: n, Name: v.Name}
		if v.Rel >= 0 && severalRels(l.q) {
			s.Rel = l.q.Rels[v.Rel].Alias
		}
		return s, nil
	}
	if v.Rel >= 0 && v.Rel < len(l.q.Rels) {
		rel := l.q.Rels[v.Rel]
		if v.Col == query.ColWholeRow {
			return p.wholeRow(l, v, in)
		}
		if rel.Kind == query.RelJoin {
			return p.rewrite(l, rel.JoinVars[v.Col], in)
		}
		if l.q.Command != query.Select && v.Rel == l.q.Result && v.Col < 0 {
			return writtenSystemColumn(v, rel)
		}
	}
	if in.collects {
		return p.sibling(l, v, in), nil
	}
	return nil, pgerr.New(pgerr.InternalError, "column %q is not in the input of this step", v.Name)
}

// severalRels reports whether a query reads more than one table, so that EXPLAIN says which one a
// column is of.
func severalRels(q *query.Query) bool {
	n := 0
	for _, r := range q.Rels {
		if r.Kind != query.RelJoin {
			n++
		}
	}
	return n > 1
}

// writtenSystemColumn is a system column of a row that the statement writes.
func writtenSystemColumn(v *query.Var, rel *query.Rel) (query.Expr, error) {
	switch v.Col {
	case query.ColTableOID:
		return &query.Const{T: v.T, Value: types.NewOid(rel.Table.OID)}, nil
	case query.ColXmin:
		return &query.Const{T: v.T, Value: types.NewOid(query.FrozenXid)}, nil
	}
	return nil, pgerr.Unsupported("%s of a row that is being inserted is not supported", v.Name).
		WithHint("Name the row by its primary key.")
}

// sibling makes v, a column of an earlier FROM item, an outer parameter that the join above will
// bind.
func (p *planner) sibling(l *level, v *query.Var, in *layout) query.Expr {
	for _, b := range in.lateral {
		if b.v.Rel == v.Rel && b.v.Col == v.Col {
			return p.outerColumn(l, b)
		}
	}
	own := *v
	b := binding{p.outers, &own}
	in.lateral = append(in.lateral, b)
	p.outers++
	return p.outerColumn(l, b)
}

func (p *planner) wholeRow(l *level, v *query.Var, in *layout) (query.Expr, error) {
	row := &query.Row{T: v.T}
	for i, c := range l.q.Rels[v.Rel].Columns {
		if c.Dropped {
			continue
		}
		f, err := p.column(l, &query.Var{T: query.T{OID: c.Type, Mod: c.Typmod}, Rel: v.Rel, Col: i, Name: c.Name}, in)
		if err != nil {
			return nil, err
		}
		row.Fields, row.Names = append(row.Fields, f), append(row.Names, c.Name)
	}
	return row, nil
}

// fold replaces what has only constants below it and is immutable by its value. What fails stays,
// to fail when it is reached, unless PostgreSQL would find it while it plans: see constants.
func (p *planner) fold(e query.Expr) query.Expr {
	switch e.(type) {
	case nil, *query.Const, *query.Param, *query.Slot, *query.Outer, *SubPlan, *query.Pick, *query.Element,
		*query.SubColumn, *query.SQLValue:
		return e
	}
	constant := true
	e = query.MapInputs(e, func(x query.Expr) query.Expr {
		x = p.fold(x)
		if _, ok := x.(*query.Const); !ok {
			constant = false
		}
		return x
	})
	if nullByArguments(e) {
		return &query.Const{T: query.T{OID: e.Type(), Mod: e.Typmod()}, Value: types.Null}
	}
	if !constant || p.env.Fold == nil || !foldable(e) {
		return simplify(e)
	}
	v, err := p.env.Fold(e)
	if err != nil {
		p.failed = true
		return e
	}
	return &query.Const{T: query.T{OID: e.Type(), Mod: e.Typmod()}, Value: v}
}

// nullByArguments reports whether e is null because a constant argument is, so that its other
// arguments are never evaluated: a strict function, be it volatile or not, or a cast through the
// text form.
func nullByArguments(e query.Expr) bool {
	switch n := e.(type) {
	case *query.Call:
		if !n.Proc.Strict || n.Proc.RetSet {
			return false
		}
		needed := n.Args[:max(0, len(n.Args)-n.Proc.Options)]
		return slices.ContainsFunc(needed, isNullConst) && !slices.ContainsFunc(n.Args, failed)
	case *query.CoerceIO:
		return isNullConst(n.Arg)
	}
	return false
}

// failed reports whether e was to be folded and is not: its value is an error, which the statement
// must meet.
func failed(e query.Expr) bool {
	if _, ok := e.(*query.Const); ok {
		return false
	}
	return !query.Contains(e, func(x query.Expr) bool {
		switch x.(type) {
		case *query.Param, *query.Slot, *query.Outer, *SubPlan, *query.Pick, *query.Element,
			*query.SubColumn, *query.SQLValue:
			return true
		}
		return !foldable(x)
	})
}

func isNullConst(e query.Expr) bool {
	c, ok := e.(*query.Const)
	return ok && c.Value.IsNull()
}

func foldable(e query.Expr) bool {
	switch n := e.(type) {
	case *query.Call:
		return n.Proc.Volatility == 'i' && !n.Proc.RetSet
	case *query.CoerceIO:
		return stableText(n.Arg.Type()) && stableText(n.Type())
	case *query.Agg, *query.WindowCall, *query.Grouping, *query.Default, *query.Var:
		return false
	}
	return true
}

// stableText reports whether the text form of a type depends on no setting.
func stableText(oid uint32) bool {
	t := pgcatalog.TypeByOID(oid)
	return t != nil && t.Category != 'D' && t.Category != 'T' && t.Category != 'A' &&
		t.Kind == 'b' && t.Name != "regclass"
}

// simplify drops constant members of AND and OR, and what constants decide of COALESCE and CASE.
func simplify(e query.Expr) query.Expr {
	switch n := e.(type) {
	case *query.Coalesce:
		return simplifyCoalesce(n)
	case *query.Case:
		return simplifyCase(n)
	case *query.Call:
		return simplifyBool(n)
	case *query.And:
		return simplifyLogic(n.Args, true, e, func(a []query.Expr) query.Expr { return &query.And{Args: a} })
	case *query.Or:
		return simplifyLogic(n.Args, false, e, func(a []query.Expr) query.Expr { return &query.Or{Args: a} })
	}
	return e
}

// simplifyBool returns what a comparison of a boolean with a constant is without it.
func simplifyBool(n *query.Call) query.Expr {
	if n.Proc.Src != "booleq" && n.Proc.Src != "boolne" {
		return n
	}
	for i, a := range n.Args {
		c, ok := a.(*query.Const)
		if !ok || c.Value.IsNull() {
			continue
		}
		if c.Value.Bool() == (n.Proc.Src == "booleq") {
			return n.Args[1-i]
		}
		return &query.Not{Arg: n.Args[1-i]}
	}
	return n
}

// simplifyCoalesce drops arguments that are null, and those behind one that is not.
func simplifyCoalesce(n *query.Coalesce) query.Expr {
	var keep []query.Expr
	for _, a := range n.Args {
		c, ok := a.(*query.Const)
		if ok && c.Value.IsNull() {
			continue
		}
		if keep = append(keep, a); ok {
			break
		}
	}
	switch {
	case len(keep) == 0:
		return &query.Const{T: n.T, Value: types.Null}
	case len(keep) == len(n.Args):
		return n
	}
	if c, ok := keep[0].(*query.Const); ok {
		return &query.Const{T: n.T, Value: c.Value}
	}
	return &query.Coalesce{T: n.T, Args: keep}
}

// simplifyCase drops the branches that are never taken, and those behind one that always is.
func simplifyCase(n *query.Case) query.Expr {
	if n.Arg != nil {
		return n
	}
	out := &query.Case{T: n.T, Else: n.Else}
	for _, w := range n.Whens {
		if isNever(w.Cond) {
			continue
		}
		if isTrue(w.Cond) {
			out.Else = w.Result
			break
		}
		out.Whens = append(out.Whens, w)
	}
	if len(out.Whens) == len(n.Whens) {
		return n
	}
	if len(out.Whens) > 0 {
		return out
	}
	switch e := out.Else.(type) {
	case nil:
		return &query.Const{T: n.T, Value: types.Null}
	case *query.Const:
		return &query.Const{T: n.T, Value: e.Value}
	default:
		return e
	}
}

func simplifyLogic(args []query.Expr, neutral bool, whole query.Expr, make func([]query.Expr) query.Expr) query.Expr {
	var keep []query.Expr
	for _, a := range args {
		if c, ok := a.(*query.Const); ok && !c.Value.IsNull() {
			if c.Value.Bool() == neutral {
				continue
			}
			return a
		}
		keep = append(keep, a)
	}
	switch len(keep) {
	case len(args):
		return whole
	case 0:
		return boolConst(neutral)
	case 1:
		return keep[0]
	}
	return make(keep)
}

// withRow adds the row of entry n as a value of its own where a join above may fill the entry with
// nulls: then the row is null, which a row made of its columns would not be.
func (p *planner) withRow(l *level, n int, cur part) (part, error) {
	if !l.need[varKey{n, query.ColWholeRow}] || !nullable(l.q.From, n) {
		return cur, nil
	}
	v := l.wholeRowVar(n)
	row, err := p.wholeRow(l, v, cur.in)
	if err != nil {
		return part{}, err
	}
	cols := cur.node.Output()
	proj := &Project{Child: cur.node}
	for i, c := range cols {
		proj.Exprs = append(proj.Exprs, slot(i, c))
	}
	proj.Exprs = append(proj.Exprs, row)
	proj.Cols = append(cols[:len(cols):len(cols)], Col{l.q.Rels[n].Alias, v.Type(), v.Typmod()})
	cur.node = proj
	cur.in.slots[varKey{n, query.ColWholeRow}] = len(cols)
	return cur, nil
}

// wholeRowVar finds a reference to the row of entry n, for its type.
func (l *level) wholeRowVar(n int) *query.Var {
	var out *query.Var
	query.WalkQuery(l.q, func(e query.Expr, depth int) {
		if v, ok := e.(*query.Var); ok && v.Up == depth && v.Rel == n && v.Col == query.ColWholeRow {
			own := *v
			own.Up = 0
			out = &own
		}
	})
	return out
}

// nullable reports whether entry n stands on a side of an outer join that may be filled with nulls.
func nullable(items []query.From, n int) bool {
	for _, it := range items {
		j, ok := it.(*query.FromJoin)
		if !ok {
			continue
		}
		left, right := fromRels(j.Left)[n], fromRels(j.Right)[n]
		if left && (j.Kind == query.Right || j.Kind == query.Full) ||
			right && (j.Kind == query.Left || j.Kind == query.Full) {
			return true
		}
		if nullable([]query.From{j.Left, j.Right}, n) {
			return true
		}
	}
	return false
}
