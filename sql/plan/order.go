package plan

import (
	"math"
	"slices"

	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// wantedOrder is the order in which the rows of a scan are wanted, and how many of them.
type wantedOrder struct {
	keys  []orderKey // empty: any order
	limit float64
}

// orderKey is an expression over the scan's slots by which its rows are ordered.
type orderKey struct {
	expr             query.Expr
	desc, nullsFirst bool
}

// anyOrder wants all rows.
var anyOrder = wantedOrder{limit: math.Inf(1)}

// provides reports whether the rows of a path come in an order, if its index is read in one
// direction.
// Columns that have one value do not count.
func (m *matcher) provides(a *accessPath, keys []orderKey) (backward, ok bool) {
	x := a.index
	if len(keys) == 0 || a.columns == nil || x.Paired || x.combinations() != 1 ||
		slices.ContainsFunc(x.Arrays, func(e query.Expr) bool { return e != nil }) {
		return false, false
	}
	at, turned := len(x.Equal), false // turned: the direction is known
	for _, k := range keys {
		if known(k.expr) || m.among(a.columns[:at], k.expr) {
			continue
		}
		for at < len(a.columns) && repeats(a.columns, at) {
			at++
		}
		if at == len(a.columns) {
			return backward, x.differ(a.columns) // rows that are equal so far are one row
		}
		c := a.columns[at]
		if !m.isKey(k.expr, c.expr) {
			return false, false
		}
		reversed := k.desc != c.desc
		nulls := !c.notNull && (at > len(x.Equal) || x.open())
		if turned && reversed != backward || nulls && k.nullsFirst != (c.nullsFirst != reversed) {
			return false, false
		}
		backward, turned, at = reversed, true, at+1
	}
	return backward, true
}

// among reports whether e is one of the columns.
func (m *matcher) among(columns []keyColumn, e query.Expr) bool {
	return slices.ContainsFunc(columns, func(c keyColumn) bool { return m.isKey(e, c.expr) })
}

// repeats reports whether a column of an index is there a second time.
func repeats(columns []keyColumn, at int) bool {
	return slices.ContainsFunc(columns[:at], func(c keyColumn) bool { return query.Equal(c.expr, columns[at].expr) })
}

// differ reports whether no two entries have the same values in all columns.
func (x *IndexScan) differ(columns []keyColumn) bool {
	if !x.Index.Def.Unique || x.Index.Def.Primary {
		return len(keyPositions(x.Table)) > 0
	}
	return x.Index.Def.NullsNotDistinct || !slices.ContainsFunc(columns, func(c keyColumn) bool { return !c.notNull })
}

// readInOrder has cur, if it is a scan, read its rows in the order of the query, and reports
// whether it does: not if another way and a sort are cheaper.
func (p *planner) readInOrder(l *level, cur part) (part, bool) {
	if len(cur.order) > 0 {
		return cur, true
	}
	whole := p.unions.scan(cur)
	s, ok := scanUnder(whole.node)
	if !ok || whole.local == nil || len(whole.local.rels) != 1 || l.q.Distinct && l.q.DistinctOn == nil ||
		l.q.HasSRFs && !lateTargets(l.q) || p.env.Off.GatherMerge {
		return cur, false
	}
	want := wantedOrder{keys: l.orderKeys(p, whole.in), limit: math.Inf(1)}
	if len(want.keys) == 0 {
		return cur, false
	}
	if l.q.DistinctOn == nil && l.q.Limit != nil {
		want.limit = wantedRows(l.q)
	}
	ordered := p.choose(s, &whole.local.route, l.q.Rels[whole.local.rels[0]].Indexes, conjuncts(s.Filter), want)
	if whole.node == cur.node {
		return cur, ordered
	}
	rows := p.est.rows(cur.node)
	if ordered && p.est.cost(s)*min(1, want.limit/rows) < p.est.cost(&Sort{Child: cur.node, Limit: l.q.Limit}) {
		return whole, true
	}
	return cur, false
}

// orderKeys returns the order of the query over the rows of a scan; none if it cannot be read in
// that order.
func (l *level) orderKeys(p *planner, in *layout) (keys []orderKey) {
	for _, k := range lateKeys(l.q) {
		e := l.q.Targets[k.Target].Expr
		if hasSubLink(e) || volatile(e) {
			return nil
		}
		e, err := p.rewrite(l, e, in)
		if err != nil {
			return nil
		}
		keys = append(keys, orderKey{e, k.Desc, k.NullsFirst})
	}
	return keys
}

// wantedRows is how many rows LIMIT and OFFSET need.
func wantedRows(q *query.Query) float64 {
	if q.Offset == nil {
		return limitOf(q.Limit)
	}
	return limitOf(q.Limit) + limitOf(q.Offset)
}

// scanUnder returns n if it is a scan.
func scanUnder(n Node) (*Scan, bool) {
	s, ok := n.(*Scan)
	return s, ok
}

// inOrder gathers rows that are in the order of keys, no more of each fragment than are enough.
func (p *planner) inOrder(cur part, keys []SortKey, count, offset query.Expr) part {
	if enough := together(count, offset); enough != nil && cur.local != nil {
		cur.node = &Limit{Base: Base{cur.node.Output()}, Child: cur.node, Count: enough}
	}
	return p.gather(cur, keys)
}

// extremes has an aggregate of min and max alone read the first rows of indexes instead of all rows
// of the scan below it, if there is an index in the order of each.
func (l *level) extremes(p *planner, cur part, aggs []*query.Agg) part {
	s, ok := scanUnder(cur.node)
	if !ok || cur.local == nil || len(cur.local.rels) != 1 {
		return cur
	}
	var inputs []Node
	for _, a := range aggs {
		desc, ok := extreme(a)
		if !ok {
			return cur
		}
		first, route, conds := *s, cur.local.route, conjuncts(s.Filter)
		if m := (matcher{s: s}); !m.notNullColumn(a.Args[0]) {
			conds = append(conds, &query.NullTest{T: query.Of(types.Bool), Arg: a.Args[0], Not: true})
		}
		want := wantedOrder{keys: []orderKey{{a.Args[0], desc, desc}}, limit: 1}
		if !p.choose(&first, &route, l.q.Rels[cur.local.rels[0]].Indexes, conds, want) {
			return cur
		}
		first.Filter = conjunction(conds)
		inputs = append(inputs, &Limit{Base: s.Base, Child: &first, Count: intConst(types.Int8, 1)})
	}
	if cur.node = inputs[0]; len(inputs) > 1 {
		cur.node = &Append{Base: s.Base, Inputs: inputs} // a row of another index changes nothing
	}
	return cur
}

// extreme reports whether a call is min, or max if desc, of all rows.
func extreme(a *query.Agg) (desc, ok bool) {
	if a.Proc.Namespace != "pg_catalog" || len(a.Args) != 1 || a.Filter != nil || a.Distinct || len(a.Order) > 0 {
		return false, false
	}
	return a.Proc.Name == "max", a.Proc.Name == "min" || a.Proc.Name == "max"
}

// notNullColumn reports whether e is a column that is never null.
func (m *matcher) notNullColumn(e query.Expr) bool {
	col := m.position(e)
	return col >= 0 && (m.s.Table.Columns[col].NotNull || contains(keyPositions(m.s.Table), col))
}
