package plpgsql

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/plpgsql/syntax"
	"github.com/sherddb/sherd/sql/types"
)

// withHold is the bit of WITH HOLD among the options of DECLARE CURSOR.
const withHold = 0x20

var next = function.Fetch{Direction: pg_query.FetchDirection_FETCH_FORWARD, Count: 1}

// openBound opens a bound cursor and returns its name.
func (f *frame) openBound(v *syntax.Variable, args []*syntax.SQL, options int32) (string, error) {
	for i, e := range args {
		d, p, err := f.value(e)
		if err != nil {
			return "", err
		}
		if err := f.set(&syntax.Target{Variable: v.Cursor.Args[i]}, d, p.typed(), nil); err != nil {
			return "", err
		}
	}
	p, err := f.query(v.Cursor.Query)
	if err != nil {
		return "", err
	}
	f.fill(p)
	c := function.Cursor{Statement: p.st, Args: clone(f.values), Options: v.Cursor.Options | options}
	return f.openCursor(v, c, v.Cursor.Query)
}

// openCursor opens a cursor whose name is the variable's value, or chosen.
func (f *frame) openCursor(v *syntax.Variable, c function.Cursor, s *syntax.SQL) (string, error) {
	if c.Statement.Columns() == nil || c.Statement.Tag() != "SELECT" {
		return "", pgerr.New(pgerr.InvalidCursorDefinition, "cannot open %s query as cursor", c.Statement.Tag())
	}
	if d := f.values[v.Number]; !d.IsNull() {
		c.Name = d.Str()
	} else if v.Constant {
		return "", pgerr.New(pgerr.ErrorInAssignment, "variable %q is declared CONSTANT", v.Name)
	}
	name, err := f.call.Statements.Open(f.call.Context, c)
	switch {
	case pgerr.Is(err, pgerr.DuplicateCursor):
		return "", err
	case err != nil:
		return "", f.inRun(err, s)
	}
	f.values[v.Number] = types.NewText(name)
	return name, nil
}

// open runs OPEN.
func (f *frame) open(s *syntax.Open) error {
	if s.Cursor.Cursor != nil {
		_, err := f.openBound(s.Cursor, s.Args, 0)
		return err
	}
	p, args, err := f.rowsOf(&syntax.ForRows{Query: s.Query, Text: s.Text, Args: s.Using})
	if err != nil {
		return err
	}
	_, err = f.openCursor(s.Cursor, function.Cursor{Statement: p.st, Args: args, Options: s.Options}, s.Query)
	return err
}

// cursorName returns the name of the cursor that a variable refers to.
func (f *evaluator) cursorName(v *syntax.Variable) (string, error) {
	d := f.values[v.Number]
	if d.IsNull() {
		return "", pgerr.New(pgerr.NullValueNotAllowed, "cursor variable %q is null", v.Name)
	}
	return d.Str(), nil
}

// fetch runs FETCH and MOVE.
func (f *frame) fetch(s *syntax.Fetch) error {
	name, err := f.cursorName(s.Cursor)
	if err != nil {
		return err
	}
	to := function.Fetch{Count: s.HowMany, Direction: directions[s.Direction]}
	if s.Count != nil {
		if to.Count, err = f.integer(s.Count, "relative or absolute cursor position is null"); err != nil {
			return err
		}
	}
	columns, err := f.call.Statements.CursorColumns(name)
	if err != nil {
		return err
	}
	if s.Move {
		n, err := f.call.Statements.Fetch(f.call.Context, name, to, nil)
		if err != nil {
			return err
		}
		f.rows = n
		f.setFound(n > 0)
		return nil
	}
	var row []types.Datum
	n, err := f.call.Statements.Fetch(f.call.Context, name, to, func(r []types.Datum) error {
		row = clone(r)
		return nil
	})
	if err != nil {
		return err
	}
	if err := f.into(s.Into, columns, row); err != nil {
		return err
	}
	f.rows = n
	f.setFound(n > 0)
	return nil
}

var directions = [...]pg_query.FetchDirection{
	syntax.Forward:  pg_query.FetchDirection_FETCH_FORWARD,
	syntax.Backward: pg_query.FetchDirection_FETCH_BACKWARD,
	syntax.Absolute: pg_query.FetchDirection_FETCH_ABSOLUTE,
	syntax.Relative: pg_query.FetchDirection_FETCH_RELATIVE,
}

func (f *frame) closeCursor(s *syntax.Close) error {
	name, err := f.cursorName(s.Cursor)
	if err != nil {
		return err
	}
	return f.call.Statements.CloseCursor(name)
}
