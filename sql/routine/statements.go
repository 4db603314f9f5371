package routine

import (
	"context"
	"errors"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/spool"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// Statements implements function.Statements for calls in one statement of a session. It is not safe
// for concurrent use.
type Statements struct {
	env    *Environment
	atomic bool
	ctx    *expr.Ctx // of expressions
	subs   int       // subtransactions that are open
}

// New returns the statements of a call. atomic reports whether it may not end the transaction.
func New(env *Environment, atomic bool) *Statements { return &Statements{env: env, atomic: atomic} }

// Type implements function.Analysis.
func (x *Statements) Type(name string) (types.OID, int32, []query.Column, error) {
	return analyze.VariableType(x.env.Compiler().Analysis(name), name)
}

// Format implements function.Analysis.
func (x *Statements) Format(oid types.OID, typmod int32) string {
	return pgcatalog.FormatType(oid, typmod)
}

// Prepare implements function.Analysis.
func (x *Statements) Prepare(text string, vars function.Names) (function.Statement, error) {
	st, err := parsed(text)
	if err != nil {
		return nil, err
	}
	if parse.IsQuery(st.Node) {
		return x.prepared(func(c *stmt.Compiler) (*stmt.Program, error) { return c.ForFunction(st, vars) })
	}
	if err := refuse(st); err != nil {
		return nil, err
	}
	s := &statement{tree: st, vars: vars, version: x.env.Version(), tag: utilityTag(st)}
	for _, c := range x.env.UtilityColumns(st) {
		s.columns = append(s.columns, query.Column{Name: c.Name, Type: c.Type, Typmod: c.Typmod})
	}
	if inner, ok := parse.Contained(st); ok { // its parameters have to be known
		p, err := x.env.Compiler().ForFunction(inner, vars)
		if err != nil {
			return nil, err
		}
		s.params = paramsOf(p.Query, len(p.Params))
	}
	return s, nil
}

func (x *Statements) prepared(compile func(c *stmt.Compiler) (*stmt.Program, error)) (function.Statement, error) {
	var p *stmt.Program
	err := x.env.Known(context.Background(), func() (err error) {
		p, err = compile(x.env.Compiler())
		return err
	})
	if err != nil {
		return nil, err
	}
	return newStatement(p), nil
}

// Assign implements function.Analysis.
func (x *Statements) Assign(a function.Assignment, vars function.Names) (function.Statement, error) {
	st, err := parsed(a.Text)
	if err != nil {
		return nil, err
	}
	return x.prepared(func(c *stmt.Compiler) (*stmt.Program, error) { return c.ForAssignment(st, a, vars) })
}

// IsStale implements function.Statements.
func (x *Statements) IsStale(st function.Statement) bool {
	return st.(*statement).version != x.env.Version()
}

// current returns a statement for the definitions of now.
func (x *Statements) current(ctx context.Context, st function.Statement) (*statement, error) {
	s := st.(*statement)
	if s.program == nil || s.version == x.env.Version() {
		return s, nil
	}
	var p *stmt.Program
	err := x.env.Known(ctx, func() (err error) {
		p, err = x.env.Compiler().Renew(s.program)
		return err
	})
	if err != nil {
		return nil, err
	}
	return newStatement(p), nil
}

// Run implements function.Statements.
func (x *Statements) Run(
	ctx context.Context, st function.Statement, args []types.Datum, emit func(row []types.Datum) error,
) (function.Result, error) {
	s, err := x.current(ctx, st)
	if err != nil {
		return function.Result{}, err
	}
	stopped := false
	each := func(row []types.Datum) error {
		if emit == nil {
			return nil
		}
		err := emit(row)
		stopped = errors.Is(err, function.Stop)
		return err
	}
	if s.program == nil {
		w := &writer{emit: each, env: x.env}
		err := x.env.Utility(ctx, s.tree, Bound{s.vars, args}, w)
		return function.Result{Rows: w.affected()}, err
	}
	args = args[:min(len(args), len(s.program.Params))]
	p, err := x.env.Compiler().For(s.program, args)
	if err != nil {
		return function.Result{}, err
	}
	rows, err := x.env.Run(ctx, p, args, each)
	if stopped && errors.Is(err, function.Stop) {
		err = nil
	}
	return function.Result{Rows: rows}, err
}

// RunHeld implements function.Statements.
func (x *Statements) RunHeld(
	ctx context.Context, st function.Statement, args []types.Datum, emit func(row []types.Datum) error,
) (function.Result, error) {
	if x.atomic {
		return x.Run(ctx, st, args, emit)
	}
	var rows spool.List
	rows.Begin(x.env.Memory())
	defer rows.Free()
	r, err := x.Run(ctx, st, args, rows.Add)
	if err != nil {
		return r, err
	}
	from, err := rows.From(0)
	if err != nil {
		return r, err
	}
	defer from.Close()
	for {
		row, ok, err := from.Next()
		if err == nil && ok {
			err = emit(row)
		}
		if errors.Is(err, function.Stop) {
			return r, nil
		}
		if err != nil || !ok {
			return r, err
		}
	}
}

// Savepoint implements function.Statements.
func (x *Statements) Savepoint() (function.Savepoint, error) {
	x.subs++
	return &savepoint{x, x.env.Transaction.BeginSub()}, nil
}

type savepoint struct {
	x *Statements
	n int
}

// Release implements function.Savepoint.
func (s *savepoint) Release() { s.end(true) }

// Rollback implements function.Savepoint.
func (s *savepoint) Rollback() { s.end(false) }

func (s *savepoint) end(keep bool) {
	s.x.subs--
	s.x.env.Transaction.EndSub(s.n, keep)
}

// End implements function.Statements.
func (x *Statements) End(ctx context.Context, commit, chain bool) error {
	switch {
	case x.atomic:
		return pgerr.New(pgerr.InvalidTransactionTermination, "invalid transaction termination")
	case x.subs > 0 && commit:
		return pgerr.New(pgerr.InvalidTransactionTermination, "cannot commit while a subtransaction is active")
	case x.subs > 0:
		return pgerr.New(pgerr.InvalidTransactionTermination, "cannot roll back while a subtransaction is active")
	}
	x.ctx = nil
	return x.env.Transaction.End(ctx, commit, chain)
}

// clone copies a row, whose values do not alias it.
func clone(row []types.Datum) []types.Datum {
	out := slices.Clone(row)
	for i := range out {
		out[i] = out[i].Clone()
	}
	return out
}
