package exec

import (
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// call compiles a function or operator: by a fast path if there is one, otherwise by its
// implementation.
func (k *compiler) call(n *query.Call) (Eval, error) {
	if n.Proc.RetSet {
		return nil, unsupported("set-returning function %s() is not supported here", n.Proc.Name)
	}
	for _, fast := range []func(*query.Call) (Eval, bool, error){k.fastJSONPath, k.fastCompare, k.fastArith, k.fastLike} {
		if f, ok, err := fast(n); ok || err != nil {
			return f, err
		}
	}
	args, err := k.exprs(n.Args)
	if err != nil {
		return nil, err
	}
	return k.apply(n, args)
}

// apply calls the implementation of n's function over args.
func (k *compiler) apply(n *query.Call, args []Eval) (Eval, error) {
	impl, err := implOf(n.Proc)
	if err != nil {
		return nil, err
	}
	site := k.siteOf(n)
	if n.Proc.Options > 0 {
		return k.callN(withOptions(impl.Func, n.Proc.Options), site, args, false), nil
	}
	switch len(args) {
	case 1:
		return k.call1(impl.Func, site, args[0], n.Proc.Strict), nil
	case 2:
		return k.call2(impl.Func, site, args[0], args[1], n.Proc.Strict), nil
	}
	return k.callN(impl.Func, site, args, n.Proc.Strict), nil
}

// implOf returns the scalar implementation of a function, or the error that there is none.
func implOf(p *pgcatalog.Proc) (*builtin.Impl, error) {
	impl, ok := builtin.For(p)
	if !ok || impl.Func == nil {
		return nil, notImplemented(p)
	}
	return impl, nil
}

func notImplemented(p *pgcatalog.Proc) error {
	text := p.Name + "("
	for i, t := range p.ArgTypes {
		if i > 0 {
			text += ", "
		}
		text += pgcatalog.FormatType(t, -1)
	}
	return unsupported("function %s) is not supported yet", text)
}

// siteOf returns the context of a call site.
func (k *compiler) siteOf(n *query.Call) *builtin.Ctx {
	site := &builtin.Ctx{RetType: n.Type(), Variadic: n.Variadic, ArgTypes: make([]uint32, len(n.Args))}
	for i, a := range n.Args {
		site.ArgTypes[i] = a.Type()
	}
	site.Columns = recordColumns(n.Columns)
	return k.site(site)
}

// enter readies a call site for this execution.
func enter(c *Ctx, site *builtin.Ctx) {
	site.Context, site.Env, site.Session = c.Context, c.Env, c.Session
}

func (k *compiler) call1(fn builtin.Func, site *builtin.Ctx, a Eval, strict bool) Eval {
	args := k.space(1)
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		x, err := a(c, row)
		if err != nil || strict && x.K == types.KindNull {
			return types.Null, err
		}
		enter(c, site)
		args[0] = x
		return fn(site, args)
	}
}

func (k *compiler) call2(fn builtin.Func, site *builtin.Ctx, a, b Eval, strict bool) Eval {
	args := k.space(2)
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		x, err := a(c, row)
		if err != nil {
			return types.Null, err
		}
		y, err := b(c, row)
		if err != nil || strict && (x.K == types.KindNull || y.K == types.KindNull) {
			return types.Null, err
		}
		enter(c, site)
		args[0], args[1] = x, y
		return fn(site, args)
	}
}

func (k *compiler) callN(fn builtin.Func, site *builtin.Ctx, evals []Eval, strict bool) Eval {
	args := k.space(len(evals))
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		null := false
		for i, f := range evals {
			d, err := f(c, row)
			if err != nil {
				return types.Null, err
			}
			null = null || d.K == types.KindNull
			args[i] = d
		}
		if strict && null {
			return types.Null, nil
		}
		enter(c, site)
		return fn(site, args)
	}
}

// withOptions makes a function strict in all but its last n arguments.
func withOptions(fn builtin.Func, n int) builtin.Func {
	return func(site *builtin.Ctx, args []types.Datum) (types.Datum, error) {
		for _, d := range args[:len(args)-n] {
			if d.K == types.KindNull {
				return types.Null, nil
			}
		}
		return fn(site, args)
	}
}

// equality compiles the equality function of a type for two values, which must not be null.
func (k *compiler) equality(p *pgcatalog.Proc, left, right types.OID) (func(c *Ctx, a, b types.Datum) (bool, error), error) {
	impl, err := implOf(p)
	if err != nil {
		return nil, err
	}
	site := k.site(&builtin.Ctx{RetType: types.Bool, ArgTypes: []uint32{left, right}})
	args := k.space(2)
	return func(c *Ctx, a, b types.Datum) (bool, error) {
		enter(c, site)
		args[0], args[1] = a, b
		d, err := impl.Func(site, args)
		return d.Bool(), err
	}, nil
}

// distinct is IS [NOT] DISTINCT FROM.
func (k *compiler) distinct(n *query.Distinct) (Eval, error) {
	a, b, equal, err := k.equalPair(n.Equal, n.Left, n.Right)
	if err != nil {
		return nil, err
	}
	not := n.Not
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		x, err := a(c, row)
		if err != nil {
			return types.Null, err
		}
		y, err := b(c, row)
		if err != nil {
			return types.Null, err
		}
		same := x.IsNull() && y.IsNull()
		if !x.IsNull() && !y.IsNull() {
			if same, err = equal(c, x, y); err != nil {
				return types.Null, err
			}
		}
		return types.NewBool(same == not), nil
	}, nil
}

// nullIf is NULLIF.
func (k *compiler) nullIf(n *query.NullIf) (Eval, error) {
	a, b, equal, err := k.equalPair(n.Equal, n.Left, n.Right)
	if err != nil {
		return nil, err
	}
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		x, err := a(c, row)
		if err != nil || x.IsNull() {
			return x, err
		}
		y, err := b(c, row)
		if err != nil || y.IsNull() {
			return x, err
		}
		same, err := equal(c, x, y)
		if err != nil || same {
			return types.Null, err
		}
		return x, nil
	}, nil
}

type equalFunc = func(c *Ctx, a, b types.Datum) (bool, error)

func (k *compiler) equalPair(p *pgcatalog.Proc, left, right query.Expr) (a, b Eval, equal equalFunc, err error) {
	if a, err = k.expr(left); err != nil {
		return nil, nil, nil, err
	}
	if b, err = k.expr(right); err != nil {
		return nil, nil, nil, err
	}
	equal, err = k.equality(p, left.Type(), right.Type())
	return a, b, equal, err
}
