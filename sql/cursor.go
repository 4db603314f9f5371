package sql

import (
	"context"
	"errors"
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/counters"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// Bits of DeclareCursorStmt.Options, as PostgreSQL's parsenodes.h numbers them.
const (
	cursorBinary      = 0x01
	cursorScroll      = 0x02
	cursorNoScroll    = 0x04
	cursorInsensitive = 0x08
	cursorAsensitive  = 0x10
	cursorHold        = 0x20
)

// declareCursor runs DECLARE name CURSOR FOR query. It makes a portal, which the client may also
// run by the protocol. The cursor shows the rows as they are now.
func (s *Session) declareCursor(
	ctx context.Context, st parse.Statement, n *pg_query.DeclareCursorStmt, w stmt.ResultWriter,
) error {
	if err := s.mayDeclare(n); err != nil {
		return err
	}
	if s.block.Tx == nil {
		s.block.Begin()
	}
	inner := parse.Statement{Node: n.Query, Source: st.Source, Start: st.Start, End: st.End}
	prog, args, err := s.containedProgram(ctx, inner)
	if err != nil {
		return err
	}
	if prog.Plan.Failing != nil {
		return prog.Plan.Failing
	}
	if prog.Writes {
		return pgerr.New(pgerr.FeatureNotSupported, "DECLARE CURSOR must not contain data-modifying statements in WITH")
	}
	var locking []query.RowLock
	if prog.Query != nil {
		locking = prog.Query.Locking
	}
	if err := lockingCursor(n.Options, locking); err != nil {
		return err
	}
	p := &portal{
		st: &prepared{text: st.Text(), stmt: &inner, program: prog}, hold: n.Options&cursorHold != 0,
		binary: n.Options&cursorBinary != 0, args: args, nest: s.block.Nest(), opened: s.queryAt,
	}
	if err := s.foldFirst(ctx, prog, args); err != nil {
		return err
	}
	if p.opening.at, err = s.block.Tx.SnapshotForLater(ctx); err != nil {
		return err
	}
	if err := s.block.Tx.Pin(p.opening.at, s.block.Tx.Parts.PinSnapshot); err != nil {
		return err
	}
	if prog, err = s.currentCompiler().ForCursor(prog); err != nil {
		return err
	}
	if err := s.fixPart(p, prog); err != nil {
		return err
	}
	p.st.program = prog
	s.portals[n.Portalname] = p
	p.tag = func(rows int64) string { return commandTag(prog.Query, rows) }
	s.pull(ctx, p, prog)
	p.through(&scroll{
		back: goesBack(n.Options, prog.Query), strict: n.Options&cursorScroll != 0, room: s.derived.Memory,
		atStart: true, visible: len(prog.Columns),
	})
	return w.Complete("DECLARE CURSOR")
}

// goesBack reports whether a cursor may be fetched backward. If its declaration does not say,
// PostgreSQL decides by the plan.
func goesBack(options int32, q *query.Query) bool {
	switch {
	case options&cursorNoScroll != 0:
		return false
	case options&cursorScroll != 0:
		return true
	}
	return q != nil && plan.Backward(q)
}

// mayDeclare checks a DECLARE CURSOR before its query is analysed.
func (s *Session) mayDeclare(n *pg_query.DeclareCursorStmt) error {
	both := func(a, b int32) bool { return n.Options&a != 0 && n.Options&b != 0 }
	switch {
	case both(cursorScroll, cursorNoScroll):
		return pgerr.New(pgerr.InvalidCursorDefinition, "cannot specify both SCROLL and NO SCROLL")
	case both(cursorInsensitive, cursorAsensitive):
		return pgerr.New(pgerr.InvalidCursorDefinition, "cannot specify both INSENSITIVE and ASENSITIVE")
	case n.Options&cursorHold == 0 && !s.block.InBlock():
		return pgerr.New(pgerr.NoActiveSQLTransaction, "DECLARE CURSOR can only be used in transaction blocks")
	case n.Portalname == "":
		return pgerr.New(pgerr.InvalidCursorName, `invalid cursor name: must not be empty`)
	}
	if _, ok := s.portals[n.Portalname]; ok {
		return pgerr.New(pgerr.DuplicateCursor, `cursor "%s" already exists`, n.Portalname)
	}
	return nil
}

// lockingCursor refuses options that a cursor over a locking query such as FOR UPDATE cannot have,
// because its rows are locked as they are fetched.
func lockingCursor(options int32, locking []query.RowLock) error {
	if len(locking) == 0 {
		return nil
	}
	strength := "FOR " + txn.LockMode(locking[0].Strength).String()
	switch {
	case options&cursorHold != 0:
		return pgerr.New(pgerr.FeatureNotSupported, "DECLARE CURSOR WITH HOLD ... %s is not supported", strength).
			WithDetail("Holdable cursors must be READ ONLY.")
	case options&cursorScroll != 0:
		return pgerr.New(pgerr.FeatureNotSupported, "DECLARE SCROLL CURSOR ... %s is not supported", strength).
			WithDetail("Scrollable cursors must be READ ONLY.")
	case options&cursorInsensitive != 0:
		return pgerr.New(pgerr.InvalidCursorDefinition, "DECLARE INSENSITIVE CURSOR ... %s is not valid", strength).
			WithDetail("Insensitive cursors must be READ ONLY.")
	}
	return nil
}

// through makes a portal return its rows through c, which FETCH moves.
func (p *portal) through(c *scroll) {
	c.source, p.scroll = p.next, c
	if p.next == nil { // it was run to its end
		c.source = func() ([]types.Datum, bool) { return nil, false }
	}
	p.next = func() (row []types.Datum, ok bool) {
		n, err := c.forward(1, func(r []types.Datum) error {
			row = r
			return nil
		})
		if err != nil && p.err == nil {
			p.err = err
		}
		return row, n > 0
	}
}

// holdCursors reads the rows that cursors WITH HOLD have not returned yet, to keep them after the
// commit.
func (s *Session) holdCursors() error {
	for _, p := range s.portals {
		if !p.hold || p.held {
			continue
		}
		if err := p.keepRest(s.derived.Memory); err != nil {
			return err
		}
		if p.err != nil {
			return p.err
		}
		p.held = true
	}
	return nil
}

func (s *Session) cursor(name string) (*portal, error) {
	if p, ok := s.portals[name]; ok && name != "" {
		return p, nil
	}
	return nil, pgerr.New(pgerr.InvalidCursorName, `cursor "%s" does not exist`, name)
}

// fetch runs FETCH and MOVE.
func (s *Session) fetch(ctx context.Context, n *pg_query.FetchStmt, w stmt.ResultWriter) error {
	p, err := s.cursor(n.Portalname)
	if err != nil {
		return err
	}
	if p.broken {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, `portal "%s" cannot be run`, n.Portalname)
	}
	prog := p.st.program
	if p.next == nil && !p.done {
		if prog, err = s.refresh(ctx, p.st); err != nil {
			return err
		}
	}
	if !n.Ismove {
		if err := w.Describe(p.fetched(prog.Columns)); err != nil {
			return err
		}
	}
	if p.next == nil && !p.done {
		if err := s.open(ctx, p, prog); err != nil {
			return err
		}
	}
	if p.scroll == nil {
		p.through(&scroll{room: s.derived.Memory, atStart: !p.done, atEnd: p.done})
	}
	emit := w.Row
	if n.Ismove {
		emit = skipRow
	}
	rows, err := p.scroll.fetch(n, emit)
	if err == nil {
		err = p.err
	}
	if err != nil {
		p.broken = true
		return err
	}
	if err := s.sendNotices(w); err != nil {
		return err
	}
	tag := "FETCH"
	if n.Ismove {
		tag = "MOVE"
	}
	return w.Complete(fmt.Sprintf("%s %d", tag, rows))
}

// fetched returns the columns of the rows that FETCH returns.
func (p *portal) fetched(columns []stmt.Column) []stmt.Column {
	if !p.binary {
		return columns
	}
	out := slices.Clone(columns)
	for i := range out {
		out[i].Binary = true
	}
	return out
}

// closeCursor runs CLOSE.
func (s *Session) closeCursor(n *pg_query.ClosePortalStmt, w stmt.ResultWriter) error {
	if n.Portalname == "" {
		s.closeAllPortals()
		return w.Complete("CLOSE CURSOR ALL")
	}
	if _, err := s.cursor(n.Portalname); err != nil {
		return err
	}
	s.ClosePortal(n.Portalname)
	return w.Complete("CLOSE CURSOR")
}

// settleSince reads the rest of the portals that see writes buffered since a mark, before those
// writes are undone. It closes a portal whose rows cannot be kept. A cursor sees only writes that
// were buffered before it was opened, and a cursor opened since the mark is closed already; so
// these are portals that were bound before the mark and run after it.
func (s *Session) settleSince(mark txn.Marks) {
	for name, p := range s.portals {
		sees := false
		for f, m := range p.opening.before {
			sees = sees || m.Writes > mark[f].Writes
		}
		if sees && p.keepRest(s.derived.Memory) != nil {
			s.ClosePortal(name)
		}
	}
}

func (p *portal) keepRest(budget int64) error {
	if p.next == nil || p.kept {
		return nil
	}
	if p.scroll != nil {
		if err := p.scroll.readAll(budget); err != nil {
			return err
		}
		p.stop()
		p.kept, p.stop = true, func() {}
		return nil
	}
	k := keeper{budget: budget, full: tooMuchToHold}
	for {
		row, ok := p.next()
		if !ok {
			break
		}
		if err := k.add(row); err != nil {
			return err
		}
	}
	p.stop()
	p.give(k.rows)
	return nil
}

// keeper keeps rows for a portal.
type keeper struct {
	rows   [][]types.Datum
	budget int64               // bytes left
	full   func() *pgerr.Error // the error when they do not suffice
}

func (k *keeper) add(row []types.Datum) error {
	own := make([]types.Datum, len(row))
	for i, d := range row {
		own[i] = d.Clone()
		k.budget -= int64(len(d.S)) + datumSize
	}
	if k.rows = append(k.rows, own); k.budget < 0 {
		return k.full()
	}
	return nil
}

// tooMuchToHold is the error of COMMIT.
func tooMuchToHold() *pgerr.Error {
	return pgerr.New(pgerr.OutOfMemory, "out of memory").
		WithDetail("COMMIT keeps the rows that a cursor WITH HOLD has not returned yet, " +
			"and they exceed the memory limit.").
		WithHint("Fetch all rows or close the cursor before COMMIT.")
}

// tooMuchToReturn is the error of a statement that writes.
func tooMuchToReturn() *pgerr.Error {
	return pgerr.New(pgerr.OutOfMemory, "out of memory").
		WithDetail("The rows of RETURNING are kept to be returned in parts, and they exceed the memory limit.").
		WithHint("Execute the portal without a limit on its rows.")
}

// The portal returns kept rows from now on.
func (p *portal) give(rows [][]types.Datum) {
	p.kept, p.stop = true, func() {}
	p.next = func() ([]types.Datum, bool) {
		if len(rows) == 0 {
			return nil, false
		}
		row := rows[0]
		rows = rows[1:]
		return row, true
	}
}

const datumSize = 32 // bytes

// foldFirst adds the parts of split documents to the documents whose rows a cursor is going to
// lock. It must do so first, because the cursor does not see what its transaction writes after it
// was opened.
func (s *Session) foldFirst(ctx context.Context, p *stmt.Program, args []types.Datum) error {
	if !counters.Folds(p) {
		return nil
	}
	p, err := s.settle(ctx, p)
	if err != nil || !counters.Folds(p) {
		return err
	}
	s.block.Tx.Used = true
	if err := errors.Join(s.block.Tx.ReadPastAsSet(), s.block.Tx.TakeSnapshot(ctx)); err != nil {
		return err
	}
	c, x := s.execution(ctx, args), s.executor(ctx)
	return counters.Fold(&x, s.block.Tx.Tx, p, c)
}
