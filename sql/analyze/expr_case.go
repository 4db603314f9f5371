package analyze

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// caseExpr is CASE with or without operand.
func (s *scope) caseExpr(c *pg_query.CaseExpr) (query.Expr, error) {
	before := s.lastSRF
	out := &query.Case{}
	var elem *query.Element
	if c.Arg != nil {
		arg, err := s.expr(c.Arg)
		if err != nil {
			return nil, err
		}
		if arg.Type() == types.Unknown {
			if arg, err = s.coerce(arg, types.Text, -1, implicit, location(c.Arg)); err != nil {
				return nil, err
			}
		}
		out.Arg = arg
		elem = &query.Element{T: query.T{OID: arg.Type(), Mod: arg.Typmod()}}
	}
	var results []item
	for _, n := range c.Args {
		w := n.GetCaseWhen()
		cond, err := s.when(w, elem)
		if err != nil {
			return nil, err
		}
		result, err := s.expr(w.Result)
		if err != nil {
			return nil, err
		}
		out.Whens = append(out.Whens, query.When{Cond: cond})
		results = append(results, item{result, location(w.Result)})
	}
	last := item{&query.Const{T: query.Of(types.Unknown)}, -1}
	if c.Defresult != nil {
		e, err := s.expr(c.Defresult)
		if err != nil {
			return nil, err
		}
		last = item{e, location(c.Defresult)}
	}
	t, err := s.commonType(append([]item{last}, results...), "CASE")
	if err != nil {
		return nil, err
	}
	if out.Else, err = s.coerceCommon(last.expr, t, "CASE/ELSE", last.loc); err != nil {
		return nil, err
	}
	all := []query.Expr{out.Else}
	for i, r := range results {
		e, err := s.coerceCommon(r.expr, t, "CASE/WHEN", r.loc)
		if err != nil {
			return nil, err
		}
		out.Whens[i].Result = e
		all = append(all, e)
	}
	if s.lastSRF != before {
		return nil, s.noSetIn("CASE")
	}
	out.T = query.T{OID: t, Mod: commonTypmod(all, t)}
	return out, nil
}

func (s *scope) when(w *pg_query.CaseWhen, elem *query.Element) (query.Expr, error) {
	cond, err := s.expr(w.Expr)
	if err != nil {
		return nil, err
	}
	if elem != nil {
		if cond, err = s.opCall([]string{"="}, elem, cond, w.Location); err != nil {
			return nil, err
		}
	}
	return s.coerceBool(cond, "CASE/WHEN", location(w.Expr))
}

func (s *scope) noSetIn(construct string) error {
	return pgerr.Unsupported("set-returning functions are not allowed in %s", construct).At(s.lastSRF.Pos).
		WithHint("You might be able to move the set-returning function into a LATERAL FROM item.")
}

func (s *scope) coalesce(c *pg_query.CoalesceExpr) (query.Expr, error) {
	before := s.lastSRF
	args, t, err := s.commonArgs(c.Args, "COALESCE")
	if err != nil {
		return nil, err
	}
	if s.lastSRF != before {
		return nil, s.noSetIn("COALESCE")
	}
	return &query.Coalesce{T: query.T{OID: t, Mod: commonTypmod(args, t)}, Args: args}, nil
}

// commonArgs analyzes arguments that must have a common type.
func (s *scope) commonArgs(nodes []*pg_query.Node, construct string) ([]query.Expr, types.OID, error) {
	items, err := s.items(nodes)
	if err != nil {
		return nil, 0, err
	}
	t, err := s.commonType(items, construct)
	if err != nil {
		return nil, 0, err
	}
	args, err := s.coerceAll(items, t, construct)
	return args, t, err
}

func (s *scope) minMax(m *pg_query.MinMaxExpr) (query.Expr, error) {
	least := m.Op == pg_query.MinMaxOp_IS_LEAST
	name := "GREATEST"
	if least {
		name = "LEAST"
	}
	args, t, err := s.commonArgs(m.Args, name)
	if err != nil {
		return nil, err
	}
	if pgcatalog.SortOpsOf(t) == nil {
		return nil, s.errorf(m.Location, pgerr.UndefinedFunction,
			"could not identify a comparison function for type %s", s.ctx.name(t))
	}
	return &query.MinMax{T: query.T{OID: t, Mod: commonTypmod(args, t)}, Least: least, Args: args}, nil
}

// array is ARRAY[…]; target and elem are the types of a cast around it, 0 if none.
func (s *scope) array(a *pg_query.A_ArrayExpr, target, elem types.OID, typmod int32) (query.Expr, error) {
	out := &query.Array{}
	items := make([]item, 0, len(a.Elements))
	for i, n := range a.Elements {
		var e query.Expr
		var err error
		nested := n.GetAArrayExpr()
		if nested != nil {
			e, err = s.array(nested, target, elem, typmod)
		} else {
			e, err = s.expr(n)
		}
		if err != nil {
			return nil, err
		}
		isSub := nested != nil || isArray(e.Type()) && e.Type() != types.Int2Vector && e.Type() != types.OidVector
		if i == 0 {
			out.Multi = isSub
		}
		items = append(items, item{e, location(n)})
	}
	elemType, arrayType := elem, target
	hard := target != 0
	if !hard {
		if len(items) == 0 {
			return nil, s.errorf(a.Location, pgerr.IndeterminateDatatype, "cannot determine type of empty array").
				WithHint("Explicitly cast to the desired type, for example ARRAY[]::integer[].")
		}
		t, err := s.commonType(items, "ARRAY")
		if err != nil {
			return nil, err
		}
		elemType, arrayType = t, arrayTypeOf(t)
		if out.Multi {
			elemType, arrayType = elementOf(t), t
			if elemType == 0 {
				return nil, s.errorf(a.Location, pgerr.UndefinedObject, "could not find element type for data type %s",
					s.ctx.name(t))
			}
		} else if arrayType == 0 {
			return nil, s.errorf(a.Location, pgerr.UndefinedObject, "could not find array type for data type %s",
				s.ctx.name(t))
		}
	}
	want := elemType
	if out.Multi {
		want = arrayType
	}
	for _, it := range items {
		e, err := s.arrayElement(it, want, typmod, hard)
		if err != nil {
			return nil, err
		}
		out.Elems = append(out.Elems, e)
	}
	out.T, out.Elem = query.T{OID: arrayType, Mod: commonTypmod(out.Elems, want)}, elemType
	return out, nil
}

func (s *scope) arrayElement(it item, want types.OID, typmod int32, hard bool) (query.Expr, error) {
	if !hard {
		return s.coerceCommon(it.expr, want, "ARRAY", it.loc)
	}
	e, err := s.coerceTo(it.expr, want, typmod, explicit, it.loc)
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, s.errorf(it.loc, pgerr.CannotCoerce, "cannot cast type %s to %s", s.ctx.name(it.expr.Type()),
			s.ctx.name(want))
	}
	return e, nil
}

// arrayTypeOf returns the type of arrays of t; for an array type it is that type itself.
func arrayTypeOf(t types.OID) types.OID {
	if a := pgcatalog.ArrayOf(t); a != 0 {
		return a
	}
	if isArray(t) {
		return t
	}
	return 0
}

// row is ROW(…).
func (s *scope) row(r *pg_query.RowExpr) (query.Expr, error) {
	out := &query.Row{T: query.Of(types.Record)}
	for _, n := range r.Args {
		if it, err := s.expandStar(n); err != nil {
			return nil, err
		} else if it != nil {
			for _, t := range it {
				out.Fields = append(out.Fields, t.Expr)
			}
			continue
		}
		e, err := s.expr(n)
		if err != nil {
			return nil, err
		}
		if e.Type() == types.Unknown {
			if e, err = asText(s, e, location(n)); err != nil {
				return nil, err
			}
		}
		out.Fields = append(out.Fields, e)
	}
	if len(out.Fields) > 1664 {
		return nil, s.errorf(r.Location, pgerr.TooManyColumns, "ROW expressions can have at most %d entries", 1664)
	}
	for i := range out.Fields {
		out.Names = append(out.Names, "f"+itoa(i+1))
	}
	return out, nil
}
