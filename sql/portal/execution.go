package portal

import (
	"context"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// maxNested limits how many statements may lead to one another by EXECUTE and FETCH. The protocol
// can prepare an EXECUTE, also one of itself.
const maxNested = 100

func tooNested() error {
	return pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded").
		WithDetail("More than %d prepared statements execute one another.", maxNested)
}

// executed returns the statement that an EXECUTE executes; nil: st is none, or its statement does
// not exist.
func (t *Statements) executed(st *Statement) *Statement {
	if n := st.node().GetExecuteStmt(); n != nil {
		return t.byName[n.Name]
	}
	return nil
}

// Executed returns the statement of an EXECUTE. It may be an EXECUTE too, but not of itself.
func (t *Statements) Executed(n *pg_query.ExecuteStmt) (*Statement, error) {
	found, err := t.Find(n.Name)
	if err != nil {
		return nil, err
	}
	st := found
	for range maxNested {
		if st = t.executed(st); st == nil {
			return found, nil
		}
	}
	return nil, tooNested()
}

// Execution returns the program and the arguments of an EXECUTE in the text source.
func (t *Statements) Execution(
	ctx context.Context, n *pg_query.ExecuteStmt, source string,
) (*stmt.Program, []types.Datum, error) {
	st, err := t.Find(n.Name)
	if err != nil {
		return nil, nil, err
	}
	if len(n.Params) != len(st.Params) {
		return nil, nil, pgerr.New(pgerr.SyntaxError, `wrong number of parameters for prepared statement "%s"`, n.Name).
			WithDetail("Expected %d parameters but got %d.", len(st.Params), len(n.Params))
	}
	args := make([]types.Datum, len(n.Params))
	for i, p := range n.Params {
		if args[i], err = t.argument(ctx, p, source, st.Params[i]); err != nil {
			return nil, nil, err
		}
	}
	prog, err := t.ForArgs(ctx, st, args)
	return prog, args, err
}

// argument evaluates an argument of EXECUTE as the parameter's type.
func (t *Statements) argument(
	ctx context.Context, n *pg_query.Node, source string, oid types.OID,
) (types.Datum, error) {
	e, err := analyze.Argument(t.env.Compiler().Analysis(source), source, n, oid)
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
	err = x.Run(t.env.Context(ctx), func(row []types.Datum) error {
		out = row[0].Clone()
		return nil
	})
	return out, err
}
