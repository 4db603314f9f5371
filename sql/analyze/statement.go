package analyze

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Statement analyzes a SELECT, VALUES, INSERT, UPDATE, DELETE or MERGE of ctx.Source. params are the types
// of $1, $2, … from the client, 0 if the statement decides; the chosen types are returned.
func Statement(ctx *Context, node *pg_query.Node, params []types.OID) (*query.Query, []types.OID, error) {
	return statement(ctx, node, params, nil)
}

// Literals are the constants of an analyzed query that are nothing but literals of its text, read
// as their types, with the byte offsets of the literals. A number with a minus sign begins there.
type Literals map[*query.Const]int32

// WithLiterals analyzes a statement without parameters, and returns its literals.
func WithLiterals(ctx *Context, node *pg_query.Node) (*query.Query, Literals, error) {
	found := Literals{}
	q, _, err := statement(ctx, node, nil, found)
	return q, found, err
}

func statement(ctx *Context, node *pg_query.Node, params []types.OID, found Literals) (
	*query.Query, []types.OID, error,
) {
	st := &state{ctx: ctx, text: parse.Positions{Text: ctx.Source}, params: append([]types.OID(nil), params...),
		locs: locations{}, noParams: ctx.NoParams, literals: found}
	for i, p := range st.params {
		if p == types.Unknown {
			st.params[i] = 0
		}
	}
	s := &scope{state: st, q: &query.Query{}}
	if err := s.statement(node); err != nil {
		return nil, nil, err
	}
	if err := st.checkParams(s.q); err != nil {
		return nil, nil, err
	}
	for i, p := range st.current {
		p.N = len(st.params) + 1 + i
	}
	s.q.Currents = st.currents
	return s.q, st.params, nil
}

// statement analyzes a query.
func (s *scope) statement(node *pg_query.Node) error {
	switch v := node.GetNode().(type) {
	case *pg_query.Node_SelectStmt:
		return s.selectStmt(v.SelectStmt, true)
	case *pg_query.Node_InsertStmt:
		return s.insert(v.InsertStmt)
	case *pg_query.Node_UpdateStmt:
		return s.update(v.UpdateStmt)
	case *pg_query.Node_DeleteStmt:
		return s.delete(v.DeleteStmt)
	case *pg_query.Node_CallStmt:
		return callProcedure(s, v.CallStmt.Funccall)
	case *pg_query.Node_MergeStmt:
		return merge(s, v.MergeStmt)
	}
	return pgerr.New(pgerr.InternalError, "analyze: no query: %T", node.GetNode())
}

// Assignment analyzes the value that is assigned to a variable of ctx.Names, converted to the
// type of the variable or of the part of it.
func Assignment(ctx *Context, node *pg_query.Node, a function.Assignment) (*query.Query, []types.OID, error) {
	st := &state{ctx: ctx, text: parse.Positions{Text: ctx.Source}, locs: locations{}}
	s := &scope{state: st, q: &query.Query{}}
	if err := s.selectStmt(node.GetSelectStmt(), false); err != nil {
		return nil, nil, err
	}
	if len(s.q.Targets) != 1 {
		return nil, nil, pgerr.New(pgerr.SyntaxError, "assignment source returned %d columns", len(s.q.Targets))
	}
	t := &s.q.Targets[0]
	loc := int32(-1)
	if list := node.GetSelectStmt().TargetList; len(list) == 1 {
		loc = location(list[0].GetResTarget().Val)
	}
	var err error
	if len(a.Path) > 0 {
		var base query.Expr
		if base, err = variable(s, a.Base, -1); err != nil {
			return nil, nil, err
		}
		t.Expr, err = assignPart(s, part{a.Name, a.Path, loc}, base, t.Expr)
	} else {
		t.Expr, err = assigned(s, t.Expr, a, loc)
	}
	if err != nil {
		return nil, nil, err
	}
	return s.q, st.params, st.checkParams(s.q)
}

// assigned converts a value to the type of a variable: by an assignment cast, else through text.
func assigned(s *scope, e query.Expr, a function.Assignment, loc int32) (query.Expr, error) {
	out, err := s.coerceTo(e, a.Into.OID, a.Into.Typmod, assignment, loc)
	if err != nil || out != nil {
		return out, err
	}
	if a.Into.OID == types.Record {
		return nil, s.errorf(loc, pgerr.FeatureNotSupported, "input of anonymous composite types is not implemented")
	}
	if isComposite(a.Into.OID) {
		return nil, s.errorf(loc, pgerr.DatatypeMismatch, "variable %q is of type %s but expression is of type %s",
			a.Name, s.ctx.name(a.Into.OID), s.ctx.name(e.Type())).
			WithHint("You will need to rewrite or cast the expression.")
	}
	text := &query.CoerceIO{T: query.Of(types.Text), Arg: e}
	return s.coerceTo(&query.CoerceIO{T: query.Of(types.BaseOf(a.Into.OID)), Arg: text}, a.Into.OID, a.Into.Typmod,
		assignment, loc)
}

// Conversion returns the conversion of parameter $1 from a type to another one, as assignments in
// functions convert. It returns the parameter itself if nothing has to be done.
func Conversion(ctx *Context, from, to function.Typed) (query.Expr, error) {
	if from.OID == types.Unknown {
		from = function.Typed{OID: types.Text, Typmod: -1}
	}
	s := storedScope(ctx, "", "", nil, inOther)
	e := &query.Param{T: query.T{OID: from.OID, Mod: from.Typmod}, N: 1}
	return assigned(s, e, function.Assignment{Into: to}, -1)
}

// checkParams refuses parameters whose type is undetermined, or was determined only after another
// use.
func (st *state) checkParams(q *query.Query) error {
	for i, t := range st.params {
		if t == 0 && st.ctx.Names == nil { // variables that a statement does not read have numbers too
			return pgerr.New(pgerr.IndeterminateDatatype, "could not determine data type of parameter $%d", i+1)
		}
	}
	if len(st.params) == 0 {
		return nil
	}
	var found *query.Param
	query.WalkQuery(q, func(e query.Expr, _ int) {
		if p, ok := e.(*query.Param); ok && found == nil && p.N > 0 &&
			types.BaseOf(st.params[p.N-1]) != p.OID {
			found = p
		}
	})
	if found == nil {
		return nil
	}
	return pgerr.New(pgerr.AmbiguousParameter, "could not determine data type of parameter $%d", found.N).
		At(st.text.At(int(st.locs.of(found))))
}

// Table finds the table of a name, for COPY, TRUNCATE and DDL. It returns 42P01 if there is no
// relation, 42809 if it is not a table.
func Table(ctx *Context, rv *pg_query.RangeVar) (*catalog.Table, error) {
	s := storedScope(ctx, ctx.Source, "", nil, inOther)
	rel, _, err := s.relation(rv)
	if err != nil {
		return nil, err
	}
	if rel.Table != nil && rel.Kind != query.RelTable {
		return nil, pgerr.New(pgerr.WrongObjectType, "%q is not a table", rv.Relname).
			WithDetail("This operation is not supported for sequences.")
	}
	if rel.View != nil {
		return nil, pgerr.New(pgerr.WrongObjectType, "%q is not a table", rv.Relname).
			WithDetail("This operation is not supported for views.")
	}
	if rel.Kind != query.RelTable {
		return nil, pgerr.New(pgerr.WrongObjectType, "%q is not a table", rv.Relname)
	}
	return rel.Table, nil
}

// FindView returns the view of a name, nil if there is none.
func FindView(ctx *Context, rv *pg_query.RangeVar) *catalog.Table {
	own := *ctx
	own.Form = true // the query of the view is not needed
	s := storedScope(&own, ctx.Source, "", nil, inOther)
	rel, _, err := s.relation(rv)
	if err != nil {
		return nil
	}
	return rel.View
}

// TypeName returns the type and the type modifier of a type's name; -1 is no modifier.
func TypeName(ctx *Context, source string, t *pg_query.TypeName) (types.OID, int32, error) {
	return storedScope(ctx, source, "", nil, inOther).typeName(t)
}

// Argument analyzes an argument of EXECUTE, coerced to the parameter's type.
func Argument(ctx *Context, source string, n *pg_query.Node, t types.OID) (query.Expr, error) {
	s := storedScope(ctx, source, "", nil, inOther)
	e, err := s.expr(n)
	if err != nil {
		return nil, err
	}
	r, err := s.coerceTo(e, t, -1, assignment, location(n))
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, s.errorf(location(n), pgerr.DatatypeMismatch,
			"parameter of type %s cannot be coerced to the expected type %s", s.ctx.name(e.Type()), s.ctx.name(t)).
			WithHint("You will need to rewrite or cast the expression.")
	}
	return r, nil
}

// ParameterDefault analyzes the default of a function's parameter.
func ParameterDefault(ctx *Context, src Source, t types.OID) (query.Expr, error) {
	s := storedScope(ctx, src.Text, "", nil, inParameterDefault)
	e, err := s.expr(src.Node)
	if err != nil || isPolymorphic(t) {
		return e, err
	}
	r, err := s.coerceTo(e, t, -1, assignment, location(src.Node))
	if err == nil && r == nil {
		return nil, s.errorf(location(src.Node), pgerr.DatatypeMismatch,
			"argument of DEFAULT must be type %s, not type %s", ctx.name(t), ctx.name(e.Type()))
	}
	return r, err
}

// DefineBody analyzes a statement of BEGIN ATOMIC.
func DefineBody(ctx *Context, f *catalog.Function, node *pg_query.Node) (*ViewDefinition, error) {
	own := *ctx
	own.Names = ArgumentsOf(f, nil)
	return DefineView(&own, node)
}

// CheckBody analyzes the text of a function in SQL, and checks what it returns (fmgr_sql_validator).
func CheckBody(ctx *Context, f *catalog.Function) error {
	stmts, err := parse.Parse(f.Source)
	if err != nil {
		return inside(err, f.Source)
	}
	for i := range f.Arguments {
		if isPolymorphic(f.Arguments[i].Type) {
			return nil
		}
	}
	var last *query.Query
	for i, st := range stmts {
		last = nil
		if !parse.IsQuery(st.Node) {
			continue
		}
		q, _, err := RoutineStatement(ctx, f, f.Source, st.Node, nil)
		if err != nil {
			return err
		}
		if i == len(stmts)-1 {
			last = q
		}
	}
	if f.Result == types.Void && len(ResultColumns(ctx, f)) == 0 {
		return nil
	}
	_, err = FinalStatement(ctx, f, last, ResultColumns(ctx, f))
	return err
}

// RoutineStatement analyzes a statement of the body of a function in SQL, and returns the types of its
// parameters. actual are the types of the arguments of a call; nil: those of the definition.
func RoutineStatement(ctx *Context, f *catalog.Function, text string, node *pg_query.Node, actual []types.OID) (
	*query.Query, []types.OID, error,
) {
	own := *ctx
	if len(f.Body) > 0 {
		own = *storedContext(ctx)
	}
	own.Source, own.Names, own.NoParams = text, ArgumentsOf(f, actual), false
	q, params, err := Statement(&own, node, nil)
	if err != nil {
		return nil, nil, inside(err, text)
	}
	return q, params, nil
}

// ResultColumns returns the columns of what a function returns: those of a row, or one; none of a
// function that returns void, and of a record that each call defines.
func ResultColumns(ctx *Context, f *catalog.Function) []query.Column {
	if t := ctx.Catalog.Table(f.ResultRelation); t != nil {
		return liveColumns(columnsOfTable(t))
	}
	var out []query.Column
	for i := range f.Arguments {
		if a := &f.Arguments[i]; a.Mode == 'o' || a.Mode == 'b' || a.Mode == 't' {
			out = append(out, query.Column{Name: a.Name, Type: a.Type, Typmod: -1})
		}
	}
	if len(out) == 0 && f.Result != types.Void && f.Result != types.Record {
		out = []query.Column{{Name: f.Name, Type: f.Result, Typmod: -1}}
	}
	return out
}

// CallColumns is ResultColumns with the types of a call instead of polymorphic ones.
func CallColumns(ctx *Context, f *catalog.Function, actual []types.OID) []query.Column {
	out := ResultColumns(ctx, f)
	c := &query.Call{Proc: function.Proc(ctx.Catalog, f)}
	for _, t := range actual {
		c.Args = append(c.Args, &query.Const{T: query.Of(t)})
	}
	for i := range out {
		out[i].Type = resolveOut(out[i].Type, c)
	}
	return out
}

// FinalStatement checks the last statement of a function that returns a value, and coerces its columns.
// q is nil if it is no query.
func FinalStatement(ctx *Context, f *catalog.Function, q *query.Query, columns []query.Column) (*query.Query, error) {
	if q == nil || q.Command != query.Select && !q.Returning {
		return nil, pgerr.New(pgerr.InvalidFunctionDefinition, "return type mismatch in function declared to return %s",
			ctx.returnName(f)).
			WithDetail("Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.")
	}
	if len(columns) == 0 { // a record that each call defines
		return q, nil
	}
	return Returned(ctx, f, q, columns)
}

// BodyForm analyzes a stored statement of a function so that it can be deparsed.
func BodyForm(ctx *Context, f *catalog.Function, text string) (*query.Query, error) {
	stmts, err := parse.Parse(text)
	if err != nil {
		return nil, err
	}
	stored := storedContext(ctx)
	stored.Form, stored.Bodies, stored.Names = true, nil, ArgumentsOf(f, nil)
	inner := &scope{state: &state{ctx: stored, locs: locations{}}, q: &query.Query{}}
	err = inner.selectNode(stmts[0].Node, true)
	return inner.q, err
}

// callProcedure analyzes CALL: a query of the row of the OUT arguments, or of the call itself.
func callProcedure(s *scope, f *pg_query.FuncCall) error {
	s.q.IsCall = true
	args, err := s.funcArgs(f)
	if err != nil {
		return err
	}
	name := nodeStrings(f.Funcname)
	found, err := findProcedure(s, name, args, f)
	if err != nil {
		return err
	}
	call, err := s.buildCall(found, args, f)
	if err != nil {
		return err
	}
	definition := catalog.FunctionByOID(s.ctx.Catalog, call.Proc.OID)
	inputs := []query.Expr{}
	for i, e := range call.Args {
		if definition.Arguments[i].IsInput() {
			inputs = append(inputs, e)
		}
	}
	call.Proc, call.Args = function.Proc(s.ctx.Catalog, definition), inputs
	columns := ResultColumns(s.ctx, definition)
	if len(columns) == 0 {
		s.q.Targets = []query.Target{{Expr: call, Name: call.Proc.Name}}
		return nil
	}
	for i := range columns {
		columns[i].Type = resolveOut(columns[i].Type, call)
	}
	rel := &query.Rel{Kind: query.RelFunction, Alias: call.Proc.Name, Columns: columns,
		Functions: []query.FuncItem{{Call: call, Columns: columns}}}
	s.q.Rels, s.q.From = []*query.Rel{rel}, []query.From{&query.FromRel{}}
	for i, c := range columns {
		v := &query.Var{T: query.T{OID: c.Type, Mod: c.Typmod}, Col: i, Name: c.Name}
		s.q.Targets = append(s.q.Targets, query.Target{Expr: v, Name: c.Name})
	}
	return nil
}

// findProcedure finds the procedure of a CALL, which has values for OUT arguments too.
func findProcedure(s *scope, name []string, args callArgs, f *pg_query.FuncCall) (*found, error) {
	schema, base, err := s.qualified(name, f.Location)
	if err != nil {
		return nil, err
	}
	input := query.TypesOf(exprsOf(args.items))
	var fitting []candidate
	for _, p := range procsNamed(s.ctx, schema, base) {
		if p.Kind == 'p' && p.AllArgTypes != nil {
			whole := *p
			whole.ArgTypes, whole.AllArgTypes, whole.ArgModes = p.AllArgTypes, nil, ""
			p = &whole
		}
		c, ok := candidateOf(p, len(input), args.names, !f.FuncVariadic)
		switch {
		case !ok || !canCoerce(input, c.args, implicit):
		case sameTypes(c.args, input):
			fitting = []candidate{c}
		default:
			fitting = append(fitting, c)
			continue
		}
		if ok && sameTypes(c.args, input) {
			break
		}
	}
	shown := signature(s.ctx, name, args)
	if len(fitting) > 1 {
		best := selectCandidate(input, fitting)
		if best == nil {
			return nil, s.errorf(f.Location, pgerr.AmbiguousFunction, "procedure %s is not unique", shown).
				WithHint("Could not choose a best candidate procedure. You might need to add explicit type casts.")
		}
		fitting = []candidate{*best}
	}
	if len(fitting) == 0 {
		return nil, s.errorf(f.Location, pgerr.UndefinedFunction, "procedure %s does not exist", shown).
			WithHint("No procedure matches the given name and argument types. " +
				"You might need to add explicit type casts.")
	}
	if fitting[0].proc.Kind != 'p' {
		return nil, s.errorf(f.Location, pgerr.WrongObjectType, "%s is not a procedure", shown).
			WithHint("To call a function, use SELECT.")
	}
	return &found{candidate: fitting[0]}, nil
}
