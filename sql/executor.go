package sql

import (
	"context"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// executor runs statements and programs in a transaction that the caller names. It belongs to no client: what it
// has of one are values. Statements that it runs for the system are bound by neither privileges nor a limit on the
// number of fragments.
type executor struct {
	compiler  *stmt.Compiler
	values    *types.Env
	functions builtin.SessionInfo // for functions that ask for the session
	hooks     exec.Hooks
	limits    exec.Limits
	memory    int64 // bytes that a query may retain
	tempDir   string
	byID      bool          // former ids of documents do not lead to them
	view      *catalog.View // that statements are analyzed against; nil: as the transaction sees it
	at        txn.Timestamp // of all reads; 0: what the transaction's isolation level asks for
}

// executor returns one with the session's values.
func (s *Session) executor(ctx context.Context) executor {
	values := s.Env() // it brings the limits up to date
	return executor{
		compiler: &s.compiler, byID: s.compiler.ByID,
		values: values, functions: info{s, ctx}, hooks: s.hook, limits: s.limit, memory: s.derived.Memory, tempDir: s.db.cfg.TempDir,
	}
}

// against returns an executor whose statements are analyzed against a view.
func (x executor) against(view *catalog.View) *executor {
	x.view = view
	return &x
}

// context makes the context in which a program runs in a transaction; t may be nil for one that reads no table.
func (x *executor) context(ctx context.Context, t *tx.Tx, args []types.Datum) *exec.Ctx {
	c := &exec.Ctx{
		Execution: operator.Execution{
			Ctx: expr.Ctx{Context: ctx, Params: args, Env: x.values, Session: x.functions},
			Mem: memory.New(x.memory).WithFiles(x.tempDir),
		},
		Hooks: x.hooks, Limits: x.limits,
	}
	if t == nil {
		return c
	}
	g := t.Gateway // the statement's own: it may go on by a newer map
	c.Gateway, c.Limits.ReadOnly, c.Limits.Isolation = &g, t.IsReadOnly(), t.Modes.Isolation()
	if t.Near {
		t.AtReplicas(c)
	}
	if x.at != 0 {
		c.Gateway = readingAt(t.Gateway, x.at)
	}
	return c
}

// Run runs a program as the system in a transaction, and returns the number of rows that it wrote. emit may be nil.
func (x *executor) Run(
	ctx context.Context, t *tx.Tx, p *exec.Program, args []types.Datum, emit exec.Emit,
) (int64, error) {
	c := x.context(ctx, t, args)
	c.Before = t.Parts.Mark()
	return runUnlimited(c, p, emit)
}

// runUnlimited runs a program in as many fragments as it needs.
func runUnlimited(c *exec.Ctx, p *exec.Program, emit exec.Emit) (int64, error) {
	c.Limits.MaxFanout, c.Limits.FanoutNotice = 0, 0
	if emit == nil {
		emit = func([]types.Datum) error { return nil }
	}
	err := p.Run(c, emit)
	return c.Affected, err
}

// Hidden is System for a statement that may name the table with the parts of a table's split documents.
func (x *executor) Hidden(
	ctx context.Context, t *tx.Tx, of *catalog.Table, h hidden, emit exec.Emit,
) (int64, error) {
	p, err := hiddenProgram(x.view, of, h.text, h.params)
	if err != nil {
		return 0, err
	}
	return x.Run(ctx, t, p, h.args, emit)
}

// hidden is a statement of the system's own with its arguments.
type hidden struct {
	text   string
	params []types.OID
	args   []types.Datum
}

// aboutParts returns a statement whose parameter is the keys of the parts of documents.
func aboutParts(text string, docs ...*catalog.HotDocument) hidden {
	return hidden{text, []types.OID{types.Int8Array}, []types.Datum{partKeys(docs...)}}
}

// System compiles and runs a SELECT as the system, over what is committed now and what the transaction has written.
// It takes no locks: the caller has them.
func (x executor) System(
	ctx context.Context, t *tx.Tx, text string, args []types.Datum, emit exec.Emit,
) (int64, error) {
	if x.view == nil {
		x.view = t.View()
	}
	p, err := x.compile(text)
	if err != nil {
		return 0, err
	}
	if x.at, err = t.CurrentEverywhere(ctx); err != nil {
		return 0, err
	}
	return runUnlimited(x.context(ctx, t, args), p, emit)
}

// compile makes the program of a SELECT.
func (x *executor) compile(text string) (*exec.Program, error) {
	c := x.compiler.Against(x.view)
	c.ByID, c.Hooks = x.byID, stmt.Hooks{}
	q, err := c.Query(text)
	if err != nil {
		return nil, err
	}
	p, err := c.Compile(q, nil)
	if err != nil {
		return nil, err
	}
	return p.Exec, nil
}
