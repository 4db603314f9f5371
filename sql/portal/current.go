package portal

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// WithCurrent adds the keys of the rows that cursors are on to the arguments of a statement with
// WHERE CURRENT OF.
func (t *Portals) WithCurrent(q *query.Query, args []types.Datum) ([]types.Datum, error) {
	if q == nil || len(q.Currents) == 0 {
		return args, nil
	}
	args = slices.Clone(args)
	for i := range q.Currents {
		name := q.Currents[i].Cursor
		if n := q.Currents[i].Param; n > 0 {
			name = args[n-1].Str()
		}
		p, err := t.Cursor(name)
		if err != nil {
			return nil, err
		}
		key, err := p.currentKey(name, q.Currents[i].Table)
		if err != nil {
			return nil, err
		}
		args = append(args, key...)
	}
	return args, nil
}

// currentKey returns the key of the row of table t that the cursor is on.
func (p *Portal) currentKey(name string, t *catalog.Table) ([]types.Datum, error) {
	fail := func(format string, a ...any) error { return pgerr.New(pgerr.InvalidCursorState, format, a...) }
	prog := p.Statement.program
	switch {
	case prog == nil || prog.Query == nil:
		return nil, fail(`cursor "%s" is not a SELECT query`, name)
	case p.held:
		return nil, fail(`cursor "%s" is held from a previous transaction`, name)
	}
	var at []int
	for i, k := range prog.Keys {
		if k.Table == t.OID {
			at = append(at, i)
		}
	}
	switch locking := len(prog.Query.Locking) > 0; {
	case len(at) == 0 && locking:
		return nil, fail(`cursor "%s" does not have a FOR UPDATE/SHARE reference to table "%s"`, name, t.Name)
	case len(at) > 1 && locking:
		return nil, fail(`cursor "%s" has multiple FOR UPDATE/SHARE references to table "%s"`, name, t.Name)
	case len(at) != 1:
		return nil, fail(`cursor "%s" is not a simply updatable scan of table "%s"`, name, t.Name)
	case p.scroll == nil || p.scroll.atStart || p.scroll.atEnd:
		return nil, fail(`cursor "%s" is not positioned on a row`, name)
	}
	k := prog.Keys[at[0]]
	first := k.First - prog.Keys[0].First
	return p.scroll.keys[first : first+k.Columns], nil
}
