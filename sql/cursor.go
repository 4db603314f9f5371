package sql

import (
	"context"
	"fmt"
	"math"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// Bits of DeclareCursorStmt.Options, as PostgreSQL's parsenodes.h numbers them.
const (
	cursorBinary = 0x01
	cursorScroll = 0x02
	cursorHold   = 0x20
)

// declareCursor is DECLARE name CURSOR FOR query: a portal, which the protocol may run too. It shows the rows as they are now.
func (s *Session) declareCursor(ctx context.Context, st parse.Statement, n *pg_query.DeclareCursorStmt, w ResultWriter) error {
	hold := n.Options&cursorHold != 0
	switch {
	case n.Options&cursorScroll != 0:
		return pgerr.Unsupported("scrollable cursors are not supported yet").WithHint("Cursors go forward: leave SCROLL away.")
	case n.Options&cursorBinary != 0:
		return pgerr.Unsupported("binary cursors are not supported yet").WithHint("Ask for the binary format in the Bind message.")
	case !hold && !s.inBlock():
		return pgerr.New(pgerr.NoActiveSQLTransaction, "DECLARE CURSOR can only be used in transaction blocks")
	case n.Portalname == "":
		return pgerr.New(pgerr.InvalidCursorName, `invalid cursor name: must not be empty`)
	}
	if _, ok := s.portals[n.Portalname]; ok {
		return pgerr.New(pgerr.DuplicateCursor, `cursor "%s" already exists`, n.Portalname)
	}
	if s.tx == nil {
		s.begin()
	}
	inner := parse.Statement{Node: n.Query, Source: st.Source, Start: st.Start, End: st.End}
	prog, err := s.program(ctx, inner, nil)
	if err == nil && len(prog.params) > 0 {
		err = s.noParameters(inner)
	}
	if err != nil {
		return err
	}
	p := &portal{st: &prepared{text: st.Text(), stmt: &inner, program: prog}, hold: hold, nest: s.nest(), opened: s.queryAt}
	if p.at, err = s.tx.opened(ctx); err != nil {
		return err
	}
	if err := s.tx.parts.HoldSnapshot(s.tx.gateway.Map.Fragments(), p.at); err != nil {
		return err
	}
	s.portals[n.Portalname] = p
	s.pull(ctx, p, prog)
	return w.Complete("DECLARE CURSOR")
}

// fixedSnapshot is a gateway's Snapshot that is taken already.
func fixedSnapshot(at txn.Timestamp) func(context.Context, []shardmap.Share) (txn.Timestamp, error) {
	return func(context.Context, []shardmap.Share) (txn.Timestamp, error) { return at, nil }
}

// holdCursors reads what cursors WITH HOLD have not given yet, for the time after the commit.
func (s *Session) holdCursors() error {
	for _, p := range s.portals {
		if !p.hold || p.held {
			continue
		}
		if err := p.keepRest(s.memory); err != nil {
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

// fetch is FETCH and MOVE.
func (s *Session) fetch(ctx context.Context, n *pg_query.FetchStmt, w ResultWriter) error {
	p, err := s.cursor(n.Portalname)
	if err != nil {
		return err
	}
	many, err := forwardRows(n)
	if err != nil {
		return err
	}
	prog := p.st.program
	if p.next == nil && !p.done {
		if prog, err = s.refresh(ctx, p.st); err != nil {
			return err
		}
	}
	if !n.Ismove {
		if err := w.Describe(prog.columns); err != nil {
			return err
		}
	}
	if p.next == nil && !p.done {
		if err := s.open(ctx, p, prog); err != nil {
			return err
		}
	}
	rows := int64(0)
	for ; rows < many && !p.done; rows++ {
		row, ok := p.next()
		if !ok {
			p.done = true
			p.close()
			if p.err != nil {
				return p.err
			}
			break
		}
		if n.Ismove {
			continue
		}
		if err := w.Row(row); err != nil {
			return err
		}
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

// forwardRows gives how many rows a FETCH asks for. Only forward ones are known here.
func forwardRows(n *pg_query.FetchStmt) (int64, error) {
	many := n.HowMany
	switch n.Direction {
	case pg_query.FetchDirection_FETCH_FORWARD:
	case pg_query.FetchDirection_FETCH_RELATIVE:
		if many != 1 {
			many = -1
		}
	default:
		many = -1
	}
	if many <= 0 {
		return 0, pgerr.Unsupported("cursors that go other ways than forward are not supported yet").
			WithHint("Use FETCH NEXT, FETCH n or FETCH ALL.")
	}
	return min(many, math.MaxInt64), nil
}

// closeCursor is CLOSE.
func (s *Session) closeCursor(n *pg_query.ClosePortalStmt, w ResultWriter) error {
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

// settlePortals reads the rest of every portal that has begun, or is a cursor, before the transaction writes: a cursor shows the rows as they
// were when it was opened.
func (s *Session) settlePortals() error {
	for _, p := range s.portals {
		if err := p.keepRest(s.memory); err != nil {
			return err
		}
	}
	return nil
}

// settleAll is settlePortals where nothing can be answered: what cannot be kept is closed.
func (s *Session) settleAll() {
	for name, p := range s.portals {
		if p.keepRest(s.memory) != nil {
			s.ClosePortal(name)
		}
	}
}

func (p *portal) keepRest(budget int64) error {
	if p.next == nil || p.kept {
		return nil
	}
	k := keeper{budget: budget}
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
	budget int64 // bytes left
}

func (k *keeper) add(row []types.Datum) error {
	own := make([]types.Datum, len(row))
	for i, d := range row {
		own[i] = d.Clone()
		k.budget -= int64(len(d.S)) + datumSize
	}
	if k.rows = append(k.rows, own); k.budget < 0 {
		return pgerr.New(pgerr.OutOfMemory, "out of memory").
			WithDetail("A write in a transaction keeps what its open cursors have not fetched yet, as COMMIT does for a cursor WITH HOLD, and that is too much.").
			WithHint("Fetch all rows or close the cursor before the write, or write in another transaction.")
	}
	return nil
}

// give makes a portal give kept rows.
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
