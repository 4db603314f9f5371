package plan

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Merge is MERGE. It runs at the gateway: it chooses an action for each row of Child, and sends rows
// to the fragments of their keys. The child's row is the row of Table and its key, both null if there
// is none, followed by what else the statement reads.
type Merge struct {
	Base
	Table   *catalog.Table
	Schema  string
	Child   Node
	Actions []MergeAction // the first whose condition is met decides
	// Stage is the Modify with which fragments write the rows that are there already.
	Stage *Modify
}

// MergeAction is a WHEN clause of a Merge.
type MergeAction struct {
	Matched bool       // of rows that have met a row of the table
	Cond    query.Expr // over the child's row; nil is true
	// Write is what the action does, nil: nothing. It has no Child: the Assign of an insert has an expression for
	// each column of the table, over the child's row.
	Write *Modify
}

// Children is the input.
func (n *Merge) Children() []Node { return []Node{n.Child} }

// merge plans MERGE over the join of its source with its target.
func merge(p *planner, l *level) (part, error) {
	q := l.q
	rel := q.Rels[q.Result]
	for i := range rel.Columns {
		l.need[varKey{q.Result, i}] = true
	}
	l.need[varKey{q.Result, ColKey}] = true
	cur, err := p.from(l)
	if err != nil {
		return part{}, err
	}
	key := &query.Var{T: query.Of(types.Bytea), Rel: q.Result, Col: ColKey, Name: "key"}
	proj, in, err := targetFirst(p, l, cur, []*query.Var{key})
	if err != nil {
		return part{}, err
	}
	m := &Merge{Table: rel.Table, Schema: rel.SchemaName, Child: proj}
	if m.Stage, err = mergeWrite(p, l, ModUpdate, in); err != nil {
		return part{}, err
	}
	for i := range q.Merge {
		a, err := mergeAction(p, l, &q.Merge[i], in)
		if err != nil {
			return part{}, err
		}
		m.Actions = append(m.Actions, a)
	}
	return part{node: m, in: newLayout()}, nil
}

// mergeWrite returns a Modify that can store rows of the target.
func mergeWrite(p *planner, l *level, kind ModifyKind, in *layout) (*Modify, error) {
	rel := l.q.Rels[l.q.Result]
	m := &Modify{
		Kind: kind, Table: rel.Table, Schema: rel.SchemaName, Watch: p.watch(rel.Table),
		Triggers: rowTriggers(p.env, rel.Table),
	}
	var err error
	if m.Indexes, err = p.indexes(l, l.q.Indexes, in); err != nil {
		return nil, err
	}
	return m, p.checksAndReturning(l, m, in)
}

func mergeAction(p *planner, l *level, a *query.MergeAction, in *layout) (out MergeAction, err error) {
	out.Matched = a.Matched
	if out.Cond, err = p.rewrite(l, a.Cond, in); err != nil || a.Nothing {
		return out, err
	}
	rel := l.q.Rels[l.q.Result]
	if a.Command == query.Insert {
		if out.Write, err = mergeWrite(p, l, ModInsert, tableLayout(l.q.Result, rel)); err != nil {
			return out, err
		}
		for i, c := range rel.Columns {
			e, err := p.assigned(l, a.Assign, i, in)
			if err != nil {
				return out, err
			}
			if e == nil {
				e = &query.Const{T: query.T{OID: c.Type, Mod: c.Typmod}}
			}
			out.Write.Assign = append(out.Write.Assign, query.Assignment{Col: i, Expr: e})
		}
		return out, nil
	}
	kind := ModDelete
	if a.Command == query.Update {
		kind = ModUpdate
	}
	if out.Write, err = mergeWrite(p, l, kind, in); err != nil {
		return out, err
	}
	for _, x := range a.Assign {
		e, err := p.rewrite(l, x.Expr, in)
		if err != nil {
			return out, err
		}
		out.Write.Assign = append(out.Write.Assign, query.Assignment{Col: x.Col, Expr: e})
		out.Write.MovesKey = out.Write.MovesKey || isKeyColumn(rel.Table, x.Col)
	}
	return out, nil
}

// Exprs lists the expressions of the actions.
func (n *Merge) Exprs() (out []query.Expr) {
	for _, a := range n.Actions {
		out = append(out, a.Cond)
		if a.Write == nil {
			continue
		}
		for _, x := range a.Write.Assign {
			out = append(out, x.Expr)
		}
		for _, c := range a.Write.Checks {
			out = append(out, c.Expr)
		}
	}
	return out
}
