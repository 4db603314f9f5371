package sysview

import (
	"fmt"
	"sync"

	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// Row is the columns of a relation, in its order.
type Row = []types.Datum

// static holds the decoded rows of PostgreSQL's own objects, by table.
var static sync.Map // string → func() []Row

// staticRows gives the embedded rows of a pg_catalog table. They are shared: nobody writes to them.
func staticRows(table string) []Row {
	load, ok := static.Load(table)
	if !ok {
		load, _ = static.LoadOrStore(table, sync.OnceValue(func() []Row { return decode(table) }))
	}
	return load.(func() []Row)()
}

func decode(table string) []Row {
	if !pgcatalog.HasRows(table) {
		return nil
	}
	rel := pgcatalog.RelationByName(pgCatalog, table)
	var out []Row
	var at []int
	err := pgcatalog.Scan(table, func(columns []string, cells []pgcatalog.Cell) error {
		if at == nil {
			for _, c := range columns {
				at = append(at, place(rel, c))
			}
		}
		row := make(Row, len(rel.Columns))
		for i, c := range cells {
			if c.Null {
				continue
			}
			d, err := types.Input(rel.Columns[at[i]].Type, -1, c.Text, nil)
			if err != nil {
				return fmt.Errorf("%s.%s: %w", table, columns[i], err)
			}
			row[at[i]] = d
		}
		out = append(out, row)
		return nil
	})
	if err != nil {
		panic("sysview: embedded data: " + err.Error()) // the binary itself is damaged
	}
	return out
}

// place gives the position of a column.
func place(rel *pgcatalog.Relation, column string) int {
	for i := range rel.Columns {
		if rel.Columns[i].Name == column {
			return i
		}
	}
	panic("sysview: " + rel.Name + " has no column " + column) // a mistake in this package
}
