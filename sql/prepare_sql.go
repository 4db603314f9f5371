package sql

import (
	"context"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// prepareStmt runs PREPARE name (types) AS statement.
func (s *Session) prepareStmt(
	ctx context.Context, st parse.Statement, n *pg_query.PrepareStmt, w stmt.ResultWriter,
) error {
	if _, ok := s.statements[n.Name]; ok {
		return pgerr.New(pgerr.DuplicatePreparedStatement, `prepared statement "%s" already exists`, n.Name)
	}
	actx := s.currentCompiler().Analysis(st.Source)
	var declared []types.OID
	for _, t := range n.Argtypes {
		oid, _, err := analyze.TypeName(actx, st.Source, t.GetTypeName())
		if err != nil {
			return err
		}
		declared = append(declared, oid)
	}
	inner := parse.Statement{Node: n.Query, Source: st.Source, Start: st.Start, End: st.End}
	p := &prepared{text: st.Text(), stmt: &inner, declared: declared, params: declared, fromSQL: true}
	var err error
	if p.program, err = s.program(ctx, inner, declared); err != nil {
		return err
	}
	p.params = p.program.Params
	s.statements[n.Name] = p
	return w.Complete("PREPARE")
}

// executeStmt runs EXECUTE name (arguments).
func (s *Session) executeStmt(ctx context.Context, n *pg_query.ExecuteStmt, w stmt.ResultWriter) error {
	st, err := s.statements.find(n.Name)
	if err != nil {
		return err
	}
	if st.stmt == nil {
		return w.EmptyQuery()
	}
	if !parse.IsQuery(st.stmt.Node) {
		return s.utility(ctx, *st.stmt, w, false)
	}
	prog, args, err := s.executed(ctx, n)
	if err != nil {
		return err
	}
	if prog.Columns != nil {
		if err := w.Describe(prog.Columns); err != nil {
			return err
		}
	}
	return s.runQuery(ctx, prog, args, w)
}

// executed returns the program and the arguments of an EXECUTE.
func (s *Session) executed(ctx context.Context, n *pg_query.ExecuteStmt) (*stmt.Program, []types.Datum, error) {
	st, err := s.statements.find(n.Name)
	if err != nil {
		return nil, nil, err
	}
	if len(n.Params) != len(st.params) {
		return nil, nil, pgerr.New(pgerr.SyntaxError, `wrong number of parameters for prepared statement "%s"`, n.Name).
			WithDetail("Expected %d parameters but got %d.", len(st.params), len(n.Params))
	}
	args := make([]types.Datum, len(n.Params))
	for i, p := range n.Params {
		if args[i], err = s.argument(ctx, p, i+1, st.params[i]); err != nil {
			return nil, nil, err
		}
	}
	prog, err := s.refresh(ctx, st)
	return prog, args, err
}

// argument evaluates an argument of EXECUTE as the parameter's type.
func (s *Session) argument(ctx context.Context, n *pg_query.Node, number int, oid types.OID) (types.Datum, error) {
	e, err := analyze.Argument(s.currentCompiler().Analysis(s.query), s.query, n, oid)
	if err != nil {
		return types.Null, err
	}
	q := &query.Query{Targets: []query.Target{{Expr: e, Name: "argument"}}}
	pl, err := plan.Build(q, plan.Env{Fold: expr.EvalConst})
	if err != nil {
		return types.Null, err
	}
	x, err := exec.Compile(pl)
	if err != nil {
		return types.Null, err
	}
	var out types.Datum
	c := s.execution(ctx, nil)
	err = x.Run(c, func(row []types.Datum) error {
		out = row[0].Clone()
		return nil
	})
	return out, err
}

// deallocate runs DEALLOCATE.
func (s *Session) deallocate(n *pg_query.DeallocateStmt, w stmt.ResultWriter) error {
	if n.Isall || n.Name == "" {
		clear(s.statements)
		return w.Complete("DEALLOCATE ALL")
	}
	if _, err := s.statements.find(n.Name); err != nil {
		return err
	}
	s.CloseStatement(n.Name)
	return w.Complete("DEALLOCATE")
}
