package expr

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// call compiles a function or operator: by a fast path if there is one, otherwise by its
// implementation.
func (k *Compiler) call(n *query.Call) (Eval, error) {
	if n.Proc.RetSet {
		return nil, pgerr.Unsupported("set-returning function %s() is not supported here", n.Proc.Name)
	}
	fast := []func(*query.Call) (Eval, bool, error){k.fastJSONPath, k.fastCompare, k.fastArith, k.fastLike}
	for _, compile := range fast {
		if f, ok, err := compile(n); ok || err != nil {
			return f, err
		}
	}
	args, err := k.Exprs(n.Args)
	if err != nil {
		return nil, err
	}
	return k.apply(n, args)
}

// apply calls the implementation of n's function over args.
func (k *Compiler) apply(n *query.Call, args []Eval) (Eval, error) {
	impl, err := implOf(n.Proc)
	if err != nil {
		return nil, err
	}
	site := k.CallSite(n, n.Columns)
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
		return nil, NotImplemented(p)
	}
	return impl, nil
}

// NotImplemented is the error for a function that package builtin does not have.
func NotImplemented(p *pgcatalog.Proc) error {
	text := p.Name + "("
	for i, t := range p.ArgTypes {
		if i > 0 {
			text += ", "
		}
		text += pgcatalog.FormatType(t, -1)
	}
	return pgerr.Unsupported("function %s) is not supported yet", text)
}

// CallSite returns the context of a call site. columns are those of a record that the call returns.
func (k *Compiler) CallSite(n *query.Call, columns []query.Column) *builtin.Ctx {
	site := &builtin.Ctx{RetType: n.Type(), Variadic: n.Variadic, ArgTypes: make([]uint32, len(n.Args))}
	for i, a := range n.Args {
		if site.ArgTypes[i] = a.Type(); n.Proc.Src != "pg_typeof" {
			site.ArgTypes[i] = types.BaseOf(a.Type())
		}
	}
	site.Columns = recordColumns(columns)
	return k.Site(site)
}

// RecordCall compiles a function that returns a record with the columns that the call lists.
func (k *Compiler) RecordCall(n *query.Call, columns []query.Column) (Eval, error) {
	impl, err := implOf(n.Proc)
	if err != nil {
		return nil, err
	}
	args, err := k.Exprs(n.Args)
	if err != nil {
		return nil, err
	}
	return k.callN(impl.Func, k.CallSite(n, columns), args, n.Proc.Strict), nil
}

func recordColumns(columns []query.Column) []builtin.Column {
	var out []builtin.Column
	for _, c := range columns {
		out = append(out, builtin.Column{Name: c.Name, Type: c.Type, Typmod: c.Typmod})
	}
	return out
}

func (k *Compiler) call1(fn builtin.Func, site *builtin.Ctx, a Eval, strict bool) Eval {
	args := k.Space(1)
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		x, err := a(c, row)
		if err != nil || strict && x.K == types.KindNull {
			return types.Null, err
		}
		c.Enter(site)
		args[0] = x
		return fn(site, args)
	}
}

func (k *Compiler) call2(fn builtin.Func, site *builtin.Ctx, a, b Eval, strict bool) Eval {
	args := k.Space(2)
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		x, err := a(c, row)
		if err != nil {
			return types.Null, err
		}
		y, err := b(c, row)
		if err != nil || strict && (x.K == types.KindNull || y.K == types.KindNull) {
			return types.Null, err
		}
		c.Enter(site)
		args[0], args[1] = x, y
		return fn(site, args)
	}
}

func (k *Compiler) callN(fn builtin.Func, site *builtin.Ctx, evals []Eval, strict bool) Eval {
	args := k.Space(len(evals))
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
		c.Enter(site)
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
func (k *Compiler) equality(
	p *pgcatalog.Proc,
	left, right types.OID,
) (func(c *Ctx, a, b types.Datum) (bool, error), error) {
	impl, err := implOf(p)
	if err != nil {
		return nil, err
	}
	site := k.Site(&builtin.Ctx{RetType: types.Bool, ArgTypes: []uint32{left, right}})
	args := k.Space(2)
	return func(c *Ctx, a, b types.Datum) (bool, error) {
		c.Enter(site)
		args[0], args[1] = a, b
		d, err := impl.Func(site, args)
		return d.Bool(), err
	}, nil
}

// distinct is IS [NOT] DISTINCT FROM.
func (k *Compiler) distinct(n *query.Distinct) (Eval, error) {
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
func (k *Compiler) nullIf(n *query.NullIf) (Eval, error) {
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

func (k *Compiler) equalPair(p *pgcatalog.Proc, left, right query.Expr) (a, b Eval, equal equalFunc, err error) {
	if a, err = k.Expr(left); err != nil {
		return nil, nil, nil, err
	}
	if b, err = k.Expr(right); err != nil {
		return nil, nil, nil, err
	}
	equal, err = k.equality(p, left.Type(), right.Type())
	return a, b, equal, err
}
