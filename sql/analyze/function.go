package analyze

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

const maxArgs = 100

// callArgs are the arguments of a call.
type callArgs struct {
	items []item
	names []string // of the last len(names) arguments
}

// funcCall is f(…): a function, a cast written as a function, an aggregate or a window function
// (ParseFuncOrColumn).
func (s *scope) funcCall(f *pg_query.FuncCall) (query.Expr, error) {
	before := s.lastSRF
	args, err := s.funcArgs(f)
	if err != nil {
		return nil, err
	}
	within := 0
	if f.AggWithinGroup {
		for _, n := range f.AggOrder {
			e, err := s.expr(n.GetSortBy().GetNode())
			if err != nil {
				return nil, err
			}
			args.items = append(args.items, item{e, location(n)})
			within++
		}
	}
	if len(args.items) > maxArgs {
		return nil, s.errorf(f.Location, pgerr.TooManyArguments, "cannot pass more than %d arguments to a function",
			maxArgs)
	}
	name := nodeStrings(f.Funcname)
	found, err := s.findFunction(name, args, f)
	if err != nil {
		return nil, err
	}
	if found.castTo != 0 {
		if err := s.plainOnly(f, name); err != nil {
			return nil, err
		}
		return s.coerce(args.items[0].expr, found.castTo, -1, explicit, f.Location)
	}
	switch p := found.proc; {
	case p.Kind == 'p':
		return nil, s.errorf(f.Location, pgerr.WrongObjectType, "%s is a procedure", signature(s.ctx, name, args)).
			WithHint("To call a procedure, use CALL.")
	case p.Kind == 'w' && f.Over == nil:
		return nil, s.errorf(f.Location, pgerr.WrongObjectType, "window function %s requires an OVER clause",
			name[len(name)-1])
	case p.Kind == 'f':
		if err := s.plainOnly(f, name); err != nil {
			return nil, err
		}
	}
	call, err := s.buildCall(found, args, f)
	if err != nil {
		return nil, err
	}
	if found.proc.Kind != 'f' {
		return s.aggregateOrWindow(f, name, call, found, within)
	}
	if call.Proc.RetSet {
		if err := s.checkSetPlace(f.Location, before); err != nil {
			return nil, err
		}
		s.lastSRF = call
		s.q.HasSRFs = s.q.HasSRFs || s.place == inSelect || s.place == inOrderBy || s.place == inGroupBy ||
			s.place == inDistinctOn || s.place == inReturning
	}
	if s.ctx.Form && f.Funcformat == pg_query.CoercionForm_COERCE_SQL_SYNTAX {
		return &query.Written{Arg: call, Kind: query.WrittenSyntax}, nil
	}
	if s.ctx.Form {
		return writtenCall(call, found, args), nil
	}
	if call.Proc.Language != "" {
		return inlined(s, call)
	}
	return call, nil
}

// funcArgs analyzes the arguments and separates the names of named notation.
func (s *scope) funcArgs(f *pg_query.FuncCall) (callArgs, error) {
	var a callArgs
	for _, n := range f.Args {
		if na := n.GetNamedArgExpr(); na != nil {
			for _, other := range a.names {
				if other == na.Name {
					return a, s.errorf(na.Location, pgerr.SyntaxError, "argument name %q used more than once", na.Name)
				}
			}
			a.names = append(a.names, na.Name)
		} else if len(a.names) > 0 {
			return a, s.errorf(location(n), pgerr.SyntaxError, "positional argument cannot follow named argument")
		}
		e, err := s.expr(n)
		if err != nil {
			return a, err
		}
		a.items = append(a.items, item{e, location(n)})
	}
	return a, nil
}

// plainOnly refuses clauses that only aggregates and window functions have.
func (s *scope) plainOnly(f *pg_query.FuncCall, name []string) error {
	shown := strings.Join(name, ".")
	fail := func(what, need string) error {
		return s.errorf(f.Location, pgerr.WrongObjectType, "%s specified, but %s is not %s", what, shown, need)
	}
	switch {
	case f.AggStar:
		return s.errorf(f.Location, pgerr.WrongObjectType, "%s(*) specified, but %s is not an aggregate function",
			shown, shown)
	case f.AggDistinct:
		return fail("DISTINCT", "an aggregate function")
	case f.AggWithinGroup:
		return fail("WITHIN GROUP", "an aggregate function")
	case len(f.AggOrder) > 0:
		return fail("ORDER BY", "an aggregate function")
	case f.AggFilter != nil:
		return fail("FILTER", "an aggregate function")
	case f.Over != nil:
		return fail("OVER", "a window function nor an aggregate function")
	}
	return nil
}

// found is the result of looking up a function's name.
type found struct {
	candidate
	castTo types.OID
}

// findFunction is func_get_detail.
func (s *scope) findFunction(name []string, args callArgs, f *pg_query.FuncCall) (*found, error) {
	schema, base, err := s.qualified(name, f.Location)
	if err != nil {
		return nil, err
	}
	input := query.TypesOf(exprsOf(args.items))
	list := s.candidates(schema, base, input, args.names, !f.FuncVariadic)
	for i := range list {
		if sameTypes(list[i].args, input) {
			return &found{candidate: list[i]}, nil
		}
	}
	if len(args.items) == 1 && len(args.names) == 0 && !f.AggStar {
		if t := s.castByName(schema, base, input[0]); t != 0 {
			return &found{castTo: t}, nil
		}
	}
	fitting := list[:0:0]
	for _, c := range list {
		if canCoerce(input, c.args, implicit) {
			fitting = append(fitting, c)
		}
	}
	if len(fitting) > 1 {
		if best := selectCandidate(input, fitting); best != nil {
			return &found{candidate: *best}, nil
		}
		return nil, s.errorf(f.Location, pgerr.AmbiguousFunction, "function %s is not unique",
			signature(s.ctx, name, args)).
			WithHint("Could not choose a best candidate function. You might need to add explicit type casts.")
	}
	if len(fitting) == 1 {
		return &found{candidate: fitting[0]}, nil
	}
	e := s.errorf(f.Location, pgerr.UndefinedFunction, "function %s does not exist", signature(s.ctx, name, args))
	if len(f.AggOrder) > 1 && !f.AggWithinGroup {
		return nil, e.WithHint(
			"No aggregate function matches the given name and argument types. Perhaps you misplaced ORDER BY; ORDER " +
				"BY must appear after all regular arguments of the aggregate.")
	}
	return nil, e.WithHint(
		"No function matches the given name and argument types. You might need to add explicit type casts.")
}

// qualified splits a possibly qualified name; the schema must exist.
func (s *scope) qualified(name []string, loc int32) (schema, base string, err error) {
	switch len(name) {
	case 1:
		return "", name[0], nil
	case 3:
		if name[0] != s.databaseName() {
			return "", "", s.errorf(loc, pgerr.FeatureNotSupported, "cross-database references are not implemented: %s",
				strings.Join(name, "."))
		}
		name = name[1:]
	case 2:
	default:
		return "", "", s.errorf(loc, pgerr.SyntaxError, "improper qualified name (too many dotted names): %s",
			strings.Join(name, "."))
	}
	if !s.schemaExists(name[0]) {
		return "", "", s.errorf(loc, pgerr.InvalidSchemaName, "schema %q does not exist", name[0])
	}
	if err := s.ctx.usesSchema(name[0]); err != nil {
		return "", "", pgerr.From(err).At(s.pos(loc))
	}
	return name[0], name[1], nil
}

func sameTypes(a, b []types.OID) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// castByName returns the type f if f(x) is a cast: x's type is converted to f without a function.
func (s *scope) castByName(schema, name string, input types.OID) types.OID {
	t := s.lookupType(schema, name)
	if t == nil || t.Kind == 'p' {
		return 0
	}
	if input == types.Unknown {
		return t.OID
	}
	switch path, _ := findPath(t.OID, input, explicit); path {
	case pathRelabel:
		return t.OID
	case pathIO:
		if isComposite(input) && t.Category == categoryString {
			return 0
		}
		return t.OID
	}
	return 0
}

// signature returns a call's signature for messages (funcname_signature_string).
func signature(ctx *Context, name []string, args callArgs) string {
	var b strings.Builder
	b.WriteString(strings.Join(name, ".") + "(")
	positional := len(args.items) - len(args.names)
	for i, a := range args.items {
		if i > 0 {
			b.WriteString(", ")
		}
		if i >= positional && i-positional < len(args.names) {
			b.WriteString(args.names[i-positional] + " => ")
		}
		b.WriteString(ctx.name(a.expr.Type()))
	}
	return b.String() + ")"
}

// buildCall coerces the arguments, adds defaults and packs variadic arguments.
func (s *scope) buildCall(f *found, given callArgs, fc *pg_query.FuncCall) (*query.Call, error) {
	p := f.proc
	if err := s.checkImplemented(p, fc.Location); err != nil {
		return nil, err
	}
	args := exprsOf(given.items)
	declared := append([]types.OID(nil), f.args...)
	if f.positions != nil {
		args, declared = reorder(args, declared, f.positions, len(p.ArgTypes))
	}
	if f.defaults > 0 {
		var err error
		if args, declared, err = s.addDefaults(p, args, declared, fc.Location); err != nil {
			return nil, err
		}
	}
	ret, err := s.enforceGeneric(query.TypesOf(args), declared, p.RetType, fc.Location)
	if err != nil {
		return nil, err
	}
	if args, err = s.coerceArgs(args, declared, fc.Location); err != nil {
		return nil, err
	}
	call := &query.Call{T: query.Of(ret), Proc: p, Args: args, Variadic: fc.FuncVariadic, Pos: s.pos(fc.Location)}
	if fc.FuncVariadic && p.Variadic == types.Any {
		if last := args[len(args)-1]; last.Type() != types.Unknown && elementOf(last.Type()) == 0 {
			return nil, s.errorf(fc.Location, pgerr.DatatypeMismatch, "VARIADIC argument must be an array")
		}
	}
	if f.variadic > 0 && p.Variadic != types.Any {
		call.Args = s.packVariadic(args, f.variadic)
	}
	s.resultColumns(call)
	return call, nil
}

// packVariadic packs the last n arguments into an array.
func (s *scope) packVariadic(args []query.Expr, n int) []query.Expr {
	first := len(args) - n
	elem := args[first].Type()
	array := &query.Array{T: query.Of(arrayTypeOf(elem)), Elem: elem, Elems: append([]query.Expr(nil), args[first:]...)}
	return append(append([]query.Expr(nil), args[:first]...), array)
}

// reorder puts arguments of named notation into the order of the parameters; missing ones are nil
// until addDefaults.
func reorder(args []query.Expr, declared []types.OID, positions []int, n int) ([]query.Expr, []types.OID) {
	outArgs, outTypes := make([]query.Expr, n), make([]types.OID, n)
	for i, at := range positions {
		outArgs[at], outTypes[at] = args[i], declared[i]
	}
	return outArgs, outTypes
}

// addDefaults analyzes the defaults of missing arguments.
func (s *scope) addDefaults(p *query.Proc, args []query.Expr, declared []types.OID,
	loc int32) ([]query.Expr, []types.OID, error) {
	n := len(p.ArgTypes)
	outArgs, outTypes := make([]query.Expr, n), make([]types.OID, n)
	copy(outArgs, args)
	copy(outTypes, declared)
	for i := range outArgs {
		if outArgs[i] != nil {
			continue
		}
		k := i - (n - len(p.Defaults))
		if k < 0 {
			return nil, nil, s.errorf(loc, pgerr.InternalError, "argument %d of %s has no default", i+1, p.Name)
		}
		e, err := s.catalogExpr(p.Defaults[k], p.ArgTypes[i])
		if err != nil {
			return nil, nil, err
		}
		outArgs[i], outTypes[i] = e, p.ArgTypes[i]
	}
	return outArgs, outTypes, nil
}

// catalogExpr analyzes an expression of the system catalogs.
func (s *scope) catalogExpr(text string, t types.OID) (query.Expr, error) {
	stmts, err := parse.Parse("SELECT " + text)
	if err != nil {
		return nil, err
	}
	inner := &scope{state: &state{ctx: s.ctx, text: parse.Positions{Text: "SELECT " + text}, noParams: true,
		locs: locations{}}, q: &query.Query{}, place: inOther}
	e, err := inner.expr(stmts[0].Node.GetSelectStmt().TargetList[0].GetResTarget().Val)
	if err != nil || isPolymorphic(t) {
		return e, err
	}
	return inner.coerce(e, t, -1, assignment, -1)
}

// checkSetPlace is check_srf_call_placement.
func (s *scope) checkSetPlace(loc int32, before *query.Call) error {
	switch s.place {
	case inSelect, inGroupBy, inOrderBy, inDistinctOn, inInsert, inValuesSingle:
		return nil
	case inFromFunction:
		if s.lastSRF != before {
			return s.unsupported(loc, "set-returning functions must appear at top level of FROM")
		}
		return nil
	case inJoinOn:
		return s.errorf(loc, pgerr.FeatureNotSupported, "set-returning functions are not allowed in JOIN conditions")
	case inWindowPartition, inWindowOrder, inWindowFrame:
		return s.errorf(loc, pgerr.FeatureNotSupported, "set-returning functions are not allowed in window definitions")
	case inCheck:
		return s.errorf(loc, pgerr.FeatureNotSupported, "set-returning functions are not allowed in check constraints")
	case inDefault, inParameterDefault:
		return s.errorf(loc, pgerr.FeatureNotSupported,
			"set-returning functions are not allowed in DEFAULT expressions")
	case inGenerated:
		return s.errorf(loc, pgerr.FeatureNotSupported,
			"set-returning functions are not allowed in column generation expressions")
	case inIndexKey:
		return s.errorf(loc, pgerr.FeatureNotSupported, "set-returning functions are not allowed in index expressions")
	case inIndexPredicate:
		return s.errorf(loc, pgerr.FeatureNotSupported, "set-returning functions are not allowed in index predicates")
	case inTransform:
		return s.errorf(loc, pgerr.FeatureNotSupported,
			"set-returning functions are not allowed in transform expressions")
	}
	return s.errorf(loc, pgerr.FeatureNotSupported, "set-returning functions are not allowed in %s",
		placeNames[s.place])
}

// schemaExists reports whether a statement can refer to a schema.
func (s *scope) schemaExists(name string) bool {
	if _, ok := pgcatalog.NamespaceOID(name); ok && name != "public" {
		return true
	}
	return s.ctx.Catalog != nil && s.ctx.Catalog.SchemaByName(s.ctx.Database, name) != nil
}
