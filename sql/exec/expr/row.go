package expr

import (
	"strconv"
	"strings"

	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// row is ROW(…).
func (k *Compiler) row(n *query.Row) (Eval, error) {
	fs, err := k.Exprs(n.Fields)
	if err != nil {
		return nil, err
	}
	oids, vals, names := query.TypesOf(n.Fields), k.Space(len(fs)), rowNames(n)
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		if err := EvalInto(c, vals, fs, row); err != nil {
			return types.Null, err
		}
		return types.NewNamedRecord(oids, vals, names), nil
	}, nil
}

// rowCoerce converts a row to a composite type.
func (k *Compiler) rowCoerce(n *query.RowCoerce) (Eval, error) {
	f, err := k.Expr(n.Arg)
	if err != nil {
		return nil, err
	}
	to, err := k.Expr(n.Row)
	if err != nil {
		return nil, err
	}
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		d, err := f(c, row)
		if err != nil || d.IsNull() {
			return types.Null, err
		}
		return c.withElement(d, to, row)
	}, nil
}

// rowNames returns the field names of a row: those of its columns; none for ROW(…), whose fields
// are f1, f2 …, and for values of composite types.
func rowNames(n *query.Row) string {
	if n.OID != types.Record || len(n.Names) != len(n.Fields) {
		return ""
	}
	for i, name := range n.Names {
		if name != "f"+strconv.Itoa(i+1) {
			return types.RecordNames(n.Names)
		}
	}
	return ""
}

// recordNullTest is IS [NOT] NULL of a record value: every field is (not) null.
func recordNullTest(f Eval, not bool) Eval {
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		d, err := f(c, row)
		if err != nil {
			return types.Null, err
		}
		if d.IsNull() {
			return types.NewBool(!not), nil
		}
		r, err := types.RecordOf(d)
		if err != nil {
			return types.Null, err
		}
		for i := range r.Len() {
			if r.At(i).IsNull() == not {
				return falseDatum, nil
			}
		}
		return trueDatum, nil
	}
}

// field is (record).name.
func (k *Compiler) field(n *query.Field) (Eval, error) {
	f, err := k.Expr(n.Arg)
	if err != nil {
		return nil, err
	}
	i := n.N
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		d, err := f(c, row)
		if err != nil || d.IsNull() {
			return types.Null, err
		}
		r, err := types.RecordOf(d)
		if err != nil || i >= r.Len() {
			return types.Null, err
		}
		return r.At(i), nil
	}, nil
}

// rowCompare is <, <=, >, >= of rows: the first fields that differ decide.
func (k *Compiler) rowCompare(n *query.RowCompare) (Eval, error) {
	left, err := k.Exprs(n.Left)
	if err != nil {
		return nil, err
	}
	right, err := k.Exprs(n.Right)
	if err != nil {
		return nil, err
	}
	before, equal := make([]equalFunc, len(left)), make([]equalFunc, len(left))
	for i := range left {
		lt, rt := n.Left[i].Type(), n.Right[i].Type()
		if before[i], err = k.equality(n.Lt[i], lt, rt); err != nil {
			return nil, err
		}
		if equal[i], err = k.equality(n.Eq[i], lt, rt); err != nil {
			return nil, err
		}
	}
	orEqual := strings.HasSuffix(n.Op, "=")
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		for i := range left {
			x, err := left[i](c, row)
			if err != nil {
				return types.Null, err
			}
			y, err := right[i](c, row)
			if err != nil || x.IsNull() || y.IsNull() {
				return types.Null, err
			}
			same, err := equal[i](c, x, y)
			if err != nil {
				return types.Null, err
			}
			if !same {
				is, err := before[i](c, x, y)
				return types.NewBool(is), err
			}
		}
		return types.NewBool(orEqual), nil
	}, nil
}

// pick returns the constant for the number of a grouping set.
func (k *Compiler) pick(n *query.Pick) (Eval, error) {
	of, err := k.Exprs(n.Of)
	if err != nil {
		return nil, err
	}
	slot := n.N.N
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		i := row[slot].N
		if i < 0 || int(i) >= len(of) {
			return types.Null, internal("grouping set %d", i)
		}
		return of[i](c, row)
	}, nil
}
