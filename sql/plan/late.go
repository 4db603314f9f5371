package plan

import (
	"slices"

	"github.com/sherddb/sherd/sql/query"
)

// lateTargets reports whether targets are computed after ORDER BY and LIMIT: there are some with
// subqueries, volatile functions or others of the gateway that no sort key needs. So a subquery
// runs for the rows of the answer alone, and nextval counts in the answer's order. Sets that no
// sort key needs are expanded late too if DISTINCT ON must choose among the rows before that.
func lateTargets(q *query.Query) bool {
	on := q.DistinctOn != nil
	if q.HasSRFs && q.WithTies != nil || q.Distinct && !on ||
		len(q.OrderBy) == 0 && (on || q.HasSRFs || q.Limit == nil && q.Offset == nil) {
		return false
	}
	late := false
	for i, t := range q.Targets {
		switch set := q.HasSRFs && hasSet(t.Expr); {
		case !isSortKey(q, i):
			late = late || set && on || stays(t.Expr) || volatile(t.Expr)
		case set:
			return false // all sets are expanded together
		}
	}
	return late
}

// isSortKey reports whether ORDER BY or DISTINCT ON names a target.
func isSortKey(q *query.Query, target int) bool {
	return slices.ContainsFunc(lateKeys(q), func(k query.SortKey) bool { return k.Target == target })
}

// lateKeys are the keys of ORDER BY, and those that DISTINCT ON has beyond them.
func lateKeys(q *query.Query) []query.SortKey {
	keys := q.OrderBy[:len(q.OrderBy):len(q.OrderBy)]
	for _, n := range q.DistinctOn {
		if !slices.ContainsFunc(keys, func(k query.SortKey) bool { return k.Target == n }) {
			keys = append(keys, query.SortKey{Target: n})
		}
	}
	return keys
}

// sortThenTargets orders and limits the rows below, with the sort keys as further slots, and
// computes the targets of what is left. Locks are taken in between: in that order, and for no more
// rows than are wanted. Then no fragment may limit what it sends, since a row that is not got or
// has changed is replaced by a later one.
func (p *planner) sortThenTargets(l *level, cur part, lock *LockRows) (part, error) {
	count, offset, err := p.limits(l)
	if err != nil {
		return part{}, err
	}
	driven, in := len(cur.order) > 0, cur.in
	cur, presorted := p.readInOrder(l, cur)
	cur, keys, err := p.sortColumns(l, cur, lateKeys(l.q))
	if err != nil {
		return part{}, err
	}
	few, skip := count, offset
	if lock != nil || l.q.DistinctOn != nil || l.q.HasSRFs {
		few, skip = nil, nil
	}
	if lock == nil {
		in = cur.in // above locks sort keys are computed again: the row may be a newer one
	}
	if !driven && cur.local == nil {
		presorted = 0
	}
	switch {
	case len(keys) > 0 && presorted == len(keys):
		cur = p.inOrder(cur, keys, few, skip)
	case len(keys) > 0:
		cur = p.sort(cur, keys, few, skip, presorted)
	}
	if lock != nil {
		cur = p.gather(cur, nil)
		lock.Base, lock.Child, lock.Most = Base{cur.node.Output()}, cur.node, together(count, offset)
		lock.OneByOne = (count != nil || l.q.WithTies != nil) && lock.Most == nil || p.env.LockLate
		cur.node = lock
	}
	if l.q.DistinctOn != nil {
		cur.node = &Distinct{
			Base: Base{cur.node.Output()}, Child: cur.node, Keys: distinctSlots(l.q, keys), Sorted: true,
		}
	}
	if !l.q.HasSRFs {
		if cur, err = keepBounds(p, l, cur, keys[:len(l.q.OrderBy)], count, offset); err != nil {
			return part{}, err
		}
	}
	proj, err := p.lastTargets(l, p.gather(cur, nil), in)
	if err != nil {
		return part{}, err
	}
	cur = part{node: proj, in: newLayout()}
	if l.q.HasSRFs && (count != nil || offset != nil) {
		cur = p.limit(cur, count, offset)
	}
	return cur, nil
}

// lastTargets computes the visible targets of rows that are ordered already.
func (p *planner) lastTargets(l *level, cur part, in *layout) (*Project, error) {
	proj := &Project{Child: cur.node}
	for _, t := range l.q.Targets[:visible(l.q)] {
		e, err := p.rewrite(l, t.Expr, in)
		if err != nil {
			return nil, err
		}
		proj.Sets = proj.Sets || l.q.HasSRFs && hasSet(e)
		proj.Exprs = append(proj.Exprs, e)
		proj.Cols = append(proj.Cols, Col{t.Name, e.Type(), e.Typmod()})
	}
	return proj, nil
}

// distinctSlots are the slots of the DISTINCT ON columns among the sort keys, which are those of
// lateKeys.
func distinctSlots(q *query.Query, keys []SortKey) []int {
	var slots []int
	for i, k := range lateKeys(q) {
		if slices.Contains(q.DistinctOn, k.Target) {
			slots = append(slots, keys[i].Slot)
		}
	}
	return slots
}

// sortColumns makes every one of some sort keys a slot.
func (p *planner) sortColumns(l *level, cur part, of []query.SortKey) (part, []SortKey, error) {
	in := *cur.in
	proj := &Project{Child: cur.node, Base: Base{cur.node.Output()}}
	for i, c := range proj.Cols {
		proj.Exprs = append(proj.Exprs, slot(i, c))
	}
	own, gateway := len(proj.Cols), false
	var keys []SortKey
	for _, k := range of {
		t := l.q.Targets[k.Target]
		e, err := p.rewrite(l, t.Expr, cur.in)
		if err != nil {
			return part{}, nil, err
		}
		key := SortKey{Type: e.Type(), Desc: k.Desc, NullsFirst: k.NullsFirst}
		if s, ok := e.(*query.Slot); ok {
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
