package portal

import (
	"context"
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// Fetch runs FETCH and MOVE, and returns its tag.
func (t *Portals) Fetch(ctx context.Context, n *pg_query.FetchStmt, w stmt.ResultWriter) (tag string, err error) {
	p, err := t.Cursor(n.Portalname)
	if err != nil {
		return "", err
	}
	if p.broken || !p.Statement.IsQuery() {
		return "", pgerr.New(pgerr.ObjectNotInPrerequisiteState, `portal "%s" cannot be run`, n.Portalname)
	}
	prog := p.Statement.program
	if !p.IsOpen() && !p.Done {
		if prog, err = t.Statements.ForArgs(ctx, p.Statement, p.Args); err != nil {
			return "", err
		}
	}
	emit := skipRow
	if tag = "MOVE"; !n.Ismove {
		emit, tag = w.Row, "FETCH"
		if err := w.Describe(p.fetched(prog.Columns)); err != nil {
			return "", err
		}
	}
	if !p.IsOpen() && !p.Done {
		if err := t.Open(ctx, p, prog); err != nil {
			return "", err
		}
	}
	rows, err := t.move(p, n, emit)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %d", tag, rows), nil
}

// move moves a portal, and returns how many rows there were.
func (t *Portals) move(p *Portal, n *pg_query.FetchStmt, emit func([]types.Datum) error) (int64, error) {
	if p.scroll == nil {
		p.through(&scroll{atStart: !p.Done, atEnd: p.Done}, t.env.Memory())
	}
	rows, err := p.scroll.fetch(n, emit)
	if err == nil {
		err = p.err
	}
	if err != nil {
		p.broken = true
		return 0, err
	}
	return rows, nil
}

// Move moves a cursor for a function, which gets the rows by emit; nil: it does not want them.
func (t *Portals) Move(
	ctx context.Context, name string, d pg_query.FetchDirection, count int64, emit func([]types.Datum) error,
) (int64, error) {
	p, err := t.Cursor(name)
	if err != nil {
		return 0, err
	}
	if p.broken || p.Statement.program == nil {
		return 0, pgerr.New(pgerr.ObjectNotInPrerequisiteState, `portal "%s" cannot be run`, name)
	}
	if !p.IsOpen() && !p.Done {
		prog, err := t.Statements.ForArgs(ctx, p.Statement, p.Args)
		if err != nil {
			return 0, err
		}
		if err := t.Open(ctx, p, prog); err != nil {
			return 0, err
		}
	}
	if emit == nil {
		emit = skipRow
	}
	return t.move(p, &pg_query.FetchStmt{Direction: d, HowMany: count, Portalname: name}, emit)
}

// fetched returns the columns of the rows that FETCH returns.
func (p *Portal) fetched(columns []stmt.Column) []stmt.Column {
	if !p.binary {
		return columns
	}
	out := slices.Clone(columns)
	for i := range out {
		out[i].Binary = true
	}
	return out
}

// through makes a portal return its rows through c, which FETCH moves.
func (p *Portal) through(c *scroll, mem *memory.Account) {
	c.begin(mem)
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
