package plan

import (
	"github.com/sherddb/sherd/sql/query"
)

// driving says how the rows of a join come in the order of the query: those of one table, the
// driving one, are read in that order, and the others are looked up by them, for no more of them
// than LIMIT needs.
type driving struct {
	rel   int
	keys  []query.SortKey // of the query: the first ones, which read the table alone
	share float64         // of the rows that are wanted
	// enough is how many rows of the table are enough, of each fragment; nil: that is not known.
	enough query.Expr
	failed bool // the rows do not come in the order
}

// maxDrives bounds the work of planning FROM twice, in subqueries of subqueries too.
const maxDrives = 20

// rows plans FROM and WHERE, in the order of the query if it is cheaper to stop at LIMIT than to sort.
func (l *level) rows(p *planner) (part, error) {
	before, inits := *p, l.inits
	whole, err := p.from(l)
	if err != nil || p.drives >= maxDrives {
		return whole, err
	}
	d, err := l.drivingTable(p, whole)
	if d == nil || err != nil {
		return whole, err
	}
	after, initsAfter := *p, l.inits
	resume(p, before)
	p.drives++
	l.driving, l.inits = d, inits
	out, err := p.from(l)
	l.driving = nil
	if err != nil {
		return part{}, err
	}
	if len(out.order) > 0 && !d.failed && l.cheaper(p, out, whole) {
		return out, nil
	}
	resume(p, after)
	l.inits = initsAfter
	return whole, nil
}

// resume has the planner go on from an earlier state. Numbers that queries around this one may have
// taken over are not given again.
func resume(p *planner, at planner) {
	at.outers, at.ctes, at.drives, at.failed = p.outers, p.ctes, p.drives, p.failed
	*p = at
}

// drivingTable returns the table that ORDER BY reads, or its first keys, if a join of it with others
// has a LIMIT and nothing comes in between; nil if there is none.
func (l *level) drivingTable(p *planner, whole part) (*driving, error) {
	q := l.q
	if q.Limit == nil || q.Distinct || q.HasAggs || q.GroupBy != nil || q.GroupingSets != nil || q.Having != nil ||
		q.HasWindow || q.HasSRFs || len(q.Locking) > 0 || p.env.Off.GatherMerge || isEmpty(whole.node) {
		return nil, nil
	}
	rel, keys := l.firstKeys()
	all := len(keys) == len(q.OrderBy)
	if len(keys) == 0 || !all && !p.env.incremental() {
		return nil, nil
	}
	items := relSet{}
	for _, it := range q.From {
		items = items.union(fromRels(it))
	}
	if rel < 0 || len(items) < 2 || q.Rels[rel].Kind != query.RelTable {
		return nil, nil
	}
	d := &driving{rel: rel, keys: keys, share: min(1, wantedRows(q)/max(1, p.est.rows(whole.node)))}
	if !all || !l.keepsAll(rel) || hasSubLink(q.Limit) || q.Offset != nil && hasSubLink(q.Offset) {
		return d, nil
	}
	count, offset, err := p.limits(l)
	d.enough = together(count, offset)
	return d, err
}

// firstKeys returns the keys of ORDER BY before the first one that reads another table than those
// before it, and the table that they read; -1 if there is none.
func (l *level) firstKeys() (rel int, keys []query.SortKey) {
	rel = -1
	for i, k := range l.q.OrderBy {
		for r := range l.relsOf(l.q.Targets[k.Target].Expr) {
			if rel >= 0 && r != rel {
				return rel, l.q.OrderBy[:i]
			}
			rel = r
		}
	}
	return rel, l.q.OrderBy
}

// keepsAll reports whether each row of a table that meets the conditions on it alone is in a row of
// FROM and WHERE.
func (l *level) keepsAll(rel int) bool {
	if len(l.q.From) != 1 {
		return false
	}
	for _, c := range Conjuncts(l.q.Where) {
		if of := l.relsOf(c); len(of) != 1 || !of[rel] || volatile(c) {
			return false
		}
	}
	it := l.q.From[0]
	for {
		switch n := it.(type) {
		case *query.FromRel:
			return n.Rel == rel
		case *query.FromJoin:
			switch n.Kind {
			case query.Left:
				it = n.Left
			case query.Right:
				it = n.Right
			default:
				return false
			}
		default:
			return false
		}
	}
}

// cheaper reports whether the first rows cost less if they come in order than if all are sorted.
func (l *level) cheaper(p *planner, driven, whole part) bool {
	p.est.note(driven.node, p.est.rows(whole.node))
	first := Node(&Limit{Child: driven.node, Count: l.q.Limit, Offset: l.q.Offset})
	if n := len(driven.order); n < len(l.q.OrderBy) {
		first = &Sort{Child: driven.node, Keys: driven.order, Limit: l.q.Limit, Offset: l.q.Offset, Presorted: n}
	}
	return p.est.cost(first) < p.est.cost(&Sort{Child: whole.node, Limit: l.q.Limit})
}

// is reports whether an item of FROM is the driving table.
func (d *driving) is(it query.From) bool {
	r, ok := it.(*query.FromRel)
	return ok && d != nil && r.Rel == d.rel
}

// start has the driving table read in the order of the query.
func (d *driving) start(p *planner, l *level, cur part) (part, error) {
	cur = p.unions.scan(cur)
	s, ok := scanUnder(cur.node)
	if !ok || cur.local == nil {
		d.failed = true
		return cur, nil
	}
	want := wantedOrder{keys: l.orderKeys(p, cur.in, d.keys), limit: p.est.rows(s) * d.share}
	for _, k := range want.keys {
		d.failed = d.failed || stays(k.expr)
	}
	presorted := 0
	if d.failed = d.failed || len(want.keys) == 0; !d.failed {
		presorted, _ = p.choose(s, &cur.local.route, l.q.Rels[d.rel].Indexes, Conjuncts(s.Filter), want)
	}
	if presorted == 0 {
		d.failed = true
		return cur, nil
	}
	cur, keys, err := p.sortColumns(l, cur, d.keys)
	if err != nil {
		return part{}, err
	}
	cur.order = keys
	switch {
	case presorted < len(keys):
		cur.node = &Sort{
			Base: Base{cur.node.Output()}, Child: cur.node, Keys: keys, Limit: d.enough, Presorted: presorted,
		}
	case d.enough != nil:
		cur.node = &Limit{Base: Base{cur.node.Output()}, Child: cur.node, Count: d.enough}
	}
	return cur, nil
}

// join looks up the rows of the right side by those of the left one, in their order. ok is false if
// that cannot be done.
func (d *driving) join(j joining, left, right part) (out part, ok bool, err error) {
	switch {
	case d.failed || !j.lrels[d.rel]:
	case j.local != nil:
		out, ok, err = j.localLookup(left, right)
	default:
		out, ok, err = j.lookupJoin(left, right)
	}
	d.failed = d.failed || !ok
	return out, ok, err
}
