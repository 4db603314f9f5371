package plan

import (
	"github.com/sherddb/sherd/sql/query"
)

// lateTargets tells whether targets are computed after ORDER BY and LIMIT: there are some with subqueries, volatile functions or others of the
// gateway that no sort key needs. So a subquery runs for the rows of the answer alone, and nextval counts in the answer's order.
func lateTargets(q *query.Query) bool {
	if q.Distinct || q.HasSRFs || len(q.OrderBy) == 0 && q.Limit == nil && q.Offset == nil {
		return false
	}
	for i, t := range q.Targets {
		if !isSortKey(q, i) && (stays(t.Expr) || volatile(t.Expr)) {
			return true
		}
	}
	return false
}

func isSortKey(q *query.Query, target int) bool {
	for _, k := range q.OrderBy {
		if k.Target == target {
			return true
		}
	}
	return false
}

// sortThenTargets orders and limits the rows below, with the sort keys as further slots, and computes the targets of what is left. Locks are
// taken in between: in that order, and for no more rows than are wanted. Then no fragment may limit what it sends, since a row that is not got
// or has changed is replaced by a later one.
func (p *planner) sortThenTargets(l *level, cur part, lock *LockRows) (part, error) {
	count, offset, err := p.limits(l)
	if err != nil {
		return part{}, err
	}
	byKey, in := p.readInOrder(l, cur), cur.in
	cur, keys, err := p.sortColumns(l, cur)
	if err != nil {
		return part{}, err
	}
	few, skip := count, offset
	if lock != nil {
		few, skip = nil, nil
	} else {
		in = cur.in // above locks sort keys are computed anew: the row may be a newer one
	}
	switch {
	case byKey:
		if enough := together(few, skip); enough != nil {
			cur.node = &Limit{Base: Base{cur.node.Output()}, Child: cur.node, Count: enough}
		}
		cur = p.gather(cur, keys)
	case len(keys) > 0:
		cur = p.sort(cur, keys, few, skip)
	}
	if lock != nil {
		cur = p.gather(cur, nil)
		lock.Base, lock.Child, lock.Most = Base{cur.node.Output()}, cur.node, together(count, offset)
		lock.OneByOne = count != nil && lock.Most == nil || p.env.LockLate
		cur.node = lock
	}
	if count != nil || offset != nil {
		cur = p.limit(cur, count, offset)
	}
	cur = p.gather(cur, nil)
	proj := &Project{Child: cur.node}
	for _, t := range l.q.Targets[:visible(l.q)] {
		e, err := p.rewrite(l, t.Expr, in)
		if err != nil {
			return part{}, err
		}
		proj.Exprs = append(proj.Exprs, e)
		proj.Cols = append(proj.Cols, Col{t.Name, e.Type(), e.Typmod()})
	}
	return part{node: proj, in: newLayout()}, nil
}

// readInOrder makes cur, where it is a scan and ORDER BY is its primary key, a scan in that order.
func (p *planner) readInOrder(l *level, cur part) bool {
	if len(l.q.OrderBy) == 0 || l.q.Limit == nil || !p.orderable(cur) {
		return false
	}
	s, _ := scanUnder(cur.node)
	desc, ok := l.keyOrder(s, cur.in)
	if ok = ok && orderIndex(s.Table) != nil; ok {
		ordered(s, desc)
	}
	return ok
}

// sortColumns makes every sort key a slot.
func (p *planner) sortColumns(l *level, cur part) (part, []SortKey, error) {
	in := *cur.in
	proj := &Project{Child: cur.node, Base: Base{cur.node.Output()}}
	for i, c := range proj.Cols {
		proj.Exprs = append(proj.Exprs, slot(i, c))
	}
	own, gateway := len(proj.Cols), false
	var keys []SortKey
	for _, k := range l.q.OrderBy {
		t := l.q.Targets[k.Target]
		e, err := p.rewrite(l, t.Expr, cur.in)
		if err != nil {
			return part{}, nil, err
		}
		key := SortKey{Type: e.Type(), Desc: k.Desc, NullsFirst: k.NullsFirst}
		if s, ok := e.(*Slot); ok {
			key.Slot = s.N
			keys = append(keys, key)
			continue
		}
		gateway = gateway || stays(e) || volatile(e)
		key.Slot = len(proj.Cols)
		col := Col{t.Name, e.Type(), e.Typmod()}
		in.exprs = append(in.exprs[:len(in.exprs):len(in.exprs)], placed{t.Expr, key.Slot, col})
		proj.Cols = append(proj.Cols[:key.Slot:key.Slot], col)
		proj.Exprs = append(proj.Exprs, e)
		keys = append(keys, key)
	}
	if len(proj.Cols) > own {
		if gateway {
			cur = p.gather(cur, nil)
			proj.Child = cur.node
		}
		cur.node = proj
	}
	cur.in = &in
	return cur, keys, nil
}
