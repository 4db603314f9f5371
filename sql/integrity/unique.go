package integrity

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/keychange"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
)

// uniqueKey is a deferrable UNIQUE constraint. While it is deferred, the executor lets rows share a
// value and notes the value (exec.Ctx.Deferred), for a check at the commit.
type uniqueKey struct {
	table catalog.OID
	con   *catalog.Constraint
}

func deferrableOf(t *catalog.Table) []*uniqueKey {
	var out []*uniqueKey
	for i := range t.Constraints {
		if con := &t.Constraints[i]; con.Deferrable && con.Kind == catalog.Unique {
			out = append(out, &uniqueKey{t.OID, con})
		}
	}
	return out
}

// deferredUniques returns the unique indexes that are checked at the commit, and where the program
// notes shared values.
func (t *Transaction) deferredUniques(r *triggers) map[uint32]int {
	if r == nil {
		return nil
	}
	var out map[uint32]int
	for i := range r.list {
		if u := r.list[i].unique; u != nil && t.isDeferred(u.con) {
			if out == nil {
				out = map[uint32]int{}
			}
			out[u.con.Index] = i
		}
	}
	return out
}

// check checks values that rows have shared.
func (u *uniqueKey) check(c *exec.Ctx, view *catalog.View, shared []keychange.Change) error {
	t := view.Table(u.table)
	if t == nil || t.ConstraintOf(u.con.Index) == nil {
		return nil // dropped since
	}
	rules, err := plan.TableIndexes(view, t, plan.Env{Fold: expr.EvalConst})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(rules, func(x query.Index) bool { return x.Def.OID == u.con.Index })
	schema := ""
	if sc := view.Schema(t.Schema); sc != nil {
		schema = sc.Name
	}
	return exec.SettleUnique(c, t, schema, rules[i], shared)
}
