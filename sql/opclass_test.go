package sql_test

import "testing"

// TestOperatorClasses: an index keeps the operator class that it names, where that is not the default one of the type; answers are PostgreSQL's.
func TestOperatorClasses(t *testing.T) {
	c := newWorldOf(t, 1).connect(t)
	c.want("CREATE TABLE o (id int PRIMARY KEY, a text, b varchar(10), c char(5))", "CREATE TABLE")
	c.want("INSERT INTO o VALUES (1, 'abc', 'x', 'y'), (2, 'abd', 'X', 'z'), (3, 'b', NULL, '')", "INSERT 0 3")
	for _, x := range []struct{ index, want string }{
		{"i1 ON o (a text_pattern_ops)", "CREATE INDEX"},
		{"i2 ON o (b varchar_pattern_ops DESC, id)", "CREATE INDEX"},
		{"i3 ON o (lower(a) pg_catalog.text_pattern_ops)", "CREATE INDEX"},
		{"i4 ON o (c bpchar_pattern_ops, b text_ops, id int4_ops)", "CREATE INDEX"},
		{"i5 ON o (a nosuch_ops)", `operator class "nosuch_ops" does not exist for access method "btree" (SQLSTATE 42704)`},
		{"i5 ON o (id int4_pattern_ops)", `operator class "int4_pattern_ops" does not exist for access method "btree" (SQLSTATE 42704)`},
		{"i5 ON o (a public.text_ops)", `operator class "public.text_ops" does not exist for access method "btree" (SQLSTATE 42704)`},
		{"i5 ON o (a nosuch.text_ops)", `schema "nosuch" does not exist (SQLSTATE 3F000)`},
		{"i5 ON o (id text_pattern_ops)", `operator class "text_pattern_ops" does not accept data type integer (SQLSTATE 42804)`},
		{"i5 ON o (c text_pattern_ops)", `operator class "text_pattern_ops" does not accept data type character (SQLSTATE 42804)`},
		{"i5 ON o (a bpchar_pattern_ops)", `operator class "bpchar_pattern_ops" is not supported for data type text (SQLSTATE 0A000)`},
	} {
		c.want("CREATE INDEX "+x.index, x.want)
	}
	c.want("CREATE TABLE l (LIKE o INCLUDING INDEXES)", "CREATE TABLE")
	c.want("SELECT pg_get_indexdef(indexrelid), indclass FROM pg_index WHERE indrelid IN ('o'::regclass, 'l'::regclass) AND NOT indisprimary ORDER BY 1",
		"CREATE INDEX i1 ON public.o USING btree (a text_pattern_ops)|4217\n"+
			"CREATE INDEX i2 ON public.o USING btree (b varchar_pattern_ops DESC, id)|4218 1978\n"+
			"CREATE INDEX i3 ON public.o USING btree (lower(a) text_pattern_ops)|4217\n"+
			"CREATE INDEX i4 ON public.o USING btree (c bpchar_pattern_ops, b, id)|4219 3126 1978\n"+
			"CREATE INDEX l_a_idx ON public.l USING btree (a text_pattern_ops)|4217\n"+
			"CREATE INDEX l_b_id_idx ON public.l USING btree (b varchar_pattern_ops DESC, id)|4218 1978\n"+
			"CREATE INDEX l_c_b_id_idx ON public.l USING btree (c bpchar_pattern_ops, b, id)|4219 3126 1978\n"+
			"CREATE INDEX l_lower_idx ON public.l USING btree (lower(a) text_pattern_ops)|4217\nSELECT 8")
	c.want("SELECT id FROM o WHERE a LIKE 'ab%' ORDER BY a", "1\n2\nSELECT 2")
	c.want("SELECT id FROM o WHERE b = 'X'", "2\nSELECT 1")
	c.want("ALTER TABLE o ALTER a TYPE int USING 1", `operator class "text_pattern_ops" does not accept data type integer (SQLSTATE 42804)`)
	c.want("ALTER TABLE o ALTER b TYPE text", "ALTER TABLE")
	c.want("CREATE UNIQUE INDEX u ON o (a text_pattern_ops)", "CREATE INDEX")
	c.want("ALTER TABLE o ADD UNIQUE USING INDEX u", `index "u" column number 1 does not have default sorting behavior (SQLSTATE 42809): `+
		"Cannot create a primary key or unique constraint using such an index.")
	c.want("SELECT count(*) FROM sherd.check() WHERE NOT ok", "0\nSELECT 1")
}
