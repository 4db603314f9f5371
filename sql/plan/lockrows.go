package plan

import (
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
)

// lockedRel is what the locking clauses ask for a table together: of several the strongest lock,
// and NOWAIT before SKIP LOCKED.
type lockedRel struct {
	rel      int
	strength query.LockStrength
	wait     query.LockWait
}

// lockedRels lists the tables to lock, in the order in which the clauses name them.
func lockedRels(q *query.Query) []lockedRel {
	var out []lockedRel
	for _, c := range q.Locking {
		for _, r := range c.Rels {
			i := slices.IndexFunc(out, func(k lockedRel) bool { return k.rel == r })
			if i < 0 {
				out = append(out, lockedRel{r, c.Strength, c.Wait})
				continue
			}
			out[i].strength, out[i].wait = max(out[i].strength, c.Strength), max(out[i].wait, c.Wait)
		}
	}
	return out
}

// keepsLocked refuses locks on the side of an outer join that may be filled with nulls.
func keepsLocked(q *query.Query, fj *query.FromJoin) error {
	nullable := relSet{}
	if fj.Kind == query.Left || fj.Kind == query.Full {
		nullable = nullable.union(fromRels(fj.Right))
	}
	if fj.Kind == query.Right || fj.Kind == query.Full {
		nullable = nullable.union(fromRels(fj.Left))
	}
	for _, k := range lockedRels(q) {
		if nullable[k.rel] {
			return pgerr.Unsupported("%s cannot be applied to the nullable side of an outer join", k.strength)
		}
	}
	return nil
}

// selectLocked plans a SELECT with locking clauses over the rows below. Without ORDER BY and LIMIT
// the fragments lock what they read, where they read it. Else, and for a cursor, locks are taken at
// the gateway, where the order and the number of rows are known.
func (p *planner) selectLocked(l *level, cur part, locks []lockedRel) (part, error) {
	n := &LockRows{Base: Base{cur.node.Output()}, Child: cur.node}
	for _, k := range locks {
		at, ok := cur.in.slots[varKey{k.rel, ColKey}]
		if !ok {
			return part{}, pgerr.New(pgerr.InternalError, "rows of %q have lost their keys", l.q.Rels[k.rel].Alias)
		}
		n.Locks = append(n.Locks, RowLock{Table: l.q.Rels[k.rel].Table, Key: at, Strength: k.strength, Wait: k.wait})
	}
	s, single := scanUnder(p.unions.scan(cur).node)
	if single {
		n.Scan = s
	}
	all := len(l.q.OrderBy) == 0 && l.q.Limit == nil && l.q.Offset == nil
	if cur.local != nil && !p.env.LockLate && (all || n.Scan != nil && oneRow(s)) {
		cur.node = n
		return p.output(l, cur)
	}
	if p.env.LockLate && n.Scan == nil {
		var err error
		if n.Rejoin, err = p.rejoin(l, cur, locks); err != nil {
			return part{}, err
		}
	}
	return p.sortThenTargets(l, cur, n)
}

// oneRow reports whether a scan reads one row at most.
func oneRow(s *Scan) bool { return s.Access == ScanKeys && s.KeyArray == nil && len(s.Keys) == 1 }
