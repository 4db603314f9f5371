package portal

import (
	"context"
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
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

// Cursor returns the portal that FETCH and CLOSE name.
func (t *Portals) Cursor(name string) (*Portal, error) {
	if p, ok := t.byName[name]; ok && name != "" {
		return p, nil
	}
	return nil, pgerr.New(pgerr.InvalidCursorName, `cursor "%s" does not exist`, name)
}

// MayDeclare checks a DECLARE CURSOR before its query is analysed. inBlock reports whether other
// statements of the transaction can follow.
func (t *Portals) MayDeclare(n *pg_query.DeclareCursorStmt, inBlock bool) error {
	both := func(a, b int32) bool { return n.Options&a != 0 && n.Options&b != 0 }
	switch {
	case both(cursorScroll, cursorNoScroll):
		return pgerr.New(pgerr.InvalidCursorDefinition, "cannot specify both SCROLL and NO SCROLL")
	case both(cursorInsensitive, cursorAsensitive):
		return pgerr.New(pgerr.InvalidCursorDefinition, "cannot specify both INSENSITIVE and ASENSITIVE")
	case n.Options&cursorHold == 0 && !inBlock:
		return pgerr.New(pgerr.NoActiveSQLTransaction, "DECLARE CURSOR can only be used in transaction blocks")
	case n.Portalname == "":
		return pgerr.New(pgerr.InvalidCursorName, `invalid cursor name: must not be empty`)
	}
	return t.isFree(n.Portalname)
}

// Declare makes a portal of DECLARE name CURSOR FOR query, which the client may also run by the
// protocol. The cursor shows the rows as they are now. st is the whole statement, prog the program
// of its query.
func (t *Portals) Declare(
	ctx context.Context, st parse.Statement, n *pg_query.DeclareCursorStmt, prog *stmt.Program, args []types.Datum,
) error {
	tree := st
	tree.Node = n.Query
	p := &Portal{Statement: &Statement{Text: st.Text(), Tree: &tree}, Args: args}
	return t.declare(ctx, p, n.Portalname, n.Options, prog)
}

// declare opens a portal as a cursor.
func (t *Portals) declare(ctx context.Context, p *Portal, name string, options int32, prog *stmt.Program) error {
	if err := mayBeCursor(options, prog); err != nil {
		return err
	}
	t.env.Begin()
	if err := t.env.Fold(ctx, prog, p.Args); err != nil {
		return err
	}
	p.nest, p.opened = t.env.nest(), t.env.Arrived()
	p.hold, p.binary = options&cursorHold != 0, options&cursorBinary != 0
	var err error
	x := t.env.Tx()
	if p.opening.At, err = x.SnapshotForLater(ctx); err != nil {
		return err
	}
	if err := x.Pin(p.opening.At, x.Parts.PinSnapshot); err != nil {
		return err
	}
	if prog, err = t.env.Compiler().ForCursor(prog); err != nil {
		return err
	}
	if err := t.fixPart(p, prog); err != nil {
		return err
	}
	p.program, p.Statement.program = prog, prog
	t.byName[name] = p
	t.start(ctx, p, prog)
	p.through(&scroll{
		back: goesBack(options, prog.Query), strict: options&cursorScroll != 0,
		atStart: true, visible: len(prog.Columns),
	}, t.env.Memory())
	return nil
}

// OpenCursor opens a cursor of a function, and returns its name: one that is free if name is "".
func (t *Portals) OpenCursor(
	ctx context.Context, name string, prog *stmt.Program, args []types.Datum, options int32,
) (string, error) {
	for name == "" {
		t.unnamed++
		if own := fmt.Sprintf("<unnamed portal %d>", t.unnamed); t.byName[own] == nil {
			name = own
		}
	}
	if _, used := t.byName[name]; used {
		return "", pgerr.New(pgerr.DuplicateCursor, `cursor "%s" already in use`, name)
	}
	p := &Portal{Statement: &Statement{Text: prog.Statement.Text(), Tree: &prog.Statement}, Args: args}
	return name, t.declare(ctx, p, name, options, prog)
}

// CursorColumns returns the columns of a cursor's rows.
func (t *Portals) CursorColumns(name string) ([]stmt.Column, error) {
	p, err := t.Cursor(name)
	if err != nil {
		return nil, err
	}
	if p.Statement.program == nil {
		return nil, nil
	}
	return p.Statement.program.Columns, nil
}

// mayBeCursor refuses programs that a cursor with these options cannot have.
func mayBeCursor(options int32, prog *stmt.Program) error {
	switch {
	case prog.Plan.Failing != nil:
		return prog.Plan.Failing
	case prog.Writes:
		return pgerr.New(pgerr.FeatureNotSupported, "DECLARE CURSOR must not contain data-modifying statements in WITH")
	case prog.Query != nil:
		return mayLock(options, prog.Query.Locking)
	}
	return nil
}

// mayLock refuses options that a cursor over a locking query such as FOR UPDATE cannot have,
// because its rows are locked as they are fetched.
func mayLock(options int32, locking []query.RowLock) error {
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

// CloseCursor runs CLOSE, and returns its tag.
func (t *Portals) CloseCursor(n *pg_query.ClosePortalStmt) (tag string, err error) {
	if n.Portalname == "" {
		t.CloseAll()
		return "CLOSE CURSOR ALL", nil
	}
	if _, err := t.Cursor(n.Portalname); err != nil {
		return "", err
	}
	t.Close(n.Portalname)
	return "CLOSE CURSOR", nil
}
