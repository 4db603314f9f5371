package routine

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Open implements function.Cursors.
func (x *Statements) Open(ctx context.Context, c function.Cursor) (string, error) {
	s, err := x.current(ctx, c.Statement)
	if err != nil {
		return "", err
	}
	if s.program == nil {
		return "", pgerr.Unsupported("a cursor for %s is not supported", s.tag).
			WithHint("Use a FOR loop over EXECUTE.")
	}
	args := clone(c.Args[:min(len(c.Args), len(s.program.Params))])
	return x.env.Portals.OpenCursor(ctx, c.Name, s.program, args, c.Options)
}

// Fetch implements function.Cursors.
func (x *Statements) Fetch(
	ctx context.Context, name string, f function.Fetch, emit func(row []types.Datum) error,
) (int64, error) {
	return x.env.Portals.Move(ctx, name, f.Direction, f.Count, emit)
}

// CursorColumns implements function.Cursors.
func (x *Statements) CursorColumns(name string) ([]query.Column, error) {
	list, err := x.env.Portals.CursorColumns(name)
	if err != nil {
		return nil, err
	}
	var out []query.Column
	for _, c := range list {
		out = append(out, query.Column{Name: c.Name, Type: c.Type, Typmod: c.Typmod})
	}
	return out, nil
}

// CloseCursor implements function.Cursors.
func (x *Statements) CloseCursor(name string) error {
	if _, err := x.env.Portals.Cursor(name); err != nil {
		return err
	}
	x.env.Portals.Close(name)
	return nil
}
