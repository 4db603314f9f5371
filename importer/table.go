package importer

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// target is the table that is loaded.
type target struct {
	name  string // as given
	table string // quoted
	id    string // its primary key column, quoted
	doc   string // its document column, quoted
}

// tableIdentifier reads a table's name as given on the command line: name or schema.name, taken as
// written.
func tableIdentifier(name string) pgx.Identifier { return pgx.Identifier(strings.SplitN(name, ".", 2)) }

// openTarget finds the table, or makes it.
func openTarget(ctx context.Context, conn *pgx.Conn, cfg Config) (target, error) {
	t := target{name: cfg.Table, table: tableIdentifier(cfg.Table).Sanitize(), id: "id", doc: "doc"}
	var there bool
	if err := conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", t.table).Scan(&there); err != nil {
		return t, err
	}
	if !there {
		_, err := conn.Exec(ctx, createTable(t, cfg))
		return t, err
	}
	return t, t.findColumns(ctx, conn)
}

func createTable(t target, cfg Config) string {
	text := "CREATE TABLE IF NOT EXISTS " + t.table + " (id text PRIMARY KEY, doc jsonb NOT NULL)"
	var options []string
	if cfg.ShardBy != "" {
		options = append(options, "shard_by = "+quoteLiteral(cfg.ShardBy))
	}
	if cfg.ShardRange != 0 {
		options = append(options, fmt.Sprintf("shard_range = %d", cfg.ShardRange))
	}
	if options != nil {
		text += " WITH (" + strings.Join(options, ", ") + ")"
	}
	return text
}

func quoteLiteral(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

const columnsOfTable = `SELECT a.attname::text, t.typname::text, EXISTS (
		SELECT FROM pg_catalog.pg_index i
		WHERE i.indrelid = a.attrelid AND i.indisprimary AND a.attnum = ANY (i.indkey))
	FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
	WHERE a.attrelid = $1::text::regclass AND a.attnum > 0 AND NOT a.attisdropped
	ORDER BY a.attnum`

// findColumns finds key and document of a table that is there, by the rule of collections: the
// document is the column doc, else the only jsonb.
func (t *target) findColumns(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, columnsOfTable, t.table)
	if err != nil {
		return err
	}
	type column struct {
		Name, Type string
		Key        bool
	}
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[column])
	if err != nil {
		return err
	}
	var keys, documents []string
	for _, c := range columns {
		switch {
		case c.Key:
			if keys = append(keys, c.Name); c.Type != "text" {
				return fmt.Errorf(
					"the primary key of table %s is of type %s; "+
						"import loads into collections, whose key is one text column",
					t.name, c.Type,
				)
			}
		case c.Type == "jsonb" && c.Name == "doc":
			documents = []string{c.Name}
		case c.Type == "jsonb" && (len(documents) != 1 || documents[0] != "doc"):
			documents = append(documents, c.Name)
		}
	}
	if len(keys) != 1 {
		return fmt.Errorf("table %s has no primary key of one text column; import loads into collections", t.name)
	}
	if len(documents) != 1 {
		return fmt.Errorf(
			"table %s has no column doc and %d others of type jsonb; import loads into collections, which have one",
			t.name, len(documents),
		)
	}
	t.id, t.doc = pgx.Identifier{keys[0]}.Sanitize(), pgx.Identifier{documents[0]}.Sanitize()
	return nil
}
