package plan

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/query"
)

// access chooses how a scan finds its rows: by key, or bucket by bucket. byPrimaryKey chooses the
// order index where it saves a sort.
func access(s *Scan, r *Route, conds []query.Expr) {
	if len(r.Keys) > 0 || r.KeyArray != nil {
		s.Access, s.Keys, s.KeyArray = ScanKeys, r.Keys, r.KeyArray
		return
	}
	if s.Span = r.Span; s.Span != nil {
		return // its segments have their rows in the order of keys
	}
	boundByKey(s, conds)
}

// boundByKey uses the primary-key-order index for a range of the first key column that is bounded
// on both sides.
func boundByKey(s *Scan, conds []query.Expr) {
	lo, hi := keyBounds(s, conds)
	if lo != nil && hi != nil && orderIndex(s.Table) != nil {
		s.Access = ScanOrdered
		setBounds(s, lo, hi)
	}
}

type bound struct {
	value     query.Expr
	inclusive bool
}

func setBounds(s *Scan, lo, hi *bound) {
	if lo != nil {
		s.Lo, s.LoInc = lo.value, lo.inclusive
	}
	if hi != nil {
		s.Hi, s.HiInc = hi.value, hi.inclusive
	}
}

// keyBounds finds range conditions on the first key column.
func keyBounds(s *Scan, conds []query.Expr) (lo, hi *bound) {
	key := keyPositions(s.Table)
	if len(key) == 0 {
		return nil, nil
	}
	m := matcher{s: s, conds: conds}
	return m.columnBounds(key[0])
}

// columnBounds finds range conditions on a column of the key.
func (m *matcher) columnBounds(of int) (lo, hi *bound) {
	for _, c := range m.conds {
		call, ok := c.(*query.Call)
		if !ok || len(call.Args) != 2 {
			continue
		}
		op, col, v := call.Op, call.Args[0], call.Args[1]
		if m.position(col) != of {
			op, col, v = flip(op), v, col
		}
		if m.position(col) != of || !known(v) {
			continue
		}
		own := func(as narrowing) query.Expr { return m.keyValue(of, v, as) }
		if b := boundOf(op, v, toLower, own); b != nil {
			lo = b
		}
		if b := boundOf(op, v, toUpper, own); b != nil {
			hi = b
		}
	}
	return lo, hi
}

// boundOf returns the bound that a comparison with v is, as the column's own values; nil where it
// is none of that side. One that had to be converted is inclusive.
func boundOf(op string, v query.Expr, as narrowing, own func(narrowing) query.Expr) *bound {
	if as == toLower && op != ">" && op != ">=" || as == toUpper && op != "<" && op != "<=" {
		return nil
	}
	value := own(as)
	if value == nil {
		return nil
	}
	return &bound{value, value != v || op == ">=" || op == "<="}
}

func flip(op string) string {
	switch op {
	case "<":
		return ">"
	case "<=":
		return ">="
	case ">":
		return "<"
	case ">=":
		return "<="
	}
	return ""
}

// orderIndex returns the index in primary key order, nil where it is switched off.
func orderIndex(t *catalog.Table) *catalog.Index {
	for i := range t.Indexes {
		if t.Indexes[i].Primary {
			return &t.Indexes[i]
		}
	}
	return nil
}

// byPrimaryKey plans `… ORDER BY key LIMIT n` over one table: every fragment reads its rows in key
// order, the gateway merges and stops.
func (p *planner) byPrimaryKey(l *level, cur part) (part, bool) {
	q := l.q
	s, ok := scanUnder(cur.node)
	if !ok || !p.orderable(cur) || q.Limit == nil || q.Distinct || q.HasAggs || q.GroupBy != nil || q.HasWindow ||
		q.HasSRFs || len(q.OrderBy) == 0 {
		return part{}, false
	}
	desc, ok := l.keyOrder(s, cur.in)
	if !ok || orderIndex(s.Table) == nil {
		return part{}, false
	}
	old := *s
	ordered(s, desc)
	count, offset, err := p.limits(l)
	if err != nil || !pushable(count) || !pushable(offset) {
		*s = old
		return part{}, false
	}
	out, err := p.targets(l, cur)
	if err != nil || out.local == nil {
		*s = old
		return part{}, false
	}
	if enough := together(count, offset); enough != nil {
		out.node = &Limit{Base: Base{out.node.Output()}, Child: out.node, Count: enough}
	}
	out = p.gather(out, sortKeys(q))
	out.node = &Limit{Base: Base{out.node.Output()}, Child: out.node, Count: count, Offset: offset}
	return dropHidden(out, visible(q)), true
}

// orderable reports whether reading a scan in key order may save work: not where a route has
// narrowed it to a few buckets or keys.
func (p *planner) orderable(cur part) bool {
	s, ok := scanUnder(cur.node)
	if !ok || cur.local == nil || s.Access == ScanKeys || s.Access == ScanIndex {
		return false
	}
	route := cur.local.route
	route.forgetStart() // as many rows may be found as where nothing is said of the key
	return route.Everywhere()
}

// ordered makes the scan below cur one in key order.
func ordered(s *Scan, desc bool) {
	s.Access, s.Desc = ScanOrdered, desc
	lo, hi := keyBounds(s, conjuncts(s.Filter))
	setBounds(s, lo, hi)
}

func scanUnder(n Node) (*Scan, bool) {
	s, ok := n.(*Scan)
	return s, ok
}

// keyOrder reports whether ORDER BY is a prefix of the primary key, all in one direction.
func (l *level) keyOrder(s *Scan, in *layout) (desc, ok bool) {
	key := keyPositions(s.Table)
	if len(l.q.OrderBy) > len(key) {
		return false, false
	}
	desc = l.q.OrderBy[0].Desc
	for i, k := range l.q.OrderBy {
		v, isVar := bare(l.q.Targets[k.Target].Expr).(*query.Var)
		if !isVar || v.Up != 0 || k.Desc != desc {
			return false, false
		}
		n, here := in.slots[varKey{v.Rel, v.Col}]
		if !here || s.Slots[n] != key[i] {
			return false, false
		}
	}
	return desc, true
}
