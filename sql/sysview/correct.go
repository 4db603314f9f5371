package sysview

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// corrections are what the embedded rows of a table need before they are shown.
var corrections = map[string]func(rel *pgcatalog.Relation, rows []Row) []Row{"pg_proc": procDefaults, "pg_language": knownLanguages}

// procDefaults spells the defaults of arguments, embedded as a list, as pg_get_expr shows them.
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

// knownLanguages leaves out PL/pgSQL, which functions cannot be written in yet.
func knownLanguages(rel *pgcatalog.Relation, rows []Row) []Row {
	at := place(rel, "lanname")
	return slices.DeleteFunc(rows, func(row Row) bool { return row[at].S == "plpgsql" })
}
