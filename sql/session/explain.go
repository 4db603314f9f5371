package session

import (
	"context"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/explain"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// explain runs EXPLAIN.
func (s *Session) explain(ctx context.Context, st parse.Statement, n *pg_query.ExplainStmt, w stmt.ResultWriter) error {
	o, err := explain.ReadOptions(st.Source, n)
	if err != nil {
		return err
	}
	start := time.Now()
	var args []types.Datum
	var p *stmt.Program
	if ex := n.Query.GetExecuteStmt(); ex != nil {
		p, args, err = s.portals.Statements.Execution(ctx, ex, s.query)
	} else {
		var inner parse.Statement
		if inner, err = explain.Query(st, n, o); err == nil {
			p, args, err = s.containedProgram(ctx, inner)
		}
	}
	if err != nil {
		return err
	}
	if s.block.Tx == nil {
		s.block.Begin()
	}
	if p, _, err = s.settle(ctx, p, nil); err != nil {
		return err
	}
	x := explain.Explanation{Options: o, NodeName: s.node.Name, Planning: time.Since(start)}
	rows, err := s.explained(ctx, p, args, x)
	if err != nil {
		return err
	}
	if err := s.sendNotices(w); err != nil {
		return err
	}
	if err := w.Describe(explain.Columns(n)); err != nil {
		return err
	}
	for _, r := range rows {
		if err := w.Row([]types.Datum{types.NewText(r)}); err != nil {
			return err
		}
	}
	return w.Complete("EXPLAIN")
}

// explained returns the rows of EXPLAIN for a program.
func (s *Session) explained(
	ctx context.Context, p *stmt.Program, args []types.Datum, x explain.Explanation,
) ([]string, error) {
	// A plan may be shown of what cannot run because a materialized view has no rows.
	if p.Plan.Failing != nil && (x.Analyze || !pgerr.Is(p.Plan.Failing, pgerr.ObjectNotInPrerequisiteState)) {
		return nil, p.Plan.Failing
	}
	args, err := s.portals.WithCurrent(p.Query, args)
	if err != nil {
		return nil, err
	}
	t := s.block.Tx
	if x.Analyze {
		if err := t.ReadPastAsSet(); err != nil {
			return nil, err
		}
	}
	if err := t.ConsiderReplicas(p.Reading()); err != nil {
		return nil, err
	}
	defer func() { t.Near = false }()
	s.running = ctx
	executor := s.executor(ctx)
	c := executor.Context(ctx, t.Tx, args)
	if c.Part, err = s.reads.Part(t.Tx, p); err != nil {
		return nil, err
	}
	c.Partial = s.reads.Partial(t.Tx, p, 0)
	x.Tx, x.Executor = t, &executor
	x.Fragment, _ = s.vars.Get(settings.Fragment)
	if x.Options.Settings {
		x.Settings = s.vars.Tuned()
	}
	return x.Rows(p, c)
}
