package exec

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// rejoin runs a plan.Rejoin.
type rejoin struct {
	tables    []plan.Reread
	unmatched []unmatched
	cond      expr.Eval
	same      []int
}

type unmatched struct {
	on    expr.Eval
	slots []int
}

func (k *compiler) rejoin(n *plan.Rejoin) (*rejoin, error) {
	if n == nil {
		return nil, nil
	}
	r := &rejoin{tables: n.Tables, same: n.Same}
	for _, u := range n.Unmatched {
		on, err := k.Optional(u.On)
		if err != nil {
			return nil, err
		}
		r.unmatched = append(r.unmatched, unmatched{on, u.Slots})
	}
	var err error
	r.cond, err = k.Optional(n.Cond)
	return r, err
}

// holds reports whether a row that is new in part is still a result of the join. It sets to null
// the parts that are no longer joined to it.
func (r *rejoin) holds(c *Ctx, old, row types.Row) (bool, error) {
	for _, at := range r.same {
		if old[at] != row[at] {
			return false, pgerr.New(pgerr.SerializationFailure, "could not serialize access due to concurrent update").
				WithDetail("A column that a subquery of the statement looks at was changed.").
				WithHint("A cursor that has given rows cannot be run again. The transaction might succeed if retried.")
		}
	}
	for _, u := range r.unmatched {
		ok, err := u.on.Holds(&c.Ctx, row)
		if err != nil {
			return false, err
		}
		if ok {
			continue
		}
		for _, at := range u.slots {
			row[at] = types.Null
		}
	}
	return r.cond.Holds(&c.Ctx, row)
}
