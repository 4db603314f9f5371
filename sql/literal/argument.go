package literal

import (
	"context"
	"strconv"
	"sync"

	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/parse/shape"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Arguments make the arguments of a parameterized query from the literals of a text. They are safe
// for concurrent use.
type Arguments []argument

type argument struct {
	literal int // position in the text
	reader  reader
	cast    *cast // of the literal's value; nil: there is none
}

// cast is the casts around a literal, over a parameter in its place.
type cast struct {
	of   query.Expr
	free sync.Pool // of *castInstance
}

// castInstance serves one goroutine at a time.
type castInstance struct {
	compiler expr.Compiler
	eval     expr.Eval
	runs     uint64
}

func (c *cast) instance() (*castInstance, error) {
	if x, ok := c.free.Get().(*castInstance); ok {
		return x, nil
	}
	x := &castInstance{}
	var err error
	x.eval, err = x.compiler.Expr(c.of)
	return x, err
}

// value returns what a literal's value is cast to.
func (c *cast) value(d types.Datum, env *types.Env) (types.Datum, error) {
	x, err := c.instance()
	if err != nil {
		return d, err
	}
	x.runs++
	in := expr.Ctx{Run: x.runs, Context: context.Background(), Params: types.Row{d}, Env: env}
	out, err := x.eval(&in, nil)
	out = out.Clone()
	x.compiler.Rest()
	c.free.Put(x)
	return out, err
}

// reader reads a literal as a type.
type reader struct {
	oid   types.OID
	minus bool
}

// readable are the types whose literals mean the same wherever and whenever they are read with the
// same settings.
var readable = map[types.OID]bool{
	types.Bool: true, types.Bytea: true, types.Int2: true, types.Int4: true, types.Int8: true, types.Text: true,
	types.VarChar: true, types.BPChar: true, types.Name: true, types.JSON: true, types.JSONB: true,
	types.Float4: true, types.Float8: true, types.Numeric: true, types.Date: true, types.Time: true,
	types.Timestamp: true, types.TimestampTZ: true, types.Interval: true, types.UUID: true,
}

// argumentOf returns the argument of a parameter that replaces e, a literal with its casts.
func argumentOf(i int, r *reader, e query.Expr, c *query.Const) (argument, error) {
	out := argument{literal: i, reader: *r}
	if e == query.Expr(c) {
		return out, nil
	}
	out.cast = &cast{of: query.Rewrite(e, func(x query.Expr) (query.Expr, bool) {
		if x != query.Expr(c) {
			return nil, false
		}
		return &query.Param{T: c.T, N: 1}, true
	})}
	x, err := out.cast.instance()
	if err == nil {
		out.cast.free.Put(x)
	}
	return out, err
}

// Of returns the arguments for a text. ok is false if the text cannot share the query.
func (list Arguments) Of(t *shape.Text, env *types.Env) (args []types.Datum, ok bool) {
	args = make([]types.Datum, len(list))
	for i := range list {
		a := &list[i]
		d, ok := a.reader.read(&t.Literals[a.literal], env)
		if ok && a.cast != nil {
			var err error
			d, err = a.cast.value(d, env)
			ok = err == nil && !d.IsNull()
		}
		if !ok {
			return nil, false
		}
		args[i] = d
	}
	return args, true
}

// read returns the value of a literal, as analysis reads it.
func (r reader) read(l *shape.Literal, env *types.Env) (types.Datum, bool) {
	text := l.Value
	if r.minus {
		text = "-" + text
	}
	switch {
	case !readable[r.oid]:
		return types.Null, false
	case l.Kind == shape.Int4 || l.Kind == shape.Int8:
		n, err := strconv.ParseInt(text, 10, 64)
		is := types.Int8
		if l.Kind == shape.Int4 {
			is = types.Int4
		}
		return types.NewInt(n), err == nil && r.oid == is
	case l.Kind == shape.Numeric && r.oid != types.Numeric, analyze.DependsOnClock(r.oid, text):
		return types.Null, false
	}
	d, err := types.Input(r.oid, -1, text, env)
	return d, err == nil
}
