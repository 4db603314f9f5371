package stmt

import (
	"context"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// Executor runs programs in transactions that the caller names. It belongs to no client, and has only values of it.
type Executor struct {
	Compiler  *Compiler
	View      *catalog.View // that System and Hidden analyze statements against; nil: as the transaction sees it
	PID       uint32        // of the client's connection; 0: the system
	Values    *types.Env
	Functions builtin.SessionInfo // for functions that ask for the session
	Hooks     exec.Hooks
	Limits    exec.Limits
	Memory    memory.Limits
	TempDir   string
	At        txn.Timestamp // of all reads; 0: what the transaction's isolation level asks for
}

// Step is work around the run of a program, such as that of split documents.
type Step interface {
	// Run runs a form of the program, with what has to be done before and after it, and returns the form.
	Run(x *Executor, t *tx.Tx, c *exec.Ctx, emit exec.Emit) (*Program, error)
}

// Against returns an executor whose statements are analyzed against a view.
func (x *Executor) Against(view *catalog.View) *Executor {
	out := *x
	out.View = view
	return &out
}

// Context makes the context in which a program runs in a transaction; t is nil for a program that reads no table.
func (x *Executor) Context(ctx context.Context, t *tx.Tx, args []types.Datum) *exec.Ctx {
	c := &exec.Ctx{
		Execution: operator.Execution{
			Ctx: expr.Ctx{Context: ctx, Params: args, Env: x.Values, Session: x.Functions},
			Mem: memory.Limited(x.Memory).WithFiles(x.TempDir),
		},
		Hooks: x.Hooks, Limits: x.Limits,
	}
	c.Owner, c.Statement = &c.Execution, c // for functions that are called before a program runs
	if t == nil {
		return c
	}
	g := t.Gateway // the statement's own: it may go on by a newer map
	c.Gateway, c.Limits.ReadOnly, c.Limits.Isolation = &g, t.IsReadOnly(), t.Modes.Isolation()
	if t.Near {
		t.AtReplicas(c)
	}
	if x.At != 0 {
		c.Gateway = t.Gateway.ReadingAt(x.At)
	}
	return c
}

// Perform runs a program in a context that Context has made. It returns the form of the program that has run.
func (x *Executor) Perform(t *tx.Tx, p *Program, c *exec.Ctx, emit exec.Emit) (*Program, error) {
	if p.Split == nil {
		return p, x.conceal(t, p.Exec.Run(c, emit))
	}
	own := *x // x itself stays on the stack
	ran, err := p.Split.Run(&own, t, c, emit)
	return ran, x.conceal(t, err)
}

// conceal removes what the client may not see from the error of a statement.
func (x *Executor) conceal(t *tx.Tx, err error) error {
	if err == nil || t == nil || x.Compiler == nil {
		return err
	}
	return Conceal(t.View(), x.Compiler.Database, x.Compiler.Role, err)
}

// Run runs a program as the system in a transaction, in as many fragments as it needs. It returns the number of rows
// that it has written. emit may be nil.
func (x *Executor) Run(
	ctx context.Context, t *tx.Tx, p *Program, args []types.Datum, emit exec.Emit,
) (int64, error) {
	c := x.Context(ctx, t, args)
	c.Before = t.Parts.Mark()
	return runUnlimited(c, p.Exec, emit)
}

func runUnlimited(c *exec.Ctx, p *exec.Program, emit exec.Emit) (int64, error) {
	c.Limits.MaxFanout, c.Limits.FanoutNotice = 0, 0
	if emit == nil {
		emit = func([]types.Datum) error { return nil }
	}
	err := p.Run(c, emit)
	return c.Affected, err
}

// System compiles and runs a SELECT as the system, over what is committed now and what the transaction has written.
// Privileges are not checked, and nothing is attached to the program. It takes no locks: the caller has them.
func (x *Executor) System(
	ctx context.Context, t *tx.Tx, text string, args []types.Datum, emit exec.Emit,
) (int64, error) {
	view := x.View
	if view == nil {
		view = t.View()
	}
	c := x.Compiler.Against(view).AsSystem()
	c.Hooks = Hooks{}
	q, err := c.Query(text)
	if err != nil {
		return 0, err
	}
	p, err := c.Compile(q, nil)
	if err != nil {
		return 0, err
	}
	now := *x
	if now.At, err = t.CurrentEverywhere(ctx); err != nil {
		return 0, err
	}
	return runUnlimited(now.Context(ctx, t, args), p.Exec, emit)
}

// Hidden is a statement of the system's own with its arguments. It may name tables that clients do not see, each with
// its schema.
type Hidden struct {
	Text   string
	Params []types.OID
	Args   []types.Datum
}

// Hidden compiles and runs such a statement. It returns the number of rows that were written.
func (x *Executor) Hidden(ctx context.Context, t *tx.Tx, st Hidden, emit exec.Emit) (int64, error) {
	view := x.View
	if view == nil {
		view = t.View()
	}
	p, err := HiddenProgram(view, x.Compiler.Database, st.Text, st.Params...)
	if err != nil {
		return 0, err
	}
	return x.Run(ctx, t, p, st.Args, emit)
}

// HiddenQuery analyzes the text of a Hidden.
func HiddenQuery(view *catalog.View, database catalog.OID, text string, params ...types.OID) (*query.Query, error) {
	stmts, err := parse.Parse(text)
	if err != nil {
		return nil, err
	}
	c := &analyze.Context{Catalog: view, Database: database, Source: text, Storage: true}
	q, _, err := analyze.Statement(analyze.Planned(c), stmts[0].Node, params)
	return q, err
}

// HiddenProgram compiles the text of a Hidden.
func HiddenProgram(view *catalog.View, database catalog.OID, text string, params ...types.OID) (*Program, error) {
	q, err := HiddenQuery(view, database, text, params...)
	if err != nil {
		return nil, err
	}
	p := &Program{Query: q, Params: params, Version: view.DefinitionVersion()}
	if p.Plan, err = makePlan(view, q, environment(view)); err != nil {
		return nil, err
	}
	p.Exec, err = exec.Compile(p.Plan)
	return p, err
}
