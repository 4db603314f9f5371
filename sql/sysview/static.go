package sysview

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// Row has the columns of a relation in order.
type Row = []types.Datum

// static loads, once each, the rows that are equal in every database, by pg_catalog table.
var static = sync.OnceValue(func() map[string]func() []Row {
	m := map[string]func() []Row{}
	for _, rel := range pgcatalog.Relations() {
		if rel.Schema != pgCatalog || rel.Kind == 'i' {
			continue
		}
		if fixed := fixedSources[rel.Name]; fixed != nil || pgcatalog.HasRows(rel.Name) {
			m[rel.Name] = sync.OnceValue(func() []Row { return load(rel, fixed) })
		}
	}
	return m
})

// staticRows returns the rows of a pg_catalog table that are equal in every database. They are
// shared: do not modify them.
func staticRows(table string) []Row {
	if f := static()[table]; f != nil {
		return f()
	}
	return nil
}

// load decodes the embedded rows and adds those that fixed emits.
func load(rel *pgcatalog.Relation, fixed source) []Row {
	var out []Row
	var err error
	if pgcatalog.HasRows(rel.Name) {
		out, err = decode(rel)
	}
	if fix := corrections[rel.Name]; err == nil && fix != nil {
		out = fix(rel, out)
	}
	if err == nil && fixed != nil {
		err = fixed(newBuilder(nil, rel, func(row Row) error {
			out = append(out, slices.Clone(row))
			return nil
		}))
	}
	if err != nil {
		panic("sysview: embedded data: " + err.Error()) // the binary is damaged
	}
	return out
}

func decode(rel *pgcatalog.Relation) ([]Row, error) {
	var out []Row
	var at []int
	err := pgcatalog.Scan(rel.Name, func(columns []string, cells []pgcatalog.Cell) error {
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
				return fmt.Errorf("%s.%s: %w", rel.Name, columns[i], err)
			}
			row[at[i]] = d
		}
		out = append(out, row)
		return nil
	})
	return out, err
}

// place returns the position of a column.
func place(rel *pgcatalog.Relation, column string) int {
	for i := range rel.Columns {
		if rel.Columns[i].Name == column {
			return i
		}
	}
	panic("sysview: " + rel.Name + " has no column " + column) // a mistake in this package
}

// positions returns the place of each column.
func positions(rel *pgcatalog.Relation) map[string]int {
	at := make(map[string]int, len(rel.Columns))
	for i := range rel.Columns {
		at[rel.Columns[i].Name] = i
	}
	return at
}

// reader reads the rows of another relation by column name.
type reader struct {
	at  map[string]int
	row Row
}

func (r *reader) get(column string) types.Datum {
	i, ok := r.at[column]
	if !ok {
		panic("sysview: no column " + column) // a mistake in this package
	}
	return r.row[i]
}

func (r *reader) text(column string) string { return r.get(column).S }
func (r *reader) oid(column string) uint32  { return r.get(column).Oid() }
func (r *reader) int(column string) int64   { return r.get(column).N }
func (r *reader) bool(column string) bool   { return r.get(column).Bool() }
func (r *reader) char(column string) byte   { return byte(r.get(column).N) }

// each returns the rows of another pg_catalog table.
func (e *Env) each(table string, f func(r *reader) error) error {
	rel := pgcatalog.RelationByName(pgCatalog, table)
	r := &reader{at: positions(rel)}
	return Rows(pgCatalog+"."+table, e, func(row Row) error {
		r.row = row
		return f(r)
	})
}

// corrections edit the embedded rows of a table before they are shown.
var corrections = map[string]func(rel *pgcatalog.Relation, rows []Row) []Row{
	"pg_proc": procDefaults,
}

// procDefaults replaces the defaults of arguments, embedded as a list, by the text that pg_get_expr
// shows.
func procDefaults(rel *pgcatalog.Relation, rows []Row) []Row {
	at := place(rel, "proargdefaults")
	for _, row := range rows {
		if row[at].IsNull() {
			continue
		}
		var list []string
		if err := json.Unmarshal([]byte(row[at].S), &list); err == nil {
			row[at] = types.NewText(strings.Join(list, ", "))
		}
	}
	return rows
}
