package plpgsql

import (
	"math"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/plpgsql/syntax"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// ends reports whether a loop ends after a run of its body. It takes what was for the loop.
func (f *frame) ends(label string) bool {
	mine := f.label == "" || f.label == label
	switch f.leaving {
	case goOn:
		return false
	case exits:
		if mine {
			f.leaving, f.label = goOn, ""
		}
		return true
	case continues:
		if mine {
			f.leaving, f.label = goOn, ""
		}
		return !mine
	}
	return true
}

// loop runs LOOP and WHILE.
func (f *frame) loop(s *syntax.Loop) error {
	for {
		if s.While != nil {
			ok, err := f.condition(s.While)
			if err != nil || !ok {
				return err
			}
		}
		if err := f.turn(); err != nil {
			return err
		}
		if err := f.statements(s.Body); err != nil {
			return err
		}
		if f.ends(s.Label) {
			return nil
		}
	}
}

// turn begins a turn of a loop: it can be cancelled, also without statements in its body.
func (f *frame) turn() error {
	if f.steps++; f.steps%64 == 0 && f.call.Context.Err() != nil {
		return pgerr.Cancelled(f.call.Context)
	}
	return nil
}

// forInteger runs FOR i IN [REVERSE] from .. to [BY step].
func (f *frame) forInteger(s *syntax.ForInteger) error {
	from, err := f.integer(s.From, "lower bound of FOR loop cannot be null")
	if err != nil {
		return err
	}
	to, err := f.integer(s.To, "upper bound of FOR loop cannot be null")
	if err != nil {
		return err
	}
	step := int64(1)
	if s.Step != nil {
		if step, err = f.integer(s.Step, "BY value of FOR loop cannot be null"); err != nil {
			return err
		}
		if step <= 0 {
			return pgerr.New(pgerr.InvalidParameterValue, "BY value of FOR loop must be greater than zero")
		}
	}
	found := false
	for i := from; ; {
		if !s.Reverse && i > to || s.Reverse && i < to {
			break
		}
		found = true
		f.values[s.Variable.Number] = types.NewInt(i)
		if err := f.turn(); err != nil {
			return err
		}
		if err := f.statements(s.Body); err != nil {
			return err
		}
		if f.ends(s.Label) {
			break
		}
		if s.Reverse {
			i -= step
		} else {
			i += step
		}
		if i > math.MaxInt32 || i < math.MinInt32 {
			break
		}
	}
	f.setFound(found)
	return nil
}

// forRows runs a loop over the rows of a query.
func (f *frame) forRows(s *syntax.ForRows) error {
	if s.Cursor != nil {
		return f.forCursor(s)
	}
	p, args, err := f.rowsOf(s)
	if err != nil {
		return err
	}
	if p.columns == nil {
		return pgerr.New(pgerr.SyntaxError, "cannot open %s query as cursor", p.st.Tag())
	}
	found := false
	run := f.call.Statements.Run
	if f.EndsTransaction {
		run = f.call.Statements.RunHeld
	}
	_, err = run(f.call.Context, p.st, args, func(row []types.Datum) error {
		found = true
		return f.rowTurn(s, p.columns, row)
	})
	switch {
	case err != nil && f.isPlaced(err):
		return f.placed // of the body
	case err != nil:
		return f.inRun(err, s.Query)
	case !found:
		if err := f.into(s.Into, p.columns, nil); err != nil {
			return err
		}
	}
	f.setFound(found)
	return nil
}

// rowsOf returns the query of a loop, with the values of its parameters.
func (f *frame) rowsOf(s *syntax.ForRows) (*prepared, []types.Datum, error) {
	if s.Text == nil {
		p, err := f.query(s.Query)
		if err != nil {
			return nil, nil, err
		}
		f.fill(p)
		return p, append([]types.Datum(nil), f.values...), nil
	}
	return f.dynamicQuery(s.Text, s.Args)
}

// rowTurn runs the body of a loop for a row.
func (f *frame) rowTurn(s *syntax.ForRows, columns []query.Column, row []types.Datum) error {
	if err := f.into(s.Into, columns, row); err != nil {
		return f.located(err)
	}
	if err := f.turn(); err != nil {
		return f.located(err)
	}
	if err := f.statements(s.Body); err != nil {
		return err
	}
	if f.ends(s.Label) {
		return function.Stop
	}
	return nil
}

// forCursor runs a loop over a bound cursor, which is closed at the end of the loop.
func (f *frame) forCursor(s *syntax.ForRows) error {
	hold := int32(0)
	if f.EndsTransaction && !f.call.Atomic {
		hold = withHold
	}
	name, err := f.openBound(s.Cursor, s.Args, hold)
	if err != nil {
		return err
	}
	columns, err := f.call.Statements.CursorColumns(name)
	if err != nil {
		return err
	}
	found := false
	for {
		n, err := f.call.Statements.Fetch(f.call.Context, name, next, func(row []types.Datum) error {
			return f.into(s.Into, columns, row)
		})
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		found = true
		if err := f.turn(); err != nil {
			return err
		}
		if err := f.statements(s.Body); err != nil {
			return err
		}
		if f.ends(s.Label) {
			break
		}
	}
	if err := f.call.Statements.CloseCursor(name); err != nil {
		return err
	}
	f.setFound(found)
	return nil
}

// forEach runs FOREACH over the elements, or slices, of an array.
func (f *frame) forEach(s *syntax.ForEach) error {
	d, p, err := f.value(s.Array)
	if err != nil {
		return err
	}
	if d.IsNull() {
		return pgerr.New(pgerr.NullValueNotAllowed, "FOREACH expression must not be null")
	}
	of := p.typed()
	elem := pgcatalog.ElementOf(of.OID)
	if elem == 0 {
		return pgerr.New(pgerr.DatatypeMismatch, "FOREACH expression must yield an array, not type %s",
			f.call.Statements.Format(of.OID, of.Typmod))
	}
	a, err := types.ArrayOf(d)
	if err != nil {
		return err
	}
	if s.Slice > a.NDim {
		return pgerr.New(pgerr.ArraySubscriptError,
			"slice dimension (%d) is out of the valid range 0..%d", s.Slice, a.NDim)
	}
	if t, ok := f.scalarTarget(s.Into); ok {
		isArray := pgcatalog.ElementOf(f.typeOf(t).OID) != 0
		switch {
		case s.Slice > 0 && !isArray:
			return pgerr.New(pgerr.DatatypeMismatch, "FOREACH ... SLICE loop variable must be of an array type")
		case s.Slice == 0 && isArray:
			return pgerr.New(pgerr.DatatypeMismatch, "FOREACH loop variable must not be of an array type")
		}
	}
	found := false
	value := function.Typed{OID: elem, Typmod: of.Typmod}
	if s.Slice > 0 {
		value.OID = of.OID
	}
	for _, item := range slicesOf(&a, elem, s.Slice) {
		found = true
		if err := f.intoValue(s.Into, item, value); err != nil {
			return err
		}
		if err := f.turn(); err != nil {
			return err
		}
		if err := f.statements(s.Body); err != nil {
			return err
		}
		if f.ends(s.Label) {
			break
		}
	}
	f.setFound(found)
	return nil
}

// slicesOf returns the elements of an array, or its slices of some dimensions.
func slicesOf(a *types.Array, elem types.OID, dimensions int) []types.Datum {
	if dimensions == 0 {
		return a.Elems()
	}
	dims, lowers := a.Dims()[a.NDim-dimensions:], a.Lowers()[a.NDim-dimensions:]
	each := 1
	for _, n := range dims {
		each *= int(n)
	}
	var out []types.Datum
	for all := a.Elems(); len(all) > 0; all = all[each:] {
		out = append(out, types.NewArray(elem, dims, lowers, all[:each]))
	}
	return out
}
