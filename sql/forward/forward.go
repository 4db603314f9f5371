package forward

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// SchemaName is the schema of the tables of forwarding entries. Only the system can use such a
// name, and tools leave the schema out of dumps.
const SchemaName = "pg_forwarding"

// Analyze analyses the text of a SELECT with parameters of the listed types. It uses the
// definitions against which the query was analysed.
type Analyze func(text string, params ...types.OID) (*query.Query, error)

// Statement changes q so that old ids of collections lead to their documents. Only the caller may
// hold q. If q compares no ids of such a collection, it stays as it is.
func Statement(view *catalog.View, database catalog.OID, q *query.Query, analyze Analyze) error {
	if view == nil || view.SchemaByName(database, SchemaName) == nil {
		return nil
	}
	p := &pass{view: view, analyze: analyze, seen: map[*query.Query]bool{}, done: map[query.Expr]query.Expr{}}
	p.query(q)
	return p.err
}

// Key returns the position of the column that names documents, or -1 if that is not one column.
func Key(t *catalog.Table) int {
	pk := t.PrimaryKey()
	if pk == nil || len(pk.Columns) != 1 {
		return -1
	}
	for i := range t.Columns {
		if t.Columns[i].AttNum == pk.Columns[0] {
			return i
		}
	}
	return -1
}

// pass is one walk through a query.
type pass struct {
	view    *catalog.View
	analyze Analyze
	stack   []*frame
	cases   []query.Expr     // operands of CASE, for which an Element stands
	subs    []*query.SubLink // the subqueries for whose columns a SubColumn stands
	seen    map[*query.Query]bool
	// An expression that is used at several places stays the same at all of them.
	done map[query.Expr]query.Expr
	err  error
}

// frame is a query that surrounds the current expression.
type frame struct {
	q *query.Query
	// The current expression is evaluated over the rows of its FROM alone, so that a join may be
	// added.
	opens bool
	joins []*join
}

// join joins an item of FROM with forwarding entries.
type join struct {
	table  catalog.OID
	rel    int // the item
	of     query.Expr
	entry  int // the position of the entries in Rels
	on     query.Expr
	result query.Expr
}

func (p *pass) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// query changes a query and all queries within it.
func (p *pass) query(q *query.Query) {
	if q == nil || p.seen[q] || p.err != nil {
		return
	}
	p.seen[q] = true
	f := &frame{q: q}
	p.stack = append(p.stack, f)
	for _, c := range q.CTEs {
		p.query(c.Query)
	}
	for _, r := range q.Rels {
		p.query(r.Subquery)
		for i := range r.Functions {
			r.Functions[i].Call = p.expr(r.Functions[i].Call)
		}
		for i := range r.JoinVars {
			r.JoinVars[i] = p.expr(r.JoinVars[i])
		}
		p.list(r.Security)
	}
	if q.SetOp != nil {
		p.query(q.SetOp.Left)
		p.query(q.SetOp.Right)
		p.setOp(q)
	}
	p.query(q.Source)
	p.conflict(q)
	f.opens = true
	q.Where = p.expr(q.Where)
	for _, it := range q.From {
		p.from(it)
	}
	f.opens = false
	p.clauses(q)
	f.wrap()
	p.stack = p.stack[:len(p.stack)-1]
}

func (p *pass) from(it query.From) {
	if j, ok := it.(*query.FromJoin); ok {
		p.from(j.Left)
		p.from(j.Right)
		j.On = p.expr(j.On)
	}
}

func (p *pass) clauses(q *query.Query) {
	for i := range q.Targets {
		q.Targets[i].Expr = p.expr(q.Targets[i].Expr)
	}
	q.Having, q.Limit, q.Offset, q.WithTies = p.expr(q.Having), p.expr(q.Limit), p.expr(q.Offset), p.expr(q.WithTies)
	p.list(q.GroupBy)
	for i := range q.Windows {
		w := &q.Windows[i]
		w.Frame.Start, w.Frame.End = p.expr(w.Frame.Start), p.expr(w.Frame.End)
		p.list(w.Partition)
		for k := range w.Order {
			w.Order[k].Expr = p.expr(w.Order[k].Expr)
		}
	}
	for _, row := range q.Values {
		p.list(row)
	}
	for i := range q.Assign {
		q.Assign[i].Expr = p.expr(q.Assign[i].Expr)
	}
	for i := range q.Checks {
		if q.Checks[i].Row != query.NoRowCheck { // all others are shared with other statements
			q.Checks[i].Expr = p.expr(q.Checks[i].Expr)
		}
	}
	if oc := q.OnConflict; oc != nil {
		for i := range oc.Assign {
			oc.Assign[i].Expr = p.expr(oc.Assign[i].Expr)
		}
		oc.Where = p.expr(oc.Where)
	}
	for i := range q.Merge {
		m := &q.Merge[i]
		m.Cond = p.expr(m.Cond)
		for k := range m.Assign {
			m.Assign[k].Expr = p.expr(m.Assign[k].Expr)
		}
	}
}

func (p *pass) list(es []query.Expr) {
	for i := range es {
		es[i] = p.expr(es[i])
	}
}

// expr returns an expression in which all comparisons of ids are changed.
func (p *pass) expr(e query.Expr) query.Expr {
	if e == nil || p.err != nil {
		return e
	}
	if r, ok := p.done[e]; ok {
		return r
	}
	switch n := e.(type) {
	case *query.SubLink:
		p.query(n.Query)
		p.subs = append(p.subs, n)
		defer func() { p.subs = p.subs[:len(p.subs)-1] }()
	case *query.Case:
		if n.Arg != nil {
			p.cases = append(p.cases, n.Arg)
			defer func() { p.cases = p.cases[:len(p.cases)-1] }()
		}
	}
	out := p.compared(query.MapInputs(e, p.expr))
	p.done[e] = out
	return out
}

// compared changes the comparison of an expression whose inputs are done, and returns the
// expression.
func (p *pass) compared(e query.Expr) query.Expr {
	switch n := e.(type) {
	case *query.Call:
		if len(n.Args) == 2 && (n.Op == "=" || n.Op == "<>") {
			n.Args[0], n.Args[1] = p.pair(n.Args[0], n.Args[1])
		}
	case *query.Distinct:
		n.Left, n.Right = p.pair(n.Left, n.Right)
	case *query.NullIf:
		n.Left, n.Right = p.pair(n.Left, n.Right)
	case *query.ArrayOp:
		if n.Op == "=" || n.Op == "<>" {
			p.elements(n)
		}
	case *query.SubLink:
		n.Left = leftOf(n)
	}
	return e
}

// leftOf returns the left-hand sides of a subquery's test, as analysis does.
func leftOf(n *query.SubLink) []query.Expr {
	var calls []query.Expr
	switch t := n.Test.(type) {
	case *query.Call:
		calls = []query.Expr{t}
	case *query.And:
		calls = t.Args
	case *query.Or:
		calls = t.Args
	}
	var out []query.Expr
	for _, c := range calls {
		if call, ok := c.(*query.Call); ok && len(call.Args) == 2 {
			out = append(out, call.Args[0])
		}
	}
	if len(out) != len(n.Left) {
		return n.Left
	}
	return out
}

// pair returns the two sides of a comparison by equality. If one side may be an id, it returns the
// other with former ids replaced by present ones.
func (p *pass) pair(l, r query.Expr) (query.Expr, query.Expr) {
	inL, inR := p.ids(l), p.ids(r)
	all := p.together(inL, inR)
	for _, t := range all {
		if inL.needs(t) {
			l = p.forwarded(t, l)
		}
		if inR.needs(t) {
			r = p.forwarded(t, r)
		}
	}
	return l, r
}

// together returns the collections whose ids one of two sides may be.
func (p *pass) together(l, r content) tables {
	if len(l.ids.without(r.ids)) > 0 && len(r.ids.without(l.ids)) > 0 {
		p.fail(unsupported("ids of %s cannot be compared with ids of %s", quoted(l.ids), quoted(r.ids)))
		return nil
	}
	return l.ids.and(r.ids)
}

// elements does the same as pair for = ANY and <> ALL of an array.
func (p *pass) elements(n *query.ArrayOp) {
	inL, inR := p.ids(n.Left), p.elementIDs(n.Array)
	for _, t := range p.together(inL, inR) {
		if inL.needs(t) {
			n.Left = p.forwarded(t, n.Left)
		}
		if list, ok := n.Array.(*query.Array); ok && len(inR.ids) > 0 {
			for i, x := range list.Elems {
				if p.ids(x).needs(t) {
					list.Elems[i] = p.forwarded(t, x)
				}
			}
		} else if inR.needs(t) {
			n.Array = p.forwardedArray(t, n.Array)
		}
	}
}

// setOp refuses INTERSECT and EXCEPT of ids with values that may be old ids.
func (p *pass) setOp(q *query.Query) {
	if q.SetOp.Kind == query.Union {
		return
	}
	for i := range q.SetOp.Left.Targets {
		l, r := p.outputIDs(q.SetOp.Left, i, p.stack), p.outputIDs(q.SetOp.Right, i, p.stack)
		all := l.ids.and(r.ids)
		if len(all) > 0 && (l.others || r.others || len(l.ids) != len(all) || len(r.ids) != len(all)) {
			p.fail(unsupported("INTERSECT and EXCEPT of ids of %s with other values", quoted(all)).
				WithHint("Write it with EXISTS or NOT EXISTS, which finds documents by their former ids too; " +
					"or end these with sherd.drop_forwarding."))
			return
		}
	}
}

// conflict makes ON CONFLICT look for the id that a document has now.
func (p *pass) conflict(q *query.Query) {
	if q.Command != query.Insert || q.OnConflict == nil {
		return
	}
	t := q.Rels[q.Result].Table
	if t == nil || t.Forwarding == 0 {
		return
	}
	key := Key(t)
	for i := range q.Assign {
		a := &q.Assign[i]
		if a.Col != key || p.err != nil {
			continue
		}
		if v, ok := bare(a.Expr).(*query.Var); ok && q.Source != nil && v.Rel == q.SourceRel && v.Up == 0 {
			p.wrapColumn(q.Source, v.Col, t)
		} else if _, ok := a.Expr.(*query.Default); !ok {
			a.Expr = p.sublink(t, a.Expr)
		}
	}
}

func unsupported(format string, args ...any) *pgerr.Error {
	return pgerr.Unsupported(format+" while documents have former ids", args...).
		WithHint("Name the documents by their present ids in a query of its own, " +
			"or end their former ids with sherd.drop_forwarding.")
}
