package sql_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// ddlGen writes random definitions, and some statements on rows between them. Names come from small
// pools, so that statements meet earlier objects; many are refused, which is a useful case too.
// Everything follows from the seed.
type ddlGen struct {
	*rand.Rand
	self string // the table that the statement is about
}

func newDDLGen(seed uint64) *ddlGen { return &ddlGen{Rand: rand.New(rand.NewPCG(seed, 15))} }

func (g *ddlGen) pick(words ...string) string { return words[g.IntN(len(words))] }

// maybe returns one of the words in some of the cases, "" otherwise.
func (g *ddlGen) maybe(in int, words ...string) string {
	if g.IntN(in) > 0 {
		return ""
	}
	return " " + g.pick(words...)
}

// list joins 1 to n words with commas.
func (g *ddlGen) list(n int, word func() string) string {
	var out []string
	for range 1 + g.IntN(n) {
		out = append(out, word())
	}
	return strings.Join(out, ", ")
}

func (g *ddlGen) schema() string {
	if g.IntN(12) == 0 {
		return g.pick("public.", "nosuch.", "pg_catalog.", "sherd.")
	}
	return g.pick("", "", "", "s1.")
}
func (g *ddlGen) bareTable() string { return fmt.Sprintf("t%d", g.IntN(4)) }
func (g *ddlGen) table() string {
	g.self = g.bareTable()
	return g.schema() + g.self
}
func (g *ddlGen) index() string { return fmt.Sprintf("i%d", g.IntN(5)) }
func (g *ddlGen) constraint() string {
	return g.pick("k0", "k1", "k2", "t0_pkey", "t1_pkey", "t0_a_key", "t1_check", "t2_b_fkey")
}
func (g *ddlGen) sequence() string { return g.schema() + g.pick("q0", "q1", "t0_a_seq", "t1_id_seq") }

// Columns are named for what they usually hold: id and a an integer, b text, c a number, d a
// document, e a truth value.
func (g *ddlGen) column() string {
	if g.IntN(14) == 0 {
		return g.pick("ctid", "xmin", "tableoid", "xmax", "cmin", "nosuch", `"A b"`)
	}
	return g.pick("id", "a", "b", "c", "d", "e")
}

func (g *ddlGen) typ() string {
	return g.pick("int", "int", "bigint", "smallint", "text", "text", "varchar(5)", "char(3)", "numeric",
		"numeric(6,2)", "jsonb", "json", "boolean",
		"date", "timestamptz", "timestamp(3)", "uuid", "int[]", "text[]", "float8", "real", "bytea", "interval", "oid",
		"name", "serial", "bigserial",
		"inet", "bit(4)", "varbit", `"char"`, "time", "money", "point", "regclass", "int4range", "record", "t0", "t1[]",
		"nosuch", "xid", "tid", "pg_lsn")
}

// typeOf is the type of a column: nearly always the one for which it is named.
func (g *ddlGen) typeOf(column string) string {
	if t := usualTypes[column]; t != "" && g.IntN(5) > 0 {
		return t
	}
	return g.typ()
}

var usualTypes = map[string]string{"id": "int", "a": "int", "b": "text", "c": "numeric", "d": "jsonb", "e": "boolean"}

func (g *ddlGen) literal() string {
	return g.pick("0", "1", "-7", "42", "2.5", "''", "'x'", "'abc'", "NULL", "true", "false", "'{}'", "'{1,2}'",
		"'2024-02-29'", "ARRAY[1,2]", "'[1,2)'",
		"now()", "current_date", "random()", "current_user", "nextval('q0')", "gen_random_uuid()",
		"99999999999", "'1.5'", "B'101'")
}

// row is the whole row of a table, in one of its forms: usually of the table that the statement is
// about.
func (g *ddlGen) row() string {
	name := g.self
	if name == "" || g.IntN(5) == 0 {
		name = g.bareTable()
	}
	return name + g.pick("", "", ".*")
}

// expr is an expression of any type, value one of the type of a column.
func (g *ddlGen) expr(depth int) string {
	if g.IntN(6) == 0 {
		return g.odd(depth)
	}
	return g.value(g.pick("a", "b", "c", "d", "e"), depth)
}

func (g *ddlGen) value(of string, depth int) string {
	if g.IntN(25) == 0 {
		return g.odd(depth)
	}
	switch of {
	case "id", "a", "c":
		return g.number(depth)
	case "b":
		return g.text(depth)
	case "d":
		return g.document(depth)
	}
	return g.cond(depth)
}

func (g *ddlGen) number(depth int) string {
	if depth <= 0 {
		return g.pick("0", "1", "42", "NULL", "id", "a", "a", "c", "2.5", "num_nulls("+g.row()+")")
	}
	a := func() string { return g.value("a", depth-1) }
	switch g.IntN(9) {
	case 0:
		return "(" + a() + g.pick(" + ", " - ", " * ", " % ") + a() + ")"
	case 1:
		return g.pick("abs(", "-(", "round(") + a() + ")"
	case 2:
		return g.pick("length(", "hashtext(", "ascii(") + g.text(depth-1) + ")"
	case 3:
		return g.pick("coalesce(", "nullif(", "greatest(", "num_nonnulls(") + a() + ", " + a() + ")"
	case 4:
		return "CASE WHEN " + g.cond(depth-1) + " THEN " + a() + " ELSE " + a() + " END"
	case 5:
		return g.pick("num_nulls(", "num_nonnulls(") + g.row() + ")"
	case 6:
		return "(" + g.document(depth-1) + " ->> 'x')::int"
	case 7:
		return "(ARRAY[" + a() + ", " + a() + "])[" + g.pick("1", "2", "3") + "]"
	}
	return g.number(0)
}

func (g *ddlGen) text(depth int) string {
	if depth <= 0 {
		return g.pick("''", "'x'", "'abc'", "NULL", "b", "b", "a::text", g.row()+"::text", "current_user")
	}
	switch g.IntN(6) {
	case 0:
		return "(" + g.text(depth-1) + " || " + g.value(g.pick("a", "b"), depth-1) + ")"
	case 1:
		return g.pick("lower(", "upper(", "md5(", "btrim(") + g.text(depth-1) + ")"
	case 2:
		return "(" + g.value(g.pick("a", "d", "e"), depth-1) + ")::text"
	case 3:
		return "(" + g.document(depth-1) + " ->> " + g.pick("'x'", "0", "b") + ")"
	case 4:
		return "coalesce(" + g.text(depth-1) + ", " + g.text(depth-1) + ")"
	}
	return g.text(0)
}

func (g *ddlGen) document(depth int) string {
	if depth <= 0 {
		return g.pick("d", "d", "'{}'::jsonb", "NULL", "to_jsonb("+g.row()+")", "row_to_json("+g.row()+")::jsonb")
	}
	switch g.IntN(4) {
	case 0:
		return "to_jsonb(" + g.value(g.pick("a", "b", "d", "e"), depth-1) + ")"
	case 1:
		return "(" + g.document(depth-1) + " -> " + g.pick("'x'", "0") + ")"
	case 2:
		return "jsonb_build_object('x', " + g.value("a", depth-1) + ")"
	}
	return g.document(0)
}

// odd returns an expression that is seldom allowed in its place.
func (g *ddlGen) odd(depth int) string {
	a := func() string { return g.expr(depth - 1 - g.IntN(2)) }
	switch g.IntN(11) {
	case 0:
		return g.row()
	case 1:
		return g.self + g.bareTable() + "." + g.column()
	case 2:
		return g.pick("sum", "count", "row_number", "generate_series", "to_char", "date_trunc", "pg_typeof",
			"pg_column_size", "unnest") + "(" + a() + ")"
	case 3:
		return "(" + a() + ")::" + g.typ()
	case 4:
		return "(" + g.row() + ")." + g.column()
	case 5:
		return "(SELECT " + a() + ")"
	case 6:
		return "ROW(" + a() + ", " + g.row() + ")"
	case 7:
		return "ARRAY[" + g.list(2, a) + "]"
	case 8:
		return "(" + a() + ")[" + g.pick("1", "0", "'x'", "1:2") + "]"
	case 9:
		return g.column()
	}
	return g.literal()
}

func (g *ddlGen) cond(depth int) string {
	if depth <= 0 {
		return g.pick("e", "e", "true", "a > 0", "b <> 'x'", "a IS NOT NULL", g.row()+" IS NULL",
			g.row()+" IS NOT NULL", "d @> '{}'", "num_nulls("+g.row()+") > 0")
	}
	of := g.pick("a", "b", "d", "e")
	switch g.IntN(8) {
	case 0:
		return "(" + g.cond(depth-1) + g.pick(" AND ", " OR ") + g.cond(depth-1) + ")"
	case 1:
		return "NOT (" + g.cond(depth-1) + ")"
	case 2:
		return g.number(depth-1) + g.pick(" IN (1, 2)", " BETWEEN 1 AND 9", " = ANY (ARRAY[1,2])")
	case 3:
		return g.row() + g.pick(" IS NULL", " IS NOT NULL", " = "+g.row(), " > "+g.row(), " IS DISTINCT FROM "+g.row())
	case 4:
		return g.text(depth-1) + g.pick(" LIKE 'a%'", " ~ 'a'", " = ANY ('{a,b}')", " > 'a'")
	case 5:
		return g.value(of, depth-1) + g.pick(" IS NULL", " IS NOT NULL")
	}
	return g.value(of, depth-1) + g.pick(" = ", " < ", " >= ", " <> ", " IS DISTINCT FROM ") + g.value(of, depth-1)
}

func (g *ddlGen) identity() string {
	return "GENERATED " + g.pick("ALWAYS", "BY DEFAULT") + " AS IDENTITY" +
		g.maybe(4, "(START 5)", "(INCREMENT 2 CACHE 3)", "(MINVALUE 3 MAXVALUE 1)", "(SEQUENCE NAME q1)")
}

func (g *ddlGen) deferrable() string {
	return g.maybe(6, "DEFERRABLE", "DEFERRABLE INITIALLY DEFERRED", "NOT DEFERRABLE", "INITIALLY DEFERRED")
}

func (g *ddlGen) references() string {
	return "REFERENCES " + g.schema() + g.bareTable() + g.maybe(2, "(a)", "(id)", "(b, c)", "(ctid)") +
		g.maybe(3, "MATCH FULL", "MATCH SIMPLE") +
		g.maybe(3, "ON DELETE CASCADE", "ON DELETE SET NULL", "ON DELETE SET DEFAULT", "ON UPDATE CASCADE",
			"ON DELETE SET NULL (b)", "ON DELETE RESTRICT") + g.deferrable()
}

func (g *ddlGen) columnDef() string {
	column := g.column()
	out := column + " " + g.typeOf(column)
	for range g.IntN(5) / 2 {
		out += " "
		if g.IntN(8) == 0 {
			out += "CONSTRAINT " + g.constraint() + " "
		}
		switch g.IntN(13) {
		case 0:
			out += "NOT NULL"
		case 1:
			out += "NULL"
		case 2:
			out += "DEFAULT " + g.literal()
		case 3:
			out += "DEFAULT " + g.value(column, 2)
		case 4, 5, 6:
			out += "GENERATED ALWAYS AS (" + g.value(column, 2) + ") STORED"
		case 7:
			out += g.identity()
		case 8, 9:
			out += "CHECK (" + g.cond(2) + ")" + g.maybe(8, "NO INHERIT")
		case 10:
			out += g.references()
		case 11:
			out += "UNIQUE" + g.deferrable()
		case 12:
			out += g.pick("PRIMARY KEY", `COLLATE "C"`, "COLLATE nosuch")
		}
	}
	return out
}

func (g *ddlGen) tableConstraint() string {
	out := ""
	if g.IntN(2) == 0 {
		out = "CONSTRAINT " + g.constraint() + " "
	}
	columns := "(" + g.list(3, g.column) + ")"
	switch g.IntN(6) {
	case 0:
		return out + "PRIMARY KEY " + columns + g.deferrable()
	case 1:
		return out + "UNIQUE" + g.maybe(4, "NULLS NOT DISTINCT") + " " + columns +
			g.maybe(6, "INCLUDE (a)", "INCLUDE (ctid)", "WITH (fillfactor = 50)") + g.deferrable()
	case 2, 3:
		return out + "CHECK (" + g.cond(3) + ")" + g.maybe(8, "NO INHERIT")
	case 4:
		return out + "FOREIGN KEY " + columns + " " + g.references()
	}
	return out + "FOREIGN KEY (" + g.column() + ") " + g.references()
}

func (g *ddlGen) createTable() string {
	out := "CREATE" + g.maybe(20, "TEMP", "UNLOGGED") + " TABLE" + g.maybe(5, "IF NOT EXISTS") + " " + g.table()
	if g.IntN(12) == 0 {
		return out + " AS SELECT " + g.list(3, func() string {
			return g.expr(1) + " AS " + g.column()
		}) + g.maybe(2, "FROM t0", "FROM t1 WHERE num_nulls(t1) > 0") +
			g.maybe(3, "WITH NO DATA")
	}
	elements := []string{}
	if g.IntN(4) > 0 {
		elements = append(elements,
			g.pick("id int PRIMARY KEY", "id text PRIMARY KEY", "id bigserial PRIMARY KEY", "id int",
				"a int UNIQUE", "doc jsonb"))
	}
	for _, c := range g.Perm(5)[:1+g.IntN(5)] {
		column := string("abcde"[c])
		if def := g.columnDef(); g.IntN(4) == 0 {
			elements = append(elements, def)
		} else {
			elements = append(elements, column+" "+usualTypes[column])
		}
	}
	for range g.IntN(3) {
		elements = append(elements, g.tableConstraint())
	}
	if g.IntN(8) == 0 {
		elements = append(elements,
			"LIKE "+g.schema()+g.bareTable()+g.maybe(1, "INCLUDING ALL", "INCLUDING INDEXES",
				"INCLUDING DEFAULTS INCLUDING CONSTRAINTS", "EXCLUDING ALL"))
	}
	return out + " (" + strings.Join(elements, ", ") + ")" +
		g.maybe(12, "WITH (fillfactor = 70)", "WITH (shard_by = 'range')", "WITH (nosuch = 1)", "INHERITS (t0)",
			"PARTITION BY LIST (a)", "ON COMMIT DROP")
}

func (g *ddlGen) alterCommand() string {
	column := "ALTER" + g.maybe(2, "COLUMN") + " " + g.column() + " "
	switch g.IntN(22) {
	case 0, 1, 2:
		return "ADD" + g.maybe(2, "COLUMN") + g.maybe(5, "IF NOT EXISTS") + " " + g.columnDef()
	case 3, 4:
		return "DROP" + g.maybe(2, "COLUMN") + g.maybe(4, "IF EXISTS") + " " + g.column() +
			g.maybe(3, "CASCADE", "RESTRICT")
	case 5, 6:
		return column + g.pick("", "SET DATA ") + "TYPE " + g.typ() +
			g.maybe(3, "USING "+g.expr(2), "USING "+g.column()+"::text", "USING "+g.row()+"::text")
	case 7:
		return column + "SET DEFAULT " + g.literal()
	case 8:
		return column + g.pick("DROP DEFAULT", "DROP EXPRESSION", "DROP EXPRESSION IF EXISTS")
	case 9, 10:
		return column + g.pick("SET", "DROP") + " NOT NULL"
	case 11:
		return column + "ADD " + g.identity()
	case 12:
		return column + g.pick("SET GENERATED ALWAYS", "SET GENERATED BY DEFAULT SET INCREMENT 10", "RESTART",
			"RESTART WITH 7", "DROP IDENTITY", "DROP IDENTITY IF EXISTS")
	case 13:
		return column + g.pick("SET STATISTICS 5", "SET STORAGE plain", "SET (n_distinct = 5)", "SET COMPRESSION pglz")
	case 14, 15, 16:
		return "ADD " + g.tableConstraint() + g.maybe(5, "NOT VALID")
	case 17, 18:
		return "DROP CONSTRAINT" + g.maybe(3, "IF EXISTS") + " " + g.constraint() + g.maybe(3, "CASCADE")
	case 19:
		return g.pick("VALIDATE CONSTRAINT ", "ALTER CONSTRAINT ") + g.constraint() + g.maybe(2, "DEFERRABLE")
	case 20:
		return "ADD " + g.pick("UNIQUE", "PRIMARY KEY") + " USING INDEX " + g.index()
	}
	return g.pick("OWNER TO postgres", "OWNER TO nosuch", "SET (fillfactor = 60)", "RESET (fillfactor)", "SET LOGGED",
		"ENABLE ROW LEVEL SECURITY", "REPLICA IDENTITY FULL",
		"CLUSTER ON i0", "SET TABLESPACE pg_default", "INHERIT t0", "DISABLE TRIGGER ALL")
}

func (g *ddlGen) alterTable() string {
	out := "ALTER TABLE" + g.maybe(5, "IF EXISTS") + g.maybe(10, "ONLY") + " " + g.table() + " "
	switch g.IntN(10) {
	case 0:
		return out + "RENAME" + g.maybe(2, "COLUMN") + " " + g.column() + " TO " + g.column()
	case 1:
		return out + "RENAME TO " + g.bareTable()
	case 2:
		return out + g.pick("RENAME CONSTRAINT "+g.constraint()+" TO "+g.constraint(),
			"SET SCHEMA "+g.pick("public", "s1", "nosuch"))
	}
	return out + g.list(3, g.alterCommand)
}

func (g *ddlGen) indexKey() string {
	key := g.column()
	switch g.IntN(4) {
	case 0:
		key = "(" + g.expr(2) + ")"
	case 1:
		key = g.pick("lower("+g.text(1), "num_nulls("+g.row(), "length("+g.text(0), "abs("+g.number(1)) + ")"
	}
	return key + g.maybe(12, `COLLATE "C"`) +
		g.maybe(8, "text_pattern_ops", "varchar_pattern_ops", "int4_ops", "text_ops", "jsonb_ops",
			"nosuch_ops", "bpchar_pattern_ops",
			"pg_catalog.int8_ops") + g.maybe(4, "DESC", "ASC", "DESC NULLS LAST", "NULLS FIRST")
}

func (g *ddlGen) createIndex() string {
	return "CREATE" + g.maybe(3, "UNIQUE") + " INDEX" + g.maybe(6, "CONCURRENTLY") +
		g.pick(" "+g.index(), " "+g.index(), "", " IF NOT EXISTS "+g.index()) + " ON " + g.table() +
		g.maybe(12, "USING btree", "USING hash", "USING gin", "USING gist") + " (" + g.list(3, g.indexKey) + ")" +
		g.maybe(12, "INCLUDE ("+g.list(2, g.column)+")") +
		g.maybe(10, "NULLS NOT DISTINCT") +
		g.maybe(10, "WITH (fillfactor = 50)", "WITH (scope = global)", "WITH (scope = local)") +
		g.maybe(3, "WHERE "+g.cond(2))
}

func (g *ddlGen) sequenceOptions() string {
	return g.maybe(3, "AS int", "AS smallint", "AS text") + g.maybe(3, "INCREMENT 3", "INCREMENT -1", "INCREMENT 0") +
		g.maybe(4, "MINVALUE 1", "NO MINVALUE") +
		g.maybe(4, "MAXVALUE 10", "NO MAXVALUE") + g.maybe(4, "START 4") +
		g.maybe(5, "CACHE 20", "CACHE 0") + g.maybe(5, "CYCLE") +
		g.maybe(4, "OWNED BY "+g.bareTable()+"."+g.column(), "OWNED BY NONE")
}

func (g *ddlGen) other() string {
	switch g.IntN(16) {
	case 0:
		return g.pick("CREATE SCHEMA s1", "CREATE SCHEMA IF NOT EXISTS s1", "DROP SCHEMA s1 CASCADE",
			"DROP SCHEMA IF EXISTS nosuch", "DROP SCHEMA s1", "ALTER SCHEMA s1 RENAME TO s2",
			"ALTER SCHEMA s2 RENAME TO s1",
			"CREATE SCHEMA s2 CREATE TABLE t3 (a int PRIMARY KEY) CREATE INDEX ON t3 (num_nulls(t3))")
	case 1, 2:
		return "CREATE SEQUENCE" + g.maybe(4, "IF NOT EXISTS") + " " + g.sequence() + g.sequenceOptions()
	case 3:
		return "ALTER SEQUENCE" + g.maybe(4, "IF EXISTS") + " " + g.sequence() + g.sequenceOptions() +
			g.maybe(4, "RESTART", "RESTART 3")
	case 4:
		return "DROP SEQUENCE" + g.maybe(4, "IF EXISTS") + " " + g.sequence() + g.maybe(3, "CASCADE")
	case 5:
		return "COMMENT ON " + g.pick("TABLE "+g.table(), "COLUMN "+g.table()+"."+g.column(), "INDEX "+g.index(),
			"CONSTRAINT "+g.constraint()+" ON "+g.table(), "SEQUENCE "+g.sequence(),
			"SCHEMA s1") + " IS " + g.pick("'x'", "NULL")
	case 6, 7:
		return "DROP TABLE" + g.maybe(2, "IF EXISTS") + " " + g.list(2, g.table) + g.maybe(2, "CASCADE")
	case 8:
		return "DROP INDEX" + g.maybe(6, "CONCURRENTLY") + g.maybe(2, "IF EXISTS") + " " + g.schema() +
			g.index() + g.maybe(4, "CASCADE")
	case 9:
		return "ALTER INDEX" + g.maybe(3, "IF EXISTS") + " " + g.schema() + g.index() + " " +
			g.pick("RENAME TO "+g.index(), "SET (fillfactor = 40)", "RESET (fillfactor)",
				"ALTER COLUMN 1 SET STATISTICS 5")
	case 10:
		return "TRUNCATE " + g.list(2, g.table) + g.maybe(2, "CASCADE", "RESTART IDENTITY", "CONTINUE IDENTITY")
	case 11:
		return "CREATE POLICY p ON " + g.table() + " USING (" + g.cond(2) + ")"
	case 12:
		return g.pick("ANALYZE ", "REINDEX TABLE ", "VACUUM ", "LOCK TABLE ", "CLUSTER ") + g.table()
	case 13:
		return "CREATE " + g.pick("VIEW v AS SELECT * FROM ", "STATISTICS ss ON a, ctid FROM ",
			"RULE r AS ON INSERT TO ", "TRIGGER tr BEFORE INSERT ON ") + g.table()
	case 14:
		return "SELECT " + g.pick("nextval", "currval", "lastval", "pg_get_serial_sequence") + "(" +
			g.pick("'q0'", "'t0'", "'t0', 'a'", "'t0', 'ctid'", "") + ")"
	}
	return "ALTER " + g.pick("VIEW", "TABLE", "INDEX", "SEQUENCE") + " " + g.table() + " RENAME TO " + g.bareTable()
}

func (g *ddlGen) rows() string {
	where := g.maybe(2, "WHERE "+g.cond(2))
	switch g.IntN(9) {
	case 0, 1, 2:
		return "INSERT INTO " + g.table() + g.pick("", " ("+g.list(3, g.column)+")") +
			g.pick(" VALUES ("+g.list(3, g.literal)+")", " DEFAULT VALUES",
				" SELECT g, g, g FROM generate_series(1, 5) g", " SELECT g FROM generate_series(1, 5) g") +
			g.maybe(3, "ON CONFLICT DO NOTHING", "ON CONFLICT ("+g.indexKey()+") DO NOTHING",
				"ON CONFLICT (id) DO UPDATE SET "+g.column()+" = excluded."+g.column()+where,
				"ON CONFLICT ON CONSTRAINT "+g.constraint()+" DO NOTHING") +
			g.maybe(4, "RETURNING *", "RETURNING "+g.expr(1))
	case 3:
		return "UPDATE " + g.table() + " SET " + g.column() + " = " + g.pick("DEFAULT", g.expr(1)) + where +
			g.maybe(4, "RETURNING "+g.row())
	case 4:
		return "DELETE FROM " + g.table() + where + g.maybe(4, "RETURNING *")
	case 5:
		return "SELECT " + g.list(2, func() string {
			return g.expr(2)
		}) + " FROM " + g.table() + where + g.maybe(4, "GROUP BY id", "GROUP BY "+g.column(), "GROUP BY "+g.row()) +
			g.maybe(4, "ORDER BY "+g.row(), "ORDER BY 1", "ORDER BY ctid") + g.maybe(6, "FOR UPDATE", "LIMIT 2")
	case 6:
		return "SELECT " + g.list(2, func() string {
			return g.expr(1)
		}) + " FROM t0 " + g.pick("LEFT JOIN", "FULL JOIN", "JOIN") + " t1 ON " + g.cond(1) + where
	}
	return "SELECT * FROM " + g.table() + where
}

// statement returns the next one. Transactions are begun and ended at random.
func (g *ddlGen) statement() string {
	switch g.IntN(24) {
	case 0:
		return g.pick("BEGIN", "BEGIN", "BEGIN ISOLATION LEVEL SERIALIZABLE", "START TRANSACTION READ ONLY")
	case 1, 2:
		return g.pick("COMMIT", "COMMIT", "ROLLBACK")
	case 3:
		return g.pick("SAVEPOINT p1", "SAVEPOINT p2", "ROLLBACK TO p1", "ROLLBACK TO p2", "RELEASE p1")
	case 4, 5, 6, 7, 8:
		return g.createTable()
	case 9, 10, 11, 12, 13:
		return g.alterTable()
	case 14, 15, 16:
		return g.createIndex()
	case 17, 18:
		return g.other()
	}
	return g.rows()
}
