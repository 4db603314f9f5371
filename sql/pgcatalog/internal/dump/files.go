package main

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// file is one embedded file: a catalog, the condition on its rows, and columns with computed
// values.
type file struct {
	name    string
	where   string
	order   string
	replace map[string]string // column → expression over t
	sql     string            // replaces the generated query
	columns []string
}

// query returns the SELECT of f and fills its column names.
func (f *file) query(ctx context.Context, conn *pgconn.PgConn) (string, error) {
	if f.sql != "" {
		return f.sql, nil
	}
	names, exprs, err := columnsOf(ctx, conn, f.name)
	if err != nil {
		return "", err
	}
	f.columns = names
	for i, n := range names {
		if e, ok := f.replace[n]; ok {
			exprs[i] = e
		}
	}
	where, order := f.where, f.order
	if where == "" {
		where = "true"
	}
	if order == "" {
		order = "t." + names[0]
	}
	if !slices.Contains(names, "oid") && f.order == "" {
		order = "1, 2, 3"
	}
	return "SELECT " + strings.Join(exprs, ", ") + " FROM pg_catalog." + f.name + " t WHERE " + where + " ORDER BY " +
		order, nil
}

var systemRelations = `(SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname IN ('pg_catalog', 'information_schema'))`

var files = []file{
	{name: "pg_namespace", where: "t.nspname IN ('pg_catalog', 'information_schema', 'pg_toast', 'public')"},
	{name: "pg_type", where: "t.oid < 16384"},
	{name: "pg_proc", where: "t.oid < 16384", replace: map[string]string{
		// A JSON array of SQL texts instead of a node tree.
		"proargdefaults": `(SELECT json_agg(pg_get_function_arg_default(t.oid, i::int) ORDER BY i)
			FROM generate_series(1, coalesce(array_length(t.proallargtypes, 1), t.pronargs)) i
			WHERE pg_get_function_arg_default(t.oid, i::int) IS NOT NULL)`,
		"prosqlbody": "pg_get_function_sqlbody(t.oid)",
	}},
	{name: "pg_operator"},
	{name: "pg_cast"},
	{name: "pg_aggregate"},
	{name: "pg_am"},
	{name: "pg_amop"},
	{name: "pg_amproc"},
	{name: "pg_opclass"},
	{name: "pg_opfamily"},
	{name: "pg_collation",
		where: "t.collprovider <> 'i' AND t.collname IN ('default', 'C', 'POSIX', 'C.UTF-8', 'C.utf8', 'ucs_basic')"},
	{name: "pg_language"},
	{name: "pg_range"},
	{name: "pg_conversion"},
	{name: "pg_ts_config"},
	{name: "pg_ts_dict"},
	{name: "pg_ts_parser"},
	{name: "pg_ts_template"},
	{name: "pg_class", where: "t.oid IN " + systemRelations, replace: map[string]string{
		"relfilenode":   "0",
		"relpages":      "0",
		"reltuples":     "-1",
		"relallvisible": "0",
		"relacl":        "NULL",
		"relfrozenxid":  "0",
		"relminmxid":    "0",
	}},
	{name: "pg_attribute", where: "t.attnum > 0 AND t.attrelid IN " + systemRelations, order: "t.attrelid, t.attnum",
		replace: map[string]string{
			"attacl": "NULL", "attmissingval": "NULL",
		}},
	{name: "pg_index", where: "t.indrelid IN " + systemRelations,
		replace: map[string]string{"indexprs": "NULL", "indpred": "NULL"}},
	{name: "pg_constraint", where: "t.conrelid IN " + systemRelations + " OR t.contypid <> 0 AND t.contypid < 16384",
		replace: map[string]string{
			// The expression's text instead of a node tree.
			"conbin": "CASE WHEN t.contype = 'c' THEN pg_get_expr(t.conbin, t.conrelid) END",
		}},
	{name: "pg_rewrite", where: "t.ev_class IN " + systemRelations + " AND t.rulename = '_RETURN'",
		replace: map[string]string{
			"ev_qual": "''", "ev_action": "''",
		}},
	{name: "pg_tablespace"},
	{name: "pg_auth_members", order: "1, 2"},
	{name: "pg_ts_config_map", order: "1, 2, 3"},
	{name: "pg_description"},
	{name: "pg_timezone_names", sql: "SELECT name FROM pg_timezone_names WHERE name !~ '^posix' ORDER BY name",
		columns: []string{"name"}},
	{name: "pg_timezone_abbrevs", order: "1"},
	{name: "pg_settings", order: "1", replace: map[string]string{
		"setting":         "t.boot_val",
		"reset_val":       "t.boot_val",
		"source":          "'default'",
		"sourcefile":      "NULL",
		"sourceline":      "NULL",
		"pending_restart": "false",
	}},
}
