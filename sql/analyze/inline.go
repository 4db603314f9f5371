package analyze

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Functions in SQL are inlined where that does not change results (inline_function and
// inline_set_returning_function): what the planner sees of them are expressions and subqueries,
// which run in fragments. Context.Bodies is set if a query is planned, and not deparsed.

// inlined returns the body of a call that can be inlined as an expression, or the call itself.
func inlined(s *scope, c *query.Call) (query.Expr, error) {
	f := inlinable(s, c.Proc)
	if f == nil || f.Set || c.Type() == types.Record || c.Type() == types.Void {
		return c, nil
	}
	b, err := bodyOf(s, f, c)
	if err != nil {
		return nil, inlineError(f, err)
	}
	if b == nil {
		return c, nil
	}
	if err := b.result([]query.Column{{Type: c.Type(), Typmod: -1}}); err != nil {
		return nil, inlineError(f, err)
	}
	e := b.expression(s)
	if e == nil {
		return c, nil
	}
	s.lastInlined = c
	return e, nil
}

// inlinable returns the definition of a function that may be inlined, nil if it may not.
func inlinable(s *scope, p *query.Proc) *catalog.Function {
	if p.Language != function.SQL || s.ctx.Bodies == nil {
		return nil
	}
	f := catalog.FunctionByOID(s.ctx.Catalog, p.OID)
	if f == nil || !forAll(f) || f.Kind != 'f' || p.Variadic == types.Any || f.SecurityDefiner || len(f.Settings) > 0 ||
		slices.Contains(s.inlining, f.OID) {
		return nil
	}
	return f
}

// forAll reports whether all roles may call a function. The calls of other functions stay in queries,
// so that they are checked.
func forAll(f *catalog.Function) bool {
	return f.ACL == nil || slices.ContainsFunc(f.ACL, func(x acl.Item) bool {
		return x.Grantee == acl.Public && x.Mode&acl.Execute != 0
	})
}

// Planned makes the functions in expressions that a context analyzes be inlined. Their texts are
// analyzed as a new session would.
func Planned(ctx *Context) *Context {
	ctx.Bodies = &Context{Catalog: ctx.Catalog, Database: ctx.Database, SearchPath: []string{"public"}}
	ctx.Bodies.Bodies = ctx.Bodies
	return ctx
}

// body is the query of a function that is being inlined.
type body struct {
	of   *catalog.Function
	q    *query.Query
	args []query.Expr
	uses []int // of each argument
	st   *state
}

// bodyOf analyzes the body of a function for a call; it returns nil if it is not one SELECT.
func bodyOf(s *scope, f *catalog.Function, c *query.Call) (*body, error) {
	text, ctx := f.Source, *s.ctx.Bodies
	if len(f.Body) > 0 {
		if len(f.Body) > 1 {
			return nil, nil
		}
		text, ctx = f.Body[0], *storedContext(s.ctx.Bodies)
		ctx.Bodies = s.ctx.Bodies
	}
	stmts, err := parse.Parse(text)
	if err != nil || len(stmts) != 1 || !parse.IsQuery(stmts[0].Node) || stmts[0].Node.GetSelectStmt() == nil {
		return nil, inside(err, text)
	}
	ctx.Source, ctx.NoParams, ctx.Names = text, false, ArgumentsOf(f, query.TypesOf(c.Args))
	st := &state{ctx: &ctx, text: parse.Positions{Text: text}, locs: locations{}, views: s.views, depth: s.depth,
		inlining: append(slices.Clip(s.inlining), f.OID)}
	inner := &scope{state: st, q: &query.Query{}}
	if err := inner.statement(stmts[0].Node); err != nil {
		return nil, inside(err, text)
	}
	s.depth = max(s.depth, st.depth)
	b := &body{of: f, q: inner.q, args: c.Args, uses: make([]int, len(c.Args)), st: st}
	query.WalkQuery(b.q, func(e query.Expr, _ int) {
		if p, ok := e.(*query.Param); ok && p.N > 0 && p.N <= len(b.uses) {
			b.uses[p.N-1]++
		}
	})
	return b, nil
}

// result coerces the columns of the body to those of the result (check_sql_fn_retval).
func (b *body) result(columns []query.Column) error {
	q, err := Returned(b.st.ctx, b.of, b.q, columns)
	if err == nil {
		b.q = q
	}
	return err
}

// expression returns the body as an expression of the level of the call, nil if it cannot be one.
func (b *body) expression(s *scope) query.Expr {
	whole := volatileQuery(b.q)
	if b.of.Volatility == 'i' && whole != 'i' || b.of.Volatility == 's' && whole == 'v' {
		return nil
	}
	plain := isOneValue(b.q)
	guard := b.of.Strict && !(plain && strict(b.q.Targets[0].Expr) && !slices.Contains(b.uses, 0))
	if !plain && (b.of.Volatility == 'v' || whole == 'v' || !subqueriesAllowed(s)) {
		return nil
	}
	for i, a := range b.args {
		n := b.uses[i]
		if guard {
			n++
		}
		if (n > 1 || !plain) && !repeatable(a) || n == 0 && returnsSet(a) {
			return nil
		}
	}
	if plain {
		return b.guarded(guard, b.substituted(0).Targets[0].Expr)
	}
	body := b.substituted(1)
	body.Inlined = true
	q := firstRow(body)
	return b.guarded(guard, &query.SubLink{T: query.Of(q.Targets[0].Expr.Type()), Kind: query.SubScalar, Query: q})
}

// guarded makes an expression null if an argument is null.
func (b *body) guarded(guard bool, e query.Expr) query.Expr {
	if !guard || len(b.args) == 0 {
		return e
	}
	var tests []query.Expr
	for _, a := range b.args {
		tests = append(tests, &query.NullTest{T: query.Of(types.Bool), Arg: a})
	}
	cond := tests[0]
	if len(tests) > 1 {
		cond = &query.Or{Args: tests}
	}
	return &query.Case{T: query.T{OID: e.Type(), Mod: e.Typmod()},
		Whens: []query.When{{Cond: cond, Result: &query.Const{T: query.T{OID: e.Type(), Mod: e.Typmod()}}}}, Else: e}
}

// substituted returns the query with the arguments instead of its parameters. up is the number of
// levels between the call and the query.
func (b *body) substituted(up int) *query.Query {
	return query.RewriteAll(b.q, func(e query.Expr, depth int) (query.Expr, bool) {
		p, ok := e.(*query.Param)
		if !ok || p.N < 1 || p.N > len(b.args) {
			return nil, false
		}
		return raise(b.args[p.N-1], depth+up), true
	})
}

// isOneValue reports whether a query is one expression without anything else.
func isOneValue(q *query.Query) bool {
	return q.Command == query.Select && len(q.Rels) == 0 && len(q.CTEs) == 0 && q.Where == nil &&
		len(q.Targets) == 1 && !q.HasAggs && !q.HasSRFs && !q.HasWindow && len(q.GroupBy) == 0 &&
		q.GroupingSets == nil && q.Having == nil && len(q.OrderBy) == 0 && q.Limit == nil && q.Offset == nil &&
		q.SetOp == nil && q.Values == nil && !query.Contains(q.Targets[0].Expr, isSubLink)
}

// firstRow returns a query that returns the first row of q only.
func firstRow(q *query.Query) *query.Query {
	if q.HasAggs && len(q.GroupBy) == 0 && q.GroupingSets == nil && q.SetOp == nil && !q.HasSRFs {
		return q
	}
	one := &query.Const{T: query.Of(types.Int8), Value: types.NewInt(1)}
	if q.Limit == nil && len(q.Locking) == 0 {
		q.Limit = one
		return q
	}
	out := around(q)
	out.Limit = one
	return out
}

// around returns a query that selects all columns of another one.
func around(q *query.Query) *query.Query {
	rel := &query.Rel{Kind: query.RelSubquery, Alias: "unnamed", Subquery: q, Columns: targetColumns(q)}
	out := &query.Query{Rels: []*query.Rel{rel}, From: []query.From{&query.FromRel{}}}
	for i, c := range rel.Columns {
		v := &query.Var{T: query.T{OID: c.Type, Mod: c.Typmod}, Col: i, Name: c.Name}
		out.Targets = append(out.Targets, query.Target{Expr: v, Name: c.Name})
	}
	return out
}

// subqueriesAllowed reports whether the place of an expression allows a subquery.
func subqueriesAllowed(s *scope) bool {
	switch s.place {
	case inCheck, inDefault, inGenerated, inIndexKey, inIndexPredicate, inStatistics, inTransform, inParameterDefault,
		inTriggerWhen:
		return false
	}
	return true
}

// maxRepeatedCalls is how many functions an argument may call that is evaluated more than once.
const maxRepeatedCalls = 10

// repeatable reports whether an argument may be evaluated more than once.
func repeatable(e query.Expr) bool {
	calls := 0
	dear := query.Contains(e, func(x query.Expr) bool {
		switch n := x.(type) {
		case *query.SubLink:
			return true
		case *query.Call:
			calls++
			return n.Proc.Volatility == 'v' || n.Proc.Language != "" || n.Proc.RetSet
		case *query.Agg, *query.WindowCall:
			calls++
		}
		return false
	})
	return !dear && calls <= maxRepeatedCalls
}

// strict reports whether an expression is null if any variable in it is null
// (contain_nonstrict_functions).
func strict(e query.Expr) bool {
	return !query.Contains(e, func(x query.Expr) bool {
		switch n := x.(type) {
		case *query.Call:
			return !n.Proc.Strict || n.Proc.Options > 0
		case *query.ArrayOp:
			return !n.Proc.Strict
		case *query.Const, *query.Param, *query.Var, *query.Relabel, *query.CoerceIO, *query.Not, *query.Element,
			*query.ArrayCoerce, *query.RowCoerce:
			return false
		case *query.Subscript:
			return n.Assign != nil
		case *query.Field:
			return false
		}
		return true
	})
}

// volatileQuery returns the highest volatility of the functions in a query.
func volatileQuery(q *query.Query) byte {
	worst := byte('i')
	query.WalkQuery(q, func(e query.Expr, _ int) {
		switch n := e.(type) {
		case *query.Call, *query.ArrayOp, *query.SQLValue, *query.CoerceIO:
			worst = max(worst, volatility(shallow(n), nil))
		}
	})
	eachLevel(q, func(l *query.Query) {
		for _, r := range l.Rels {
			if r.Kind == query.RelTable || r.Kind == query.RelSystem {
				worst = max(worst, 's')
			}
		}
		if len(l.Locking) > 0 || l.Command != query.Select {
			worst = 'v'
		}
	})
	return worst
}

// shallow returns an expression without its inputs.
func shallow(e query.Expr) query.Expr {
	return query.MapInputs(e, func(x query.Expr) query.Expr { return &query.Const{T: query.T{OID: x.Type(), Mod: -1}} })
}

// inlineSet makes a subquery of a set-returning function in FROM.
func inlineSet(s *scope, rel *query.Rel) error {
	if s.ctx.Bodies == nil || len(rel.Functions) != 1 || rel.Ordinality {
		return nil
	}
	item := rel.Functions[0]
	c, ok := item.Call.(*query.Call)
	if !ok || !c.Proc.RetSet || c.Type() == types.Void {
		return nil
	}
	f := inlinable(s, c.Proc)
	if f == nil || f.Volatility == 'v' || f.Strict {
		return nil
	}
	for _, a := range c.Args {
		if !repeatable(a) {
			return nil
		}
	}
	b, err := bodyOf(s, f, c)
	if err != nil {
		return inlineError(f, err)
	}
	if b == nil {
		return nil
	}
	if err := b.result(item.Columns); err != nil {
		return inlineError(f, err)
	}
	if volatileQuery(b.q) == 'v' {
		return nil
	}
	q := b.substituted(1)
	q.Inlined = true
	for i := range visible(q) {
		q.Targets[i].OriginTable, q.Targets[i].OriginCol = 0, 0
	}
	rel.Kind, rel.Subquery, rel.Functions = query.RelSubquery, q, nil
	return nil
}

// inside moves the position of an error to the text of the function.
func inside(err error, text string) error {
	if err == nil {
		return nil
	}
	return pgerr.Within(err, text)
}

func inlineError(f *catalog.Function, err error) error {
	return pgerr.InContext(err, `SQL function "`+f.Name+`" during inlining`)
}

// arguments are the names and numbers of the arguments of a function in SQL.
type arguments struct {
	function string
	names    []string
	types    []types.OID
}

// ArgumentsOf returns the arguments of a function in SQL as statements of its body name them. actual
// are the types of the arguments of a call; nil: those of the definition.
func ArgumentsOf(f *catalog.Function, actual []types.OID) function.Names {
	out := arguments{function: f.Name}
	for i := range f.Arguments {
		a := &f.Arguments[i]
		if !a.IsInput() {
			continue
		}
		t := a.Type
		if n := len(out.types); n < len(actual) && (isPolymorphic(t) || t == types.Any) {
			t = actual[n]
		}
		out.names, out.types = append(out.names, a.Name), append(out.types, t)
	}
	return out
}

// Find is function.Names: name, or function.name.
func (a arguments) Find(parts []string) (function.Variable, bool) {
	if len(parts) == 2 && parts[0] == a.function {
		parts = parts[1:]
	}
	if len(parts) != 1 || parts[0] == "" {
		return function.Variable{}, false
	}
	return a.Numbered(slices.Index(a.names, parts[0]) + 1)
}

// Numbered is function.Names.
func (a arguments) Numbered(n int) (function.Variable, bool) {
	if n < 1 || n > len(a.types) {
		return function.Variable{}, false
	}
	return function.Variable{N: n, Type: a.types[n-1], Typmod: -1}, true
}

// Conflict is function.Names.
func (a arguments) Conflict() function.Conflict { return function.PreferColumn }

// Returned returns a query whose columns are those that a function returns, with their types
// (check_sql_fn_retval). Nil columns are of a function that returns void.
func Returned(ctx *Context, f *catalog.Function, q *query.Query, columns []query.Column) (*query.Query, error) {
	list := visible(q)
	composite := types.IsComposite(f.Result)
	asValue := composite && len(columns) == 1 && columns[0].Type == f.Result
	if asValue {
		one := types.OID(0)
		if len(list) == 1 {
			one = list[0].Expr.Type()
		}
		if one != f.Result && one != types.Record { // the columns are the attributes
			q, err := returned(ctx, f, q, columnsOfType(ctx, f.Result), true)
			if err != nil {
				return nil, err
			}
			return asRow(q, f.Result, columnsOfType(ctx, f.Result)), nil
		}
	}
	row := f.Result == types.Record && (f.ResultRelation != 0 || len(columns) > 0) || composite && !asValue
	return returned(ctx, f, q, columns, row)
}

// asRow returns a query with one row of a composite type instead of its columns, which are the
// attributes.
func asRow(q *query.Query, oid types.OID, attributes []query.Column) *query.Query {
	simple := q.SetOp == nil && q.Values == nil && !q.Distinct && len(q.OrderBy) == 0 && !q.HasSRFs &&
		len(visible(q)) == len(q.Targets)
	out := q
	if simple || q.Command != query.Select {
		own := *q
		out = &own
	} else {
		out = around(q)
	}
	row := &query.Row{T: query.Of(oid)}
	for i, t := range visible(out) {
		row.Fields, row.Names = append(row.Fields, t.Expr), append(row.Names, attributes[i].Name)
	}
	out.Targets = []query.Target{{Expr: row, Name: "row"}}
	return out
}

func returned(ctx *Context, f *catalog.Function, q *query.Query, columns []query.Column,
	row bool) (*query.Query, error) {
	refuse := func(detail string, args ...any) error {
		return pgerr.New(pgerr.InvalidFunctionDefinition, "return type mismatch in function declared to return %s",
			ctx.returnName(f)).WithDetail(detail, args...)
	}
	s := &scope{state: &state{ctx: ctx, locs: locations{}, noParams: true}, q: q}
	list := visible(q)
	whole := len(list) == 1 && types.IsComposite(f.Result) && list[0].Expr.Type() == f.Result
	if row && len(list) == 1 && (len(columns) != 1 || whole) {
		wide := spreadRow(q, list[0].Expr, columns)
		if of := columnsOfType(ctx, list[0].Expr.Type()); wide == nil && len(of) == len(columns) &&
			q.Command == query.Select {
			wide = spreadValue(q, of)
		}
		if wide != nil {
			q, list = wide, visible(wide)
			s.q = q
		}
	}
	switch {
	case !row && len(list) != 1:
		return nil, refuse("Final statement must return exactly one column.")
	case len(list) < len(columns):
		return nil, refuse("Final statement returns too few columns.")
	case len(list) > len(columns):
		return nil, refuse("Final statement returns too many columns.")
	}
	exprs, same := make([]query.Expr, len(list)), true
	for i, t := range list {
		e, err := s.coerceTo(t.Expr, columns[i].Type, columns[i].Typmod, assignment, -1)
		if err != nil {
			return nil, err
		}
		if e == nil && !row {
			return nil, refuse("Actual return type is %s.", ctx.name(t.Expr.Type()))
		}
		if e == nil {
			return nil, refuse("Final statement returns %s instead of %s at column %d.", ctx.name(t.Expr.Type()),
				ctx.name(columns[i].Type), i+1)
		}
		exprs[i], same = e, same && e == t.Expr
	}
	if same {
		return q, nil
	}
	return withTargets(s, q, exprs, columns)
}

// withTargets returns a query with coerced columns. They are computed above q if it depends on them.
func withTargets(s *scope, q *query.Query, exprs []query.Expr, columns []query.Column) (*query.Query, error) {
	simple := q.Command == query.Select && q.SetOp == nil && q.Values == nil && !q.Distinct && len(q.OrderBy) == 0 &&
		!q.HasSRFs && len(q.Targets) == len(exprs)
	if simple {
		out := *q
		out.Targets = slices.Clone(q.Targets)
		for i := range exprs {
			out.Targets[i].Expr = exprs[i]
		}
		return &out, nil
	}
	if q.Command != query.Select {
		out := *q // RETURNING
		out.Targets = slices.Clone(q.Targets)
		for i := range exprs {
			out.Targets[i].Expr = exprs[i]
		}
		return &out, nil
	}
	out := around(q)
	for i := range out.Targets {
		e, err := s.coerceTo(out.Targets[i].Expr, columns[i].Type, columns[i].Typmod, assignment, -1)
		if err != nil {
			return nil, err
		}
		out.Targets[i].Expr = e
	}
	return out, nil
}

// spreadRow returns the query with the columns of a row instead of the row, nil if they are not known.
func spreadRow(q *query.Query, e query.Expr, columns []query.Column) *query.Query {
	var fields []query.Expr
	switch v := e.(type) {
	case *query.Var:
		if v.Col != query.ColWholeRow || v.Up != 0 || v.Rel < 0 {
			return nil
		}
		for i, c := range q.Rels[v.Rel].Columns {
			if !c.Dropped {
				t := query.T{OID: c.Type, Mod: c.Typmod}
				fields = append(fields, &query.Var{T: t, Rel: v.Rel, Col: i, Name: c.Name})
			}
		}
	case *query.Row:
		fields = v.Fields
	default:
		return nil
	}
	if len(fields) != len(columns) || len(q.Targets) != 1 || q.Distinct || q.SetOp != nil || len(q.GroupBy) > 0 {
		return nil
	}
	out := *q
	out.Targets = nil
	for i, f := range fields {
		out.Targets = append(out.Targets, query.Target{Expr: f, Name: columns[i].Name})
	}
	return &out
}

// spreadValue returns a query around one whose only column is a row of a composite type: it has the
// columns of the row.
func spreadValue(q *query.Query, columns []query.Column) *query.Query {
	out := around(q)
	row := out.Targets[0].Expr
	out.Targets = nil
	for i, c := range columns {
		f := &query.Field{T: query.T{OID: c.Type, Mod: c.Typmod}, Arg: row, N: i, Name: c.Name}
		out.Targets = append(out.Targets, query.Target{Expr: f, Name: c.Name})
	}
	return out
}

// returnName returns the name of a function's result type.
func (ctx *Context) returnName(f *catalog.Function) string {
	if t := ctx.Catalog.Table(f.ResultRelation); t != nil {
		return t.Name
	}
	return ctx.name(f.Result)
}
