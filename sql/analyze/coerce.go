package analyze

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/usertype"
)

// pathway is the way in which a type is converted to another.
type pathway uint8

const (
	noPath pathway = iota
	pathRelabel
	pathFunc
	pathArray
	pathIO
)

// findPath is PostgreSQL's find_coercion_pathway: it returns how source is converted to target, and
// by which function.
func findPath(target, source types.OID, ctx coercion) (pathway, *query.Proc) {
	source, target = baseType(source), baseType(target)
	if source == target {
		return pathRelabel, nil
	}
	if c := pgcatalog.CastBetween(source, target); c != nil {
		if !ctx.allows(c.Context) {
			return noPath, nil
		}
		switch c.Method {
		case 'f':
			return pathFunc, pgcatalog.ProcByOID(c.Func)
		case 'i':
			return pathIO, nil
		}
		return pathRelabel, nil
	}
	if target != types.OidVector && target != types.Int2Vector {
		te, se := elementOf(target), elementOf(source)
		if te != 0 && se != 0 {
			if p, _ := findPath(te, se, ctx); p != noPath {
				return pathArray, nil
			}
		}
	}
	if ctx >= assignment && category(target) == categoryString {
		return pathIO, nil
	}
	if ctx >= explicit && category(source) == categoryString {
		return pathIO, nil
	}
	return noPath, nil
}

// canCoerce is can_coerce_type: it reports whether the input types can be coerced to the target
// types.
func canCoerce(input, target []types.OID, ctx coercion) bool {
	generic := false
	for i, t := range target {
		in := input[i]
		switch {
		case in == t, t == types.Any:
		case isPolymorphic(t):
			generic = true
		case in == types.Unknown:
		case in == types.Record && isComposite(t), isComposite(in) && t == types.Record:
		case t == types.RecordArray && isComposite(elementOf(in)):
		default:
			if p, _ := findPath(t, in, ctx); p == noPath {
				return false
			}
		}
	}
	return !generic || checkGeneric(input, target)
}

func canCoerceOne(input, target types.OID, ctx coercion) bool {
	return canCoerce([]types.OID{input}, []types.OID{target}, ctx)
}

// coerceTo is coerce_to_target_type: value and length coercion. It returns nil if there is no
// coercion.
func (s *scope) coerceTo(e query.Expr, target types.OID, typmod int32, ctx coercion, loc int32) (query.Expr, error) {
	if !canCoerceOne(e.Type(), target, ctx) {
		return nil, nil
	}
	r, err := s.coerce(e, target, typmod, ctx, loc)
	if err != nil {
		return nil, err
	}
	sized, err := s.coerceTypmod(r, target, typmod, ctx, loc)
	if sized != r && r != e {
		hideCast(r)
	}
	return sized, err
}

// hideCast marks a cast as implicit: it is the inner step of a cast to a type with a length. e is
// not shared yet.
func hideCast(e query.Expr) {
	switch v := e.(type) {
	case *query.Call:
		if v.Cast != 0 {
			v.Cast = 'i'
		}
	case *query.Relabel:
		v.Cast = 'i'
	case *query.CoerceIO:
		v.Explicit = false
	}
}

// coerce is coerce_type: it returns e as a value of target. The caller has checked that there is a
// coercion.
func (s *scope) coerce(e query.Expr, target types.OID, typmod int32, ctx coercion, loc int32) (query.Expr, error) {
	in := e.Type()
	if types.IsDomain(target) && in != target {
		return coerceToDomain(s, e, target, ctx, loc)
	}
	switch {
	case in == target:
		return e, nil
	case target == types.Any, target == types.AnyElement, target == types.AnyNonArray, target == types.AnyCompatible,
		target == types.AnyCompatibleNonArray:
		return e, nil
	case isPolymorphic(target) && in != types.Unknown:
		if b := baseType(in); b != in {
			return &query.Relabel{T: query.T{OID: b, Mod: -1}, Arg: e, Cast: 'i'}, nil
		}
		return e, nil
	}
	if in == types.Unknown {
		switch n := e.(type) {
		case *query.Const:
			return s.coerceLiteral(n, target, typmod, loc)
		case *query.Param:
			return s.coerceParam(n, target, loc)
		}
	}
	if isComposite(in) && target == types.Record || target == types.RecordArray && isComposite(elementOf(in)) {
		return e, nil // as in PostgreSQL, it keeps its type
	}
	if in == types.Record && types.IsComposite(target) {
		return coerceRow(s, e, target, ctx, loc)
	}
	path, fn := findPath(target, in, ctx)
	switch path {
	case noPath:
		if in == types.Unknown { // a subquery's column whose type is unknown
			return &query.CoerceIO{T: query.Of(target), Arg: e, Explicit: ctx == explicit}, nil
		}
		if in == types.Record || isComposite(target) {
			return nil, pgerr.Unsupported("cast from %s to the row type %s is not supported", s.ctx.name(in),
				s.ctx.name(target)).At(s.pos(loc))
		}
		return nil, s.errorf(loc, pgerr.InternalError, "failed to find conversion function from %s to %s",
			s.ctx.name(in), s.ctx.name(target))
	case pathRelabel:
		return &query.Relabel{T: query.Of(target), Arg: e, Cast: ctx.mark()}, nil
	}
	return s.conversion(e, path, fn, target, typmod, ctx, loc)
}

// conversion is build_coercion_expression.
func (s *scope) conversion(e query.Expr, path pathway, fn *query.Proc, target types.OID, typmod int32, ctx coercion,
	loc int32) (query.Expr, error) {
	switch path {
	case pathFunc:
		if err := s.checkImplemented(fn, loc); err != nil {
			return nil, err
		}
		args := []query.Expr{e}
		if len(fn.ArgTypes) >= 2 {
			args = append(args, intConst(int64(typmod)))
		}
		if len(fn.ArgTypes) == 3 {
			args = append(args, boolConst(ctx == explicit))
		}
		return &query.Call{T: query.Of(target), Proc: fn, Args: args, Cast: ctx.mark(), Pos: s.pos(loc)}, nil
	case pathArray:
		return s.arrayConversion(e, target, typmod, ctx, loc)
	}
	return &query.CoerceIO{T: query.Of(target), Arg: e, Explicit: ctx == explicit}, nil
}

// arrayConversion casts every element, length included.
func (s *scope) arrayConversion(e query.Expr, target types.OID, typmod int32, ctx coercion,
	loc int32) (query.Expr, error) {
	se, te := elementOf(e.Type()), elementOf(target)
	elem, err := s.coerceTo(&query.Element{T: query.T{OID: se, Mod: e.Typmod()}}, te, typmod, ctx, loc)
	if err != nil {
		return nil, err
	}
	if elem == nil {
		return nil, s.errorf(loc, pgerr.CannotCoerce, "cannot cast type %s to %s", s.ctx.name(se), s.ctx.name(te))
	}
	if _, same := elem.(*query.Element); same && e.Type() != target {
		return &query.Relabel{T: query.T{OID: target, Mod: -1}, Arg: e, Cast: ctx.mark()}, nil
	}
	return &query.ArrayCoerce{T: query.T{OID: target, Mod: elem.Typmod()}, Arg: e, Elem: elem}, nil
}

// coerceTypmod is coerce_type_typmod: it applies the length if the type has a function for it.
func (s *scope) coerceTypmod(e query.Expr, target types.OID, typmod int32, ctx coercion,
	loc int32) (query.Expr, error) {
	if typmod < 0 || typmod == e.Typmod() {
		return e, nil
	}
	path, fn := noPath, (*query.Proc)(nil)
	elem := target
	if el := elementOf(target); el != 0 {
		elem = el
	}
	if c := pgcatalog.CastBetween(elem, elem); c != nil && c.Method == 'f' {
		path, fn = pathFunc, pgcatalog.ProcByOID(c.Func)
		if elem != target {
			path = pathArray
		}
	}
	if path == noPath {
		return &query.Relabel{T: query.T{OID: target, Mod: typmod}, Arg: e, Cast: ctx.mark()}, nil
	}
	r, err := s.conversion(e, path, fn, target, typmod, ctx, loc)
	if err != nil {
		return nil, err
	}
	if call, ok := r.(*query.Call); ok {
		call.Mod = typmod
	}
	if ac, ok := r.(*query.ArrayCoerce); ok {
		ac.Mod = typmod
	}
	return r, nil
}

// coerceLiteral parses an untyped literal as a value of the target type.
func (s *scope) coerceLiteral(c *query.Const, target types.OID, typmod int32, loc int32) (query.Expr, error) {
	base := baseType(target)
	out := &query.Const{T: query.Of(target), Pos: c.Pos}
	if c.Value.IsNull() {
		return out, nil
	}
	inputMod := int32(-1)
	if base == types.Interval { // its fields change the meaning of the text
		inputMod = typmod
	}
	if !types.Readable(base) {
		return nil, s.unsupported(loc, "type %s is not supported yet", pgcatalog.FormatType(base, -1)).
			WithHint("Use text or jsonb.")
	}
	text := c.Value.Str()
	v, err := types.Input(base, inputMod, text, s.ctx.Env)
	if err == nil && DependsOnClock(base, text) {
		return &query.CoerceIO{T: query.Of(target), Arg: &query.Const{T: query.Of(types.Text), Value: c.Value,
			Pos: c.Pos}, Explicit: true}, nil
	}
	if err != nil {
		e := *pgerr.From(err)
		if e.Position == 0 {
			e.Position = c.Pos
		}
		return nil, &e
	}
	out.Value = v
	if inputMod >= 0 {
		out.Mod = inputMod
		return out, nil
	}
	s.literals.readAs(out, c)
	return out, nil
}

// coerceParam sets the type of an untyped parameter to the type that its context needs
// (variable_coerce_param_hook).
func (s *scope) coerceParam(p *query.Param, target types.OID, loc int32) (query.Expr, error) {
	known := &s.params[p.N-1]
	switch *known {
	case 0, types.Unknown:
		*known = target
	case target:
	default:
		return nil, pgerr.New(pgerr.AmbiguousParameter, "inconsistent types deduced for parameter $%d", p.N).
			WithDetail("%s versus %s", s.ctx.name(*known), s.ctx.name(target)).At(s.pos(loc))
	}
	return &query.Param{T: query.Of(target), N: p.N}, nil
}

// coerceBool coerces e to the boolean that a clause needs.
func (s *scope) coerceBool(e query.Expr, clause string, loc int32) (query.Expr, error) {
	if e.Type() != types.Bool {
		r, err := s.coerceTo(e, types.Bool, -1, assignment, loc)
		if err != nil {
			return nil, err
		}
		if r == nil {
			return nil, s.errorf(loc, pgerr.DatatypeMismatch, "argument of %s must be type boolean, not type %s",
				clause, s.ctx.name(e.Type()))
		}
		e = r
	}
	if s.lastSRF != nil && returnsSet(e) {
		return nil, s.errorf(loc, pgerr.DatatypeMismatch, "argument of %s must not return a set", clause)
	}
	return e, nil
}

// coerceClause is coerce_to_specific_type: it coerces e to the type that a construct needs.
func (s *scope) coerceClause(e query.Expr, target types.OID, clause string, loc int32) (query.Expr, error) {
	if e.Type() != target {
		r, err := s.coerceTo(e, target, -1, assignment, loc)
		if err != nil {
			return nil, err
		}
		if r == nil {
			return nil, s.errorf(loc, pgerr.DatatypeMismatch, "argument of %s must be type %s, not type %s", clause,
				s.ctx.name(target), s.ctx.name(e.Type()))
		}
		e = r
	}
	if s.lastSRF != nil && returnsSet(e) {
		return nil, s.errorf(loc, pgerr.DatatypeMismatch, "argument of %s must not return a set", clause)
	}
	return e, nil
}

// coerceCommon is coerce_to_common_type: it coerces e to the type that select_common_type has
// chosen for a list.
func (s *scope) coerceCommon(e query.Expr, target types.OID, context string, loc int32) (query.Expr, error) {
	if e.Type() == target {
		return e, nil
	}
	if !canCoerceOne(e.Type(), target, implicit) {
		return nil, s.errorf(loc, pgerr.CannotCoerce, "%s could not convert type %s to %s", context,
			s.ctx.name(e.Type()), s.ctx.name(target))
	}
	return s.coerce(e, target, -1, implicit, loc)
}

func intConst(n int64) *query.Const {
	return &query.Const{T: query.Of(types.Int4), Value: types.NewInt(n)}
}

func boolConst(b bool) *query.Const {
	return &query.Const{T: query.Of(types.Bool), Value: types.NewBool(b)}
}

// coerceToDomain is coerce_to_domain: it converts e to the base type of a domain and checks it by the
// constraints of the domain and of those that it is based on.
func coerceToDomain(s *scope, e query.Expr, target types.OID, ctx coercion, loc int32) (query.Expr, error) {
	out := &query.CoerceToDomain{T: query.Of(target), Shown: s.ctx.name(target), Explicit: ctx == explicit}
	base, typmod := target, int32(-1)
	for n := 0; types.IsDomain(base); n++ {
		t := domainOf(s.ctx, base)
		if t == nil || n > 32 {
			return nil, s.errorf(loc, pgerr.UndefinedObject, "type with OID %d does not exist", base)
		}
		if base == target {
			out.Schema, out.Domain, _ = usertype.NameOf(s.ctx.Catalog, target)
		}
		out.NotNull = out.NotNull || t.Domain.NotNull
		checks, err := domainChecks(s.ctx, t)
		if err != nil {
			return nil, err
		}
		out.Checks = append(checks, out.Checks...) // those of the base type first
		base = t.Domain.Base
		if typmod == -1 {
			typmod = t.Domain.Typmod
		}
	}
	r, err := s.coerce(e, base, typmod, ctx, loc)
	if err != nil {
		return nil, err
	}
	if out.Arg, err = s.coerceTypmod(r, base, typmod, ctx, loc); err != nil {
		return nil, err
	}
	hideCast(out.Arg)
	if !out.NotNull && len(out.Checks) == 0 {
		return &query.Relabel{T: query.Of(target), Arg: out.Arg, Cast: ctx.mark()}, nil
	}
	return out, nil
}

// domainOf returns a domain of a user, nil if there is none.
func domainOf(ctx *Context, oid types.OID) *catalog.Type {
	if ctx.Catalog == nil || !types.IsDomain(oid) {
		return nil
	}
	return catalog.TypeByOID(ctx.Catalog, catalog.TypeNumber(oid))
}

// domainChecks analyzes the constraints of a domain.
func domainChecks(ctx *Context, t *catalog.Type) ([]query.DomainCheck, error) {
	stored := &Context{Catalog: ctx.Catalog, Database: ctx.Database, lenient: ctx.lenient}
	var out []query.DomainCheck
	for i := range t.Domain.Checks {
		k := &t.Domain.Checks[i]
		src, err := ParseExpression(k.Check)
		if err != nil {
			return nil, err
		}
		e, err := DomainCheck(stored, src, t.Domain.Base, t.Domain.Typmod)
		if err != nil {
			return nil, err
		}
		out = append(out, query.DomainCheck{Name: k.Name, Expr: e})
	}
	slices.SortFunc(out, func(a, b query.DomainCheck) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// DomainCheck analyzes a CHECK constraint of a domain: VALUE is the value, as an Element.
func DomainCheck(ctx *Context, src Source, base types.OID, typmod int32) (query.Expr, error) {
	over := []query.Column{{Name: "value", Type: base, Typmod: typmod}}
	s := storedScope(ctx, src.Text, "", over, inCheck)
	e, err := s.expr(src.Node)
	if err != nil {
		return nil, err
	}
	if e, err = s.coerceBool(e, "CHECK", location(src.Node)); err != nil {
		return nil, err
	}
	return query.Rewrite(e, func(x query.Expr) (query.Expr, bool) {
		if v, ok := x.(*query.Var); ok && v.Up == 0 {
			return &query.Element{T: v.T}, true
		}
		return nil, false
	}), nil
}

// DomainDefault returns the default of a domain, or of the one that it is based on; "" if there is none.
func DomainDefault(v *catalog.View, oid types.OID) string {
	for types.IsDomain(oid) {
		t := catalog.TypeByOID(v, catalog.TypeNumber(oid))
		if t == nil || t.Domain.Default != "" {
			if t == nil {
				return ""
			}
			return t.Domain.Default
		}
		oid = t.Domain.Base
	}
	return ""
}
