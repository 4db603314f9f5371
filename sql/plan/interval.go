package plan

import (
	"slices"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// bucketInterval finds bounds of sherd.bucket(id), or of sherd.slice(id), where id is the key of a
// collection with anchors: both functions return the bucket of the row, or one below 2^20 for a row
// under a rule for prefixes. The scan tests the conditions too, so that one of several bounds will
// do.
func (m *matcher) bucketInterval(r *Route) {
	if !m.s.Table.Anchors {
		return
	}
	for _, c := range m.conds {
		call, ok := c.(*query.Call)
		if !ok || len(call.Args) != 2 {
			continue
		}
		op, of, v := call.Op, call.Args[0], call.Args[1]
		if !m.isBucketOfKey(of) {
			if op != "=" {
				op = flip(op)
			}
			of, v = v, of
		}
		if !m.isBucketOfKey(of) || !known(v) || !integer(v.Type()) {
			continue
		}
		switch op {
		case ">=":
			r.Lo = v
		case ">":
			r.Lo = next(v)
		case "<":
			r.Hi = v
		case "<=":
			r.Hi = next(v)
		case "=":
			r.Lo, r.Hi = v, next(v)
		}
	}
}

// isBucketOfKey reports whether e is sherd.bucket or sherd.slice of a column of the primary key.
func (m *matcher) isBucketOfKey(e query.Expr) bool {
	c, ok := e.(*query.Call)
	return ok && c.Proc.Namespace == "sherd" &&
		(c.Proc.Name == "bucket" || c.Proc.Name == "slice") && len(c.Args) == 1 &&
		slices.Contains(keyPositions(m.s.Table), m.position(c.Args[0]))
}

// next returns the bucket after v, a bigint; the number of all buckets for what lies behind them.
func next(v query.Expr) query.Expr {
	const all = shardmap.BucketCount
	if c, ok := v.(*query.Const); ok {
		if c.Value.IsNull() {
			return v
		}
		return intConst(types.Int8, min(c.Value.N, all-1)+1)
	}
	wide := v
	if v.Type() != types.Int8 {
		wide = castTo(v, types.Int8)
	}
	limit := intConst(types.Int8, all)
	sum := &query.Call{
		T: query.Of(types.Int8), Proc: pgcatalog.ProcsByName("int8pl")[0],
		Args: []query.Expr{wide, intConst(types.Int8, 1)}, Op: "+",
	}
	return caseOf(types.Int8, query.When{Cond: compared("<", wide, limit), Result: sum},
		query.When{Cond: compared(">=", wide, limit), Result: limit})
}

// sliced replaces sherd.bucket of the table's key by sherd.slice in conditions. sherd.bucket knows
// no table and refuses what is no id of a collection, and buckets of rules for prefixes; one such
// row must not fail a statement that reads a table by intervals of buckets.
func (p *planner) sliced(s *Scan, conds []query.Expr) []query.Expr {
	m := matcher{s: s}
	replace := func(e query.Expr) (query.Expr, bool) {
		if !m.isBucketOfKey(e) {
			return nil, false
		}
		c := *e.(*query.Call)
		c.Proc = sliceProc()
		return &c, true
	}
	out := make([]query.Expr, len(conds))
	for i, c := range conds {
		out[i] = c
		if query.Contains(c, m.isBucketOfKey) {
			out[i] = query.Rewrite(c, replace)
		}
	}
	return out
}

func sliceProc() *query.Proc { return pgcatalog.ProcsByName("slice")[0] }
