package expr

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// relabel changes the type of a value without changing its bytes. Integers and oids are one kind in
// PostgreSQL and two here.
func (k *Compiler) relabel(n *query.Relabel) (Eval, error) {
	f, err := k.Expr(n.Arg)
	if err != nil {
		return nil, err
	}
	from, to := types.KindOf(n.Arg.Type()), types.KindOf(n.Type())
	if (n.Type() == types.OidVector || n.Type() == types.Int2Vector) && n.Arg.Type() != n.Type() {
		return toVector(f, n.Type()), nil
	}
	if from == to || to == types.KindNull {
		return f, nil
	}
	switch {
	case from == types.KindInt && to == types.KindOid:
		return mapDatum(f, func(d types.Datum) types.Datum { return types.NewOid(uint32(d.N)) }), nil
	case from == types.KindOid && to == types.KindInt:
		return mapDatum(f, func(d types.Datum) types.Datum { return types.NewInt(int64(int32(d.N))) }), nil
	}
	return mapDatum(f, func(d types.Datum) types.Datum { d.K = to; return d }), nil
}

// toVector refuses arrays that are not vectors: those with several dimensions or with nulls.
func toVector(f Eval, oid types.OID) Eval {
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		d, err := f(c, row)
		if err != nil || d.IsNull() {
			return d, err
		}
		a, err := types.ArrayOf(d)
		if err != nil {
			return types.Null, err
		}
		if a.NDim > 1 || a.HasNulls() {
			return types.Null, pgerr.New(pgerr.DatatypeMismatch, "array is not a valid %s", types.TypeName(oid))
		}
		return d, nil
	}
}

func mapDatum(f Eval, m func(types.Datum) types.Datum) Eval {
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		d, err := f(c, row)
		if err != nil || d.IsNull() {
			return d, err
		}
		return m(d), nil
	}
}

// coerceIO casts through the text form.
func (k *Compiler) coerceIO(n *query.CoerceIO) (Eval, error) {
	f, err := k.Expr(n.Arg)
	if err != nil {
		return nil, err
	}
	from, to, mod := n.Arg.Type(), n.Type(), n.Typmod()
	if !types.Readable(to) {
		return nil, pgerr.Unsupported("type %s is not supported yet", pgcatalog.FormatType(to, -1)).
			WithHint("Use text or jsonb.")
	}
	fromText, toText := types.KindOf(from) == types.KindText, isPlainText(to) && mod < 0
	buf := &textBuffer{}
	k.Own(buf)
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		d, err := f(c, row)
		if err != nil || d.IsNull() {
			return types.Null, err
		}
		text := d.S
		if !fromText {
			text = buf.output(from, d, c.Env)
		}
		if toText {
			return types.NewText(text), nil
		}
		if to == types.JSONB {
			doc, err := jsonb.ParseUntil(text, c.Cancelled)
			if err != nil {
				return types.Null, err
			}
			return types.NewJSONB(string(doc)), nil
		}
		return types.Input(to, mod, text, c.Env)
	}, nil
}

// isPlainText reports whether a type accepts every text unchanged.
func isPlainText(oid types.OID) bool { return oid == types.Text || oid == types.VarChar }

// arrayCoerce casts each element of an array.
func (k *Compiler) arrayCoerce(n *query.ArrayCoerce) (Eval, error) {
	f, err := k.Expr(n.Arg)
	if err != nil {
		return nil, err
	}
	elem, err := k.Expr(n.Elem)
	if err != nil {
		return nil, err
	}
	to := types.ElemOf(n.Type())
	cast := func(c *Ctx, row types.Row) (types.Datum, error) {
		d, err := f(c, row)
		if err != nil || d.IsNull() {
			return types.Null, err
		}
		a, err := types.ArrayOf(d)
		if err != nil {
			return types.Null, err
		}
		vals := make([]types.Datum, a.Len())
		for i := range vals {
			if vals[i], err = c.withElement(a.At(i), elem, row); err != nil {
				return types.Null, err
			}
		}
		return types.NewArray(to, a.Dims(), a.Lowers(), vals), nil
	}
	return asVector(cast, n.Type()), nil
}

// coerceToDomain checks a value by the constraints of a domain.
func (k *Compiler) coerceToDomain(n *query.CoerceToDomain) (Eval, error) {
	f, err := k.Expr(n.Arg)
	if err != nil {
		return nil, err
	}
	checks := make([]Eval, len(n.Checks))
	for i := range n.Checks {
		if checks[i], err = k.Expr(n.Checks[i].Expr); err != nil {
			return nil, err
		}
	}
	violated := func(e *pgerr.Error) error {
		e.Schema, e.DataType = n.Schema, n.Domain
		return e
	}
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		d, err := f(c, row)
		if err != nil {
			return types.Null, err
		}
		if d.IsNull() && n.NotNull {
			return types.Null, violated(pgerr.New(pgerr.NotNullViolation, "domain %s does not allow null values",
				n.Shown))
		}
		for i, check := range checks {
			ok, err := c.withElement(d, check, row)
			if err != nil {
				return types.Null, err
			}
			if !ok.IsNull() && !ok.Bool() {
				e := pgerr.New(pgerr.CheckViolation, `value for domain %s violates check constraint "%s"`, n.Shown,
					n.Checks[i].Name)
				e.Constraint = n.Checks[i].Name
				return types.Null, violated(e)
			}
		}
		return d, nil
	}, nil
}

// sqlValue compiles CURRENT_DATE and similar values, which are fixed for the whole statement.
func (k *Compiler) sqlValue(n *query.SQLValue) (Eval, error) {
	now := func(c *Ctx) types.Datum {
		if c.Env == nil {
			return types.Datum{K: types.KindTimestamp}
		}
		return types.Datum{K: types.KindTimestamp, N: c.Env.Now}
	}
	casts := map[string]string{
		"current_date": "timestamptz_date", "current_time": "timestamptz_timetz", "localtime": "timestamptz_time",
		"localtimestamp": "timestamptz_timestamp",
	}
	typ, mod := n.Type(), n.Typmod()
	var get func(c *Ctx) (types.Datum, error)
	if src, ok := casts[n.Name]; ok {
		impl, found := builtin.Lookup(src)
		if !found || impl.Func == nil {
			return nil, pgerr.Unsupported("%s is not supported yet", n.Name)
		}
		site := k.Site(&builtin.Ctx{ArgTypes: []uint32{types.TimestampTZ}, RetType: typ})
		get = func(c *Ctx) (types.Datum, error) {
			c.Enter(site)
			return impl.Func(site, []types.Datum{now(c)})
		}
	} else if n.Name == "current_timestamp" {
		get = func(c *Ctx) (types.Datum, error) { return now(c), nil }
	} else {
		return sessionValue(n.Name)
	}
	return func(c *Ctx, _ types.Row) (types.Datum, error) {
		d, err := get(c)
		if err != nil || mod < 0 {
			return d, err
		}
		return types.ApplyTypmod(typ, mod, d, true)
	}, nil
}

func sessionValue(name string) (Eval, error) {
	get, ok := map[string]func(s builtin.SessionInfo) types.Datum{
		"current_user":    func(s builtin.SessionInfo) types.Datum { return types.NewText(s.CurrentUser()) },
		"user":            func(s builtin.SessionInfo) types.Datum { return types.NewText(s.CurrentUser()) },
		"current_role":    func(s builtin.SessionInfo) types.Datum { return types.NewText(s.CurrentUser()) },
		"session_user":    func(s builtin.SessionInfo) types.Datum { return types.NewText(s.SessionUser()) },
		"current_catalog": func(s builtin.SessionInfo) types.Datum { return types.NewText(s.CurrentDatabase()) },
		"current_schema": func(s builtin.SessionInfo) types.Datum {
			if path := s.CurrentSchemas(false); len(path) > 0 {
				return types.NewText(path[0])
			}
			return types.Null
		},
	}[name]
	if !ok {
		return nil, pgerr.Unsupported("%s is not supported yet", name)
	}
	return func(c *Ctx, _ types.Row) (types.Datum, error) {
		if c.Session == nil {
			return types.Null, pgerr.Unsupported("%s is not known here", name)
		}
		return get(c.Session), nil
	}, nil
}
