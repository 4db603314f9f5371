package trigger

import (
	"cmp"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
)

// Set is the triggers of a table. It is not changed, and is shared by the executions of programs.
type Set struct {
	table   *catalog.Table
	schema  string
	columns []query.Column
	list    []definition // by name (TG1)
}

// definition is a trigger with its condition.
type definition struct {
	*catalog.Trigger
	when query.Expr // over the slots of the old row followed by those of the new one; nil: there is none
	err  error      // of the analysis of the condition
}

// Of returns the triggers of a table that are enabled in any role of replication; nil: there are none.
func Of(view *catalog.View, t *catalog.Table) *Set {
	s := &Set{table: t, columns: analyze.ColumnsOf(t)}
	if schema := view.Schema(t.Schema); schema != nil {
		s.schema = schema.Name
	}
	for i := range t.Triggers {
		if t.Triggers[i].Enabled == 'D' {
			continue
		}
		d := definition{Trigger: &t.Triggers[i]}
		if d.When != "" {
			d.when, d.err = s.condition(view, d.When)
		}
		s.list = append(s.list, d)
	}
	if len(s.list) == 0 {
		return nil
	}
	slices.SortFunc(s.list, func(a, b definition) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

// condition analyzes a condition.
func (s *Set) condition(view *catalog.View, text string) (query.Expr, error) {
	src, err := analyze.ParseExpression(text)
	if err != nil {
		return nil, err
	}
	ctx := analyze.Planned(&analyze.Context{Catalog: view, Database: s.table.Database})
	e, err := analyze.TriggerCondition(ctx, src, s.columns)
	if err != nil {
		return nil, err
	}
	return plan.RowCondition(s.table, e, plan.Env{Fold: expr.EvalConst})
}

// Rows returns for which events of rows there are triggers.
func (s *Set) Rows() (out plan.RowTriggers) {
	const events = catalog.TriggerInsert | catalog.TriggerUpdate | catalog.TriggerDelete
	for _, d := range s.list {
		switch {
		case d.Timing() == 0 && (d.OldTable != "" || d.NewTable != ""):
			out.AfterRow |= uint32(d.Events & events)
		case !d.Is(catalog.TriggerRow):
		case d.Timing() == catalog.TriggerBefore:
			out.BeforeRow |= uint32(d.Events & events)
		case d.Timing() == 0:
			out.AfterRow |= uint32(d.Events & events)
		}
	}
	return out
}

// BeforeStatements reports whether there are triggers before statements.
func (s *Set) BeforeStatements() bool {
	return slices.ContainsFunc(s.list, func(d definition) bool {
		return d.Timing() == catalog.TriggerBefore && !d.Is(catalog.TriggerRow)
	})
}

// isFor reports whether a trigger is of a kind: row or not, with the timing and the event of bits.
func (d *definition) isFor(bits catalog.TriggerEvents) bool {
	return d.Is(bits) && d.Timing() == bits&catalog.TriggerTiming &&
		d.Events&catalog.TriggerRow == bits&catalog.TriggerRow
}
