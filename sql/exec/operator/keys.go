package operator

import (
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// keyEncoder encodes the values of expressions for hash tables in memory: the bytes are equal if
// and only if the values are.
type keyEncoder struct {
	evals []expr.Eval
	types []types.OID
	vals  types.Row // of the last encode
	buf   []byte
}

func (k *Compiler) keyEncoder(es []query.Expr, oids []types.OID) (*keyEncoder, error) {
	fs, err := k.Exprs(es)
	if err != nil {
		return nil, err
	}
	if oids == nil {
		oids = query.TypesOf(es)
	}
	e := &keyEncoder{evals: fs, types: oids, vals: make(types.Row, len(fs))}
	k.Own(e)
	return e, nil
}

// encode evaluates the keys over row. The bytes are valid until the next call. null reports whether
// one of the values is null.
func (e *keyEncoder) encode(c *Execution, row types.Row) (key []byte, null bool, err error) {
	e.buf = e.buf[:0]
	for i, f := range e.evals {
		d, err := f(&c.Ctx, row)
		if err != nil {
			return nil, false, err
		}
		e.vals[i] = d
		null = null || d.K == types.KindNull
		e.buf = types.AppendKey(e.buf, e.types[i], d, false)
	}
	return e.buf, null, nil
}

// appendRowKey encodes the slots in keys (nil: all), each with its type.
func appendRowKey(dst []byte, row types.Row, keys []int, oids []types.OID) []byte {
	if keys == nil {
		for i, d := range row {
			dst = types.AppendKey(dst, oids[i], d, false)
		}
		return dst
	}
	for _, i := range keys {
		dst = types.AppendKey(dst, oids[i], row[i], false)
	}
	return dst
}
