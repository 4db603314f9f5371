package expr

import (
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

var (
	trueDatum  = types.NewBool(true)
	falseDatum = types.NewBool(false)
)

// and is false if an argument is false; otherwise null if one is null.
func (k *Compiler) and(n *query.And) (Eval, error) { return k.junction(n.Args, 0) }

// or is true if an argument is true; otherwise null if one is null.
func (k *Compiler) or(n *query.Or) (Eval, error) { return k.junction(n.Args, 1) }

// junction compiles AND (decisive 0) and OR (decisive 1).
func (k *Compiler) junction(args []query.Expr, decisive int64) (Eval, error) {
	fs, err := k.Exprs(args)
	if err != nil {
		return nil, err
	}
	if len(fs) == 2 {
		return junction2(fs[0], fs[1], decisive), nil
	}
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		null := false
		for _, f := range fs {
			d, err := f(c, row)
			switch {
			case err != nil:
				return types.Null, err
			case d.K == types.KindNull:
				null = true
			case d.N == decisive:
				return d, nil
			}
		}
		if null {
			return types.Null, nil
		}
		return types.Datum{K: types.KindBool, N: 1 - decisive}, nil
	}, nil
}

func junction2(a, b Eval, decisive int64) Eval {
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		x, err := a(c, row)
		if err != nil || x.K != types.KindNull && x.N == decisive {
			return x, err
		}
		y, err := b(c, row)
		if err != nil || x.K != types.KindNull || y.K == types.KindNull || y.N == decisive {
			return y, err
		}
		return types.Null, nil
	}
}

func (k *Compiler) not(n *query.Not) (Eval, error) {
	f, err := k.Expr(n.Arg)
	if err != nil {
		return nil, err
	}
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		d, err := f(c, row)
		if err != nil || d.K == types.KindNull {
			return d, err
		}
		return types.NewBool(d.N == 0), nil
	}, nil
}

func (k *Compiler) nullTest(n *query.NullTest) (Eval, error) {
	if r, ok := n.Arg.(*query.Row); ok && n.Row {
		return k.rowNullTest(r, n.Not)
	}
	f, err := k.Expr(n.Arg)
	if err != nil {
		return nil, err
	}
	if n.Row {
		return recordNullTest(f, n.Not), nil
	}
	want := !n.Not
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		d, err := f(c, row)
		return types.NewBool((d.K == types.KindNull) == want), err
	}, nil
}

// rowNullTest is ROW(…) IS [NOT] NULL: every field is (not) null.
func (k *Compiler) rowNullTest(r *query.Row, not bool) (Eval, error) {
	fs, err := k.Exprs(r.Fields)
	if err != nil {
		return nil, err
	}
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		for _, f := range fs {
			d, err := f(c, row)
			if err != nil {
				return types.Null, err
			}
			if d.IsNull() == not {
				return falseDatum, nil
			}
		}
		return trueDatum, nil
	}, nil
}

// boolTest is IS [NOT] TRUE, FALSE, UNKNOWN.
func (k *Compiler) boolTest(n *query.BoolTest) (Eval, error) {
	f, err := k.Expr(n.Arg)
	if err != nil {
		return nil, err
	}
	value, not := n.Value, n.Not
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		d, err := f(c, row)
		if err != nil {
			return types.Null, err
		}
		var is bool
		switch value {
		case 't':
			is = d.K != types.KindNull && d.N != 0
		case 'f':
			is = d.K != types.KindNull && d.N == 0
		default:
			is = d.K == types.KindNull
		}
		return types.NewBool(is != not), nil
	}, nil
}

func (k *Compiler) coalesce(n *query.Coalesce) (Eval, error) {
	fs, err := k.Exprs(n.Args)
	if err != nil {
		return nil, err
	}
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		for _, f := range fs {
			if d, err := f(c, row); err != nil || d.K != types.KindNull {
				return d, err
			}
		}
		return types.Null, nil
	}, nil
}

// minMax is GREATEST and LEAST: nulls are left out.
func (k *Compiler) minMax(n *query.MinMax) (Eval, error) {
	fs, err := k.Exprs(n.Args)
	if err != nil {
		return nil, err
	}
	less, compare := n.Least, types.Comparer(n.Type())
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		best := types.Null
		for _, f := range fs {
			d, err := f(c, row)
			if err != nil {
				return types.Null, err
			}
			if d.IsNull() {
				continue
			}
			if best.IsNull() || less == (compare(d, best) < 0) && compare(d, best) != 0 {
				best = d
			}
		}
		return best, nil
	}, nil
}

type whenEval struct{ cond, result Eval }

func (k *Compiler) caseExpr(n *query.Case) (Eval, error) {
	whens := make([]whenEval, len(n.Whens))
	for i, w := range n.Whens {
		var err error
		if whens[i].cond, err = k.Expr(w.Cond); err != nil {
			return nil, err
		}
		if whens[i].result, err = k.Expr(w.Result); err != nil {
			return nil, err
		}
	}
	other, err := k.Optional(n.Else)
	if err != nil {
		return nil, err
	}
	if n.Arg == nil {
		return searchedCase(whens, other), nil
	}
	arg, err := k.Expr(n.Arg)
	if err != nil {
		return nil, err
	}
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		v, err := arg(c, row)
		if err != nil {
			return types.Null, err
		}
		for i := range whens {
			d, err := c.withElement(v, whens[i].cond, row)
			if err != nil {
				return types.Null, err
			}
			if d.Bool() {
				return whens[i].result(c, row)
			}
		}
		return elseOf(c, other, row)
	}, nil
}

func searchedCase(whens []whenEval, other Eval) Eval {
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		for i := range whens {
			ok, err := whens[i].cond.IsTrue(c, row)
			if err != nil {
				return types.Null, err
			}
			if ok {
				return whens[i].result(c, row)
			}
		}
		return elseOf(c, other, row)
	}
}

func elseOf(c *Ctx, other Eval, row types.Row) (types.Datum, error) {
	if other == nil {
		return types.Null, nil
	}
	return other(c, row)
}
