package portal

import (
	"context"
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// Portals are the portals of a session, by name, and the prepared statements that they are made of.
// "" is the unnamed portal.
type Portals struct {
	Statements Statements

	env    *Environment
	byName map[string]*Portal

	unnamed int // cursors that functions have opened without a name
}

// New returns the portals of a new session.
func New(e Environment) *Portals {
	return &Portals{
		Statements: Statements{env: &e, byName: map[string]*Statement{}}, env: &e, byName: map[string]*Portal{},
	}
}

// Find returns the portal of a name.
func (t *Portals) Find(name string) (*Portal, error) {
	if p, ok := t.byName[name]; ok {
		return p, nil
	}
	return nil, pgerr.New(pgerr.InvalidCursorName, `portal "%s" does not exist`, name)
}

func (t *Portals) isFree(name string) error {
	if _, ok := t.byName[name]; ok {
		return pgerr.New(pgerr.DuplicateCursor, `cursor "%s" already exists`, name)
	}
	return nil
}

// Bind makes a portal of a prepared statement and its arguments. The unnamed portal is replaced.
func (t *Portals) Bind(name, statement string, args []types.Datum) error {
	st, err := t.Statements.Find(statement)
	if err != nil {
		return err
	}
	if len(args) != len(st.Params) {
		return pgerr.New(pgerr.ProtocolViolation,
			"bind message supplies %d parameters, but prepared statement \"%s\" requires %d", len(args),
			statement, len(st.Params))
	}
	if err := t.env.Allowed(); err != nil && !st.EndsTransaction() {
		return err
	}
	if name == "" {
		t.Close(name)
	} else if err := t.isFree(name); err != nil {
		return err
	}
	t.byName[name] = &Portal{Statement: st, Args: args, nest: t.env.nest(), opened: time.Now()}
	return nil
}

// Program returns the program that a portal of a query runs.
func (t *Portals) Program(ctx context.Context, p *Portal) (prog *stmt.Program, err error) {
	if p.IsOpen() {
		prog, err = t.Statements.Program(ctx, p.Statement)
	} else {
		prog, err = t.Statements.ForArgs(ctx, p.Statement, p.Args)
	}
	p.program = prog
	return prog, err
}

// Columns describes the rows of a statement; nil: it returns none.
func (t *Portals) Columns(ctx context.Context, st *Statement) ([]stmt.Column, error) {
	st, err := t.source(st)
	switch {
	case err != nil || st.Tree == nil:
		return nil, err
	case !st.IsQuery():
		return t.describable(t.env.Columns(st.Tree.Node))
	case t.env.Allowed() != nil:
		return t.describable(st.program.Columns)
	}
	p, err := t.Statements.Program(ctx, st)
	if err != nil {
		return nil, err
	}
	return p.Columns, nil
}

// source returns the statement whose rows a statement returns: for EXECUTE and FETCH another one.
func (t *Portals) source(st *Statement) (*Statement, error) {
	for range maxNested {
		next := t.Statements.executed(st)
		if n := st.node().GetFetchStmt(); n != nil && !n.Ismove {
			if p := t.byName[n.Portalname]; p != nil {
				next = p.Statement
			}
		}
		if next == nil {
			return st, nil
		}
		st = next
	}
	return nil, tooNested()
}

// describable refuses to describe rows in a failed transaction, because it cannot look up
// definitions.
func (t *Portals) describable(columns []stmt.Column) ([]stmt.Column, error) {
	if columns == nil {
		return nil, nil
	}
	return columns, t.env.Allowed()
}

// Open begins a portal that returns its rows in parts. A statement that writes is run to its end
// now.
func (t *Portals) Open(ctx context.Context, p *Portal, prog *stmt.Program) (err error) {
	t.env.Begin()
	if prog.Writes {
		return p.finish(t.env.Memory(), func(emit exec.Emit) (int64, error) {
			return t.env.Run(ctx, nil, prog, p.Args, emit)
		})
	}
	if prog, err = t.env.Compiler().LockingLate(prog); err != nil {
		return err
	}
	if err := t.env.Fold(ctx, prog, p.Args); err != nil {
		return err
	}
	if err := t.fixPart(p, prog); err != nil {
		return err
	}
	t.start(ctx, p, prog)
	return nil
}

// fixPart fixes, when a portal is opened, the part of the data that it reads.
func (t *Portals) fixPart(p *Portal, prog *stmt.Program) (err error) {
	p.opening.Part, err = t.env.Part(prog)
	p.opening.Fixed = err == nil
	return err
}

// start starts the program of a portal, which sees what its transaction has written until now.
func (t *Portals) start(ctx context.Context, p *Portal, prog *stmt.Program) {
	if p.opening.Before == nil {
		p.opening.Before = t.env.Tx().Parts.Mark()
	}
	p.start(func(emit exec.Emit) (int64, error) { return t.env.Run(ctx, &p.opening, prog, p.Args, emit) })
}

// Close closes and forgets a portal, if there is one of the name.
func (t *Portals) Close(name string) {
	if p, ok := t.byName[name]; ok {
		p.free()
		delete(t.byName, name)
	}
}

// CloseAll closes all portals.
func (t *Portals) CloseAll() {
	for name := range t.byName {
		t.Close(name)
	}
}

// EndTransaction closes the portals that end with the transaction.
func (t *Portals) EndTransaction() {
	for name, p := range t.byName {
		if !p.held {
			t.Close(name)
		}
	}
}

// Hold reads the rows that cursors WITH HOLD have not returned yet, to keep them after the commit
// that follows.
func (t *Portals) Hold() error {
	for _, p := range t.byName {
		if !p.hold || p.held {
			continue
		}
		if err := p.keepRest(t.env.Memory()); err != nil {
			return err
		}
		if p.err != nil {
			return p.err
		}
		p.held = true
	}
	return nil
}

// HasHoldable reports whether the transaction has created a cursor WITH HOLD that is open.
func (t *Portals) HasHoldable() bool {
	for _, p := range t.byName {
		if p.hold && !p.held {
			return true
		}
	}
	return false
}

// Release makes the portals that a savepoint has opened part of what is around it. nest is the
// nesting level of the savepoint.
func (t *Portals) Release(nest int) {
	for _, p := range t.byName {
		p.nest = min(p.nest, nest-1)
	}
}

// RollbackTo closes the portals that a savepoint has opened, before what was written since the
// mark is undone. nest is the nesting level of the savepoint.
//
// It reads the rest of a portal that was bound before the mark and run after it, because that
// portal sees writes that are going to be undone. It closes the portal if its rows cannot be kept.
// A cursor sees only writes that were buffered before it was opened.
func (t *Portals) RollbackTo(nest int, mark txn.Marks) {
	for name, p := range t.byName {
		if p.nest >= nest || p.seesSince(mark) && p.keepRest(t.env.Memory()) != nil {
			t.Close(name)
		}
	}
}

// seesSince reports whether the portal sees writes that were buffered since a mark.
func (p *Portal) seesSince(mark txn.Marks) bool {
	for f, m := range p.opening.Before {
		if m.Writes > mark[f].Writes {
			return true
		}
	}
	return false
}

// Reads returns one of the tables that an open portal reads; ok is false if there is none.
func (t *Portals) Reads(tables []catalog.OID) (table catalog.OID, ok bool) {
	for _, p := range t.byName {
		if p.next == nil || p.kept || p.Statement.program == nil {
			continue
		}
		i := slices.IndexFunc(p.Statement.program.Tables, func(u tx.TableUse) bool {
			return slices.Contains(tables, u.Table)
		})
		if i >= 0 {
			return p.Statement.program.Tables[i].Table, true
		}
	}
	return 0, false
}
