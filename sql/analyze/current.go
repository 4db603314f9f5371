package analyze

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// whereCurrent is WHERE CURRENT OF cursor: the target's key equals that of the cursor's current
// row.
func (s *scope) whereCurrent(c *pg_query.CurrentOfExpr) error {
	t := s.q.Rels[s.q.Result].Table
	columns := keyColumns(t)
	var all []query.Expr
	for _, i := range columns {
		column := tableColumn(t, s.q.Result, i)
		p := &query.Param{T: query.T{OID: column.OID, Mod: -1}}
		e, err := s.opCall([]string{"="}, column, p, -1)
		if err != nil {
			return err
		}
		all, s.current = append(all, e), append(s.current, p)
	}
	current := query.Current{Cursor: c.CursorName, Table: t, Columns: len(columns)}
	if s.ctx.Names != nil {
		v, ok := s.ctx.Names.Find([]string{c.CursorName})
		if ok && v.Type == types.RefCursor {
			if _, err := variable(s, v, -1); err != nil {
				return err
			}
			current.Param = v.N
		}
	}
	s.currents = append(s.currents, current)
	if s.q.Where = all[0]; len(all) > 1 {
		s.q.Where = &query.And{Args: all}
	}
	return nil
}

func tableColumn(t *catalog.Table, rel, i int) *query.Var {
	if i == query.ColKey {
		return &query.Var{T: query.T{OID: types.Bytea, Mod: -1}, Rel: rel, Col: i, Name: "key"}
	}
	c := &t.Columns[i]
	return &query.Var{T: query.T{OID: c.Type, Mod: c.Typmod}, Rel: rel, Col: i, Name: c.Name}
}

// keyColumns returns the positions of the primary key's columns. For a table without primary key it
// returns the position of its storage key; the row is then found by scanning the table.
func keyColumns(t *catalog.Table) []int {
	pk := t.PrimaryKey()
	if pk == nil {
		return []int{query.ColKey}
	}
	var out []int
	for _, att := range pk.Columns {
		for i := range t.Columns {
			if t.Columns[i].AttNum == att {
				out = append(out, i)
			}
		}
	}
	return out
}

// CursorKey is the position, in the rows of a cursor, of a table's primary key. It is behind the
// columns that the client sees.
type CursorKey struct {
	Table   catalog.OID
	First   int // first column of the key
	Columns int
}

// CursorKeys adds the primary keys of tables to the columns of q, the query of a cursor, for UPDATE
// and DELETE ... WHERE CURRENT OF: the keys of the tables that it locks, else of the only table
// that it reads. It adds nothing if a row of q is not a row of one table.
func CursorKeys(q *query.Query) []CursorKey {
	if q.Command != query.Select || q.SetOp != nil || q.Values != nil || q.HasAggs || q.GroupBy != nil ||
		q.GroupingSets != nil || q.Having != nil || q.HasWindow ||
		q.HasSRFs || q.Distinct {
		return nil
	}
	var out []CursorKey
	for _, rel := range cursorTables(q) {
		t := q.Rels[rel].Table
		columns := keyColumns(t)
		k := CursorKey{Table: t.OID, First: len(visible(q)), Columns: len(columns)}
		for _, i := range columns {
			v := tableColumn(t, rel, i)
			insertTarget(q, len(visible(q)), query.Target{Name: v.Name, Expr: v})
		}
		out = append(out, k)
	}
	return out
}

func cursorTables(q *query.Query) []int {
	var out []int
	for _, l := range q.Locking {
		for _, rel := range l.Rels {
			if q.Rels[rel].Kind == query.RelTable && !containsInt(out, rel) {
				out = append(out, rel)
			}
		}
	}
	if len(q.Locking) > 0 || len(q.From) != 1 {
		return out
	}
	if f, ok := q.From[0].(*query.FromRel); ok && q.Rels[f.Rel].Kind == query.RelTable {
		out = append(out, f.Rel)
	}
	return out
}

// insertTarget inserts a column, and adjusts the positions of sort keys.
func insertTarget(q *query.Query, at int, t query.Target) {
	targets := append([]query.Target{}, q.Targets[:at]...)
	q.Targets = append(append(targets, t), q.Targets[at:]...)
	for i := range q.OrderBy {
		if q.OrderBy[i].Target >= at {
			q.OrderBy[i].Target++
		}
	}
}
