package stmt

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Routine compiles a statement of the body of a function in SQL. actual are the types of the arguments of a call.
// columns are those of the result, if the statement is the last one of a function that returns a value.
func (c *Compiler) Routine(
	f *catalog.Function, text string, st parse.Statement, actual []types.OID, columns []query.Column,
) (*Program, error) {
	q, params, err := analyze.RoutineStatement(c.Analysis(text), f, text, st.Node, actual)
	if err != nil {
		return nil, err
	}
	if columns != nil {
		if q, err = analyze.FinalStatement(c.Analysis(text), f, q, columns); err != nil {
			return nil, err
		}
	}
	if q, params, err = c.secured(q, params, nil); err != nil {
		return nil, err
	}
	if err := c.checkPrivileges(q); err != nil {
		return nil, err
	}
	p, err := c.Compile(q, params)
	if err != nil {
		return nil, err
	}
	p.Statement = st
	c.Storages.ObserveUses(c.View, p.Tables)
	return p, nil
}

// calledRoutines returns the highest volatility of the functions of users in a query that are not inlined, 0 if there
// are none.
func calledRoutines(q *query.Query) byte {
	worst := byte(0)
	query.WalkQuery(q, func(e query.Expr, _ int) {
		if call, ok := e.(*query.Call); ok && call.Proc.Language != "" {
			worst = max(worst, call.Proc.Volatility) // i < s < v
		}
	})
	return worst
}
