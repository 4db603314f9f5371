package sql_test

import "testing"

// A policy may precede the primary key, as pg_dump writes tables: it takes effect with the key.
func TestPolicyBeforeKey(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	const waits = `SELECT reloptions, relchecks FROM pg_class WHERE relname = 'o'`
	const valid = `SELECT conname, convalidated, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) ` +
		`FROM pg_constraint WHERE conrelid = 'o'::regclass AND contype = 'c'`
	const validated = "sharding|t|CHECK (sherd.placed())|SHARDING BY (C) RANGE 10\nSELECT 1"
	const doubted = "sharding|f|CHECK (sherd.placed()) NOT VALID|SHARDING BY (C) RANGE 10 NOT VALID\nSELECT 1"
	const key = "ALTER TABLE o ADD CONSTRAINT o_pkey PRIMARY KEY (id)"
	create := func(constraint string) {
		t.Helper()
		a.answer("DROP TABLE IF EXISTS o")
		a.want("CREATE TABLE o (id text NOT NULL, doc jsonb"+constraint+") WITH (shard_by = 'C', shard_range = 10)",
			"NOTICE: the sharding policy of \"o\" takes effect when the table has a primary key\nCREATE TABLE")
	}
	declared := ", CONSTRAINT sharding CHECK (sherd.placed())"
	const fits = `INSERT INTO o VALUES ('1$@982173', '{"C":"customers/1-A"}'), ('2$@982175', '{"C":"customers/1-A"}')`
	const astray = `INSERT INTO o VALUES ('3$@7', '{"C":"customers/1-A"}')`

	create(declared)
	a.want(waits, "{shard_by=C,shard_range=10}|1\nSELECT 1")
	a.want(fits, "INSERT 0 2")
	a.want("SELECT count(*) FROM sherd.policies", "0\nSELECT 1")
	a.want(key, "ALTER TABLE")
	a.want(valid, validated)
	a.want("SELECT id, doc FROM o WHERE id = '2$@982175'", `2$@982175|{"C": "customers/1-A"}`+"\nSELECT 1")
	a.want("EXPLAIN (COSTS OFF) SELECT * FROM o WHERE doc->>'C' = 'customers/1-A'",
		"Gather  (fragments: postgres$2; buckets: [982170,982180))\n  Routed by: content (C)\n  ->  Seq Scan on o\n "+
			"       Filter: ((doc ->> 'C'::text) = 'customers/1-A'::text)\nEXPLAIN")
	a.want("ALTER TABLE o ADD CONSTRAINT sharding CHECK (sherd.placed())",
		`constraint "sharding" for relation "o" already exists (SQLSTATE 42710)`)
	a.want("ALTER TABLE o ADD CONSTRAINT sharding CHECK (sherd.placed()) NOT VALID", "ALTER TABLE")
	a.want(valid, doubted)
	a.want("ALTER TABLE o VALIDATE CONSTRAINT sharding", "ALTER TABLE")
	a.want(valid, validated)
	a.want("ALTER TABLE o DROP CONSTRAINT o_pkey", "ALTER TABLE")
	a.want(waits, "{shard_by=C,shard_range=10}|0\nSELECT 1")
	a.want(key, "ALTER TABLE")
	a.want(valid, validated)
	a.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")

	// Rows that lie elsewhere only keep the policy from being trusted.
	create(declared)
	a.want(fits+";"+astray, "INSERT 0 2\nINSERT 0 1")
	a.want(key,
		"NOTICE: the sharding policy of \"o\" is not validated: queries do not route by its fields yet\nALTER TABLE")
	a.want(valid, doubted)
	a.want("SELECT count(*) FROM o WHERE doc->>'C' = 'customers/1-A'", "3\nSELECT 1")

	// NOT VALID stays NOT VALID, before and after the key, with and without rows.
	for _, rows := range []string{fits, "SELECT 1 WHERE false"} {
		create("")
		a.answer(rows)
		a.want("ALTER TABLE o ADD CONSTRAINT sharding CHECK (sherd.placed()) NOT VALID", "ALTER TABLE")
		a.want(waits, "{shard_by=C,shard_range=10}|1\nSELECT 1")
		a.want(key, "ALTER TABLE")
		a.want(valid, doubted)
		a.want("ALTER TABLE o DROP CONSTRAINT o_pkey", "ALTER TABLE")
		a.want("SELECT convalidated, pg_get_constraintdef(oid, true) FROM pg_constraint WHERE conname = 'sharding'",
			"f|CHECK (sherd.placed()) NOT VALID\nSELECT 1")
		create("")
		a.answer(rows)
		a.want(key, "ALTER TABLE")
		a.want(valid, validated)
		a.want("ALTER TABLE o ADD CONSTRAINT sharding CHECK (sherd.placed()) NOT VALID", "ALTER TABLE")
		a.want(valid, doubted)
	}
	a.want("ALTER TABLE o DROP CONSTRAINT sharding", "ALTER TABLE")
	a.want(waits, "null|0\nSELECT 1")
	a.want("ALTER TABLE o ADD CONSTRAINT sharding CHECK (sherd.placed())",
		`constraint "sharding" of relation "o" needs a sharding policy (SQLSTATE 42704)`)

	// Relational keys, columns that are renamed meanwhile, and invalid policies.
	a.want("CREATE TABLE r (region text, n int) WITH (shard_by = 'region')",
		"NOTICE: the sharding policy of \"r\" takes effect when the table has a primary key\nCREATE TABLE")
	a.want("INSERT INTO r SELECT 'r' || i % 3, i FROM generate_series(1, 30) i", "INSERT 0 30")
	a.want("ALTER TABLE r RENAME region TO zone", "ALTER TABLE")
	a.want("ALTER TABLE r ADD PRIMARY KEY (zone, n)", "ALTER TABLE")
	a.want("SELECT reloptions FROM pg_class WHERE relname = 'r'", "{shard_by=zone}\nSELECT 1")
	a.want("EXPLAIN (COSTS OFF) SELECT * FROM r WHERE zone = 'r1'",
		"Gather  (fragments: postgres$1; buckets: 493799)\n  Routed by: content (zone)\n  ->  Seq Scan on r\n "+
			"       Filter: (zone = 'r1'::text)\nEXPLAIN")
	a.want("CREATE TABLE bad (id text) WITH (shard_by = 'numeric(')",
		`invalid sharding fields "numeric(" (SQLSTATE 22023): It ends where a field's name or a closing parenthesis `+
			`is missing.`)
	a.want("CREATE TABLE bad (id text) WITH (shard_range = 4)", "shard_range needs a sharding policy (SQLSTATE 22023)")
	a.want("CREATE TABLE p (n int) WITH (shard_by = 'elsewhere'); ALTER TABLE p ADD PRIMARY KEY (n)",
		"NOTICE: the sharding policy of \"p\" takes effect when the table has a primary "+
			"key\nCREATE TABLE\n"+`sharding field "elsewhere" is no column of the primary key of "p" (SQLSTATE 22023)`)
	a.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
}

// No other constraint of a table can have the name of its policy.
func TestOneConstraintSharding(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE TABLE o (id text PRIMARY KEY, n int CONSTRAINT few CHECK (n < 9), doc jsonb) WITH (shard_by = 'C')",
		"CREATE TABLE")
	const taken = `constraint "sharding" for relation "o" already exists (SQLSTATE 42710)`
	a.want("ALTER TABLE o ADD CONSTRAINT sharding CHECK (true)", taken)
	a.want("ALTER TABLE o ADD CONSTRAINT sharding CHECK (true) NOT VALID", taken)
	a.want("ALTER TABLE o ADD CONSTRAINT sharding UNIQUE (n)", taken)
	a.want("ALTER TABLE o ADD CONSTRAINT sharding FOREIGN KEY (id) REFERENCES o", taken)
	a.want("ALTER TABLE o RENAME CONSTRAINT few TO sharding", taken)
	a.want("ALTER TABLE o RENAME CONSTRAINT sharding TO few2",
		`constraint "sharding" of relation "o" is its sharding policy and cannot be renamed (SQLSTATE 42809)`)
	a.want("CREATE TABLE p (id text PRIMARY KEY, doc jsonb, CONSTRAINT sharding CHECK (true)) WITH (shard_by = 'C')",
		`constraint "sharding" for relation "p" already exists (SQLSTATE 42710)`)
	a.want("CREATE TABLE p (id text CONSTRAINT sharding PRIMARY KEY, doc jsonb)", "CREATE TABLE")
	a.want("ALTER TABLE p SET (shard_by = 'C')",
		`constraint "sharding" for relation "p" already exists (SQLSTATE 42710)`)
	a.want("CREATE TABLE l (LIKE o INCLUDING ALL)", "CREATE TABLE")
}

// A range table may be made before its primary key, and keeps its splits without one.
func TestRangeBeforeKey(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE TABLE r (a text, b timestamptz, n int) WITH (shard_by = 'range', "+
		"shard_splits = '{k,m/2026-01-02,\"x,y\"}')",
		"NOTICE: the rows of \"r\" lie by ranges when the table has a primary key\nCREATE TABLE")
	a.want("INSERT INTO r SELECT chr(97 + i % 26), '2026-01-01Z'::timestamptz + i * interval '1 hour', i "+
		"FROM generate_series(1, 200) i", "INSERT 0 200")
	const splits = "SELECT lower FROM sherd.segments ORDER BY lower NULLS FIRST"
	a.want(splits, "SELECT 0")
	a.want("ALTER TABLE r ADD PRIMARY KEY (a, b)", "ALTER TABLE")
	const split = "null\nk\nm/2026-01-02 00:00:00+00\nx,y\nSELECT 4"
	a.want(splits, split)
	const options = `SELECT unnest(reloptions) FROM pg_class WHERE relname = 'r'`
	a.want(options, "shard_by=range\nshard_splits={k,\"m/2026-01-02 00:00:00+00\",\"x,y\"}\nSELECT 2")
	a.want("SELECT count(*), sum(n) FROM r WHERE a >= 'k' AND a < 'n'", "24|2448\nSELECT 1")
	a.want("ALTER TABLE r DROP CONSTRAINT r_pkey", "ALTER TABLE")
	a.want(options, "shard_by=range\nshard_splits={k,\"m/2026-01-02 00:00:00+00\",\"x,y\"}\nSELECT 2")
	a.want("ALTER TABLE r ADD PRIMARY KEY (a, b)", "ALTER TABLE")
	a.want(splits, split)

	// The balancer may merge only what it has split.
	a.want("CREATE TABLE auto (id int PRIMARY KEY) WITH (shard_by = 'range', shard_splits = '10', "+
		"shard_auto_splits = '{20,10}')", "CREATE TABLE")
	const automatic = "SELECT lower, automatic FROM sherd.segments WHERE collection = 'auto'::regclass " +
		"ORDER BY lower NULLS FIRST"
	a.want(automatic, "null|f\n10|f\n20|t\nSELECT 3")
	a.want("SELECT unnest(reloptions) FROM pg_class WHERE relname = 'auto'",
		"shard_auto_splits={20}\nshard_by=range\nshard_splits={10}\nSELECT 3")
	a.want("ALTER TABLE auto DROP CONSTRAINT auto_pkey; ALTER TABLE auto ADD PRIMARY KEY (id)",
		"ALTER TABLE\nALTER TABLE")
	a.want(automatic, "null|f\n10|f\n20|t\nSELECT 3")
	a.want("CREATE TABLE bad (id int PRIMARY KEY) WITH (shard_auto_splits = '1')",
		`option "shard_auto_splits" needs shard_by = 'range' (SQLSTATE 22023)`)

	// Keys that their own text does not determine.
	a.want("CREATE TABLE s (a text, b int) WITH (shard_by = 'range', "+
		"shard_splits = '{\"key:\\\\x61\",\"key:\\\\x61ff\"}')",
		"NOTICE: the rows of \"s\" lie by ranges when the table has a primary key\nCREATE TABLE")
	a.want("ALTER TABLE s ADD PRIMARY KEY (a, b)", "ALTER TABLE")
	a.want("SELECT unnest(reloptions) FROM pg_class WHERE relname = 's'",
		"shard_by=range\nshard_splits={\"key:\\\\x61\",\"key:\\\\x61ff\"}\nSELECT 2")
	a.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
}

// Rules for prefixes come with the first table that is restored, with the buckets that they had, or
// not at all.
func TestPrefixesOfDumpedTables(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	const rule = `shard_prefixes = '[{"prefix":"eu/","first_bucket":1048600,"buckets":16,"fragments":[2,9]}]'`
	a.want("BEGIN", "BEGIN")
	a.want("CREATE SCHEMA s", "CREATE SCHEMA")
	a.want("CREATE TABLE s.o (id text, doc jsonb) WITH ("+rule+")", "CREATE TABLE")
	a.want("CREATE TABLE s.p (id text, doc jsonb) WITH ("+rule+")", "CREATE TABLE")
	a.want(`INSERT INTO s.o VALUES ('x$@1048603', '{}'), ('eu/1', '{}')`, "INSERT 0 2")
	a.want("ALTER TABLE s.o ADD PRIMARY KEY (id)", "ALTER TABLE")
	a.want("COMMIT", "COMMIT")
	a.want("SELECT prefix, first_bucket, end_bucket, fragments FROM sherd.prefixes",
		"eu/|1048600|1048616|{postgres$2}\nSELECT 1")
	a.want("SELECT why, now() - at < '1 hour' FROM sherd.changelog WHERE kind = 'prefix'",
		"restored with a table|t\nSELECT 1")
	a.want("SELECT id, sherd.fragment('s.o', id) FROM s.o ORDER BY id",
		"eu/1|postgres$2\nx$@1048603|postgres$2\nSELECT 2")
	a.want("SELECT unnest(reloptions) FROM pg_class WHERE relname = 'o'",
		`shard_prefixes=[{"prefix":"eu/","first_bucket":1048600,"buckets":16,"fragments":[2]}]`+"\nSELECT 1")
	a.want("CREATE TABLE r (id int PRIMARY KEY) WITH (shard_by = 'range')", "CREATE TABLE")
	a.want(`CREATE TABLE q (id text) `+
		`WITH (shard_prefixes = '[{"prefix":"us/","first_bucket":1049600,"buckets":16,"fragments":[0]}]')`,
		`rules for prefixes cannot be restored while table "o" has rows (SQLSTATE 55000)`)
	a.want("DELETE FROM s.o", "DELETE 2")
	a.want(`CREATE TABLE q (id text) `+
		`WITH (shard_prefixes = '[{"prefix":"us/","first_bucket":1048610,"buckets":16,"fragments":[0]}]')`,
		`buckets [1048610,1048626) of prefix "us/" are given out already in database "postgres" (SQLSTATE 55000)`)
	a.want(`CREATE TABLE q (id text) `+
		`WITH (shard_prefixes = '[{"prefix":"eu/","first_bucket":1048600,"buckets":8,"fragments":[0]}]')`,
		`prefix "eu/" has buckets [1048600,1048616) in database "postgres", and [1048600,1048608) where the table `+
			`comes from (SQLSTATE 55000): Ids of the table may name their buckets.`)
	a.want(`CREATE TABLE q (id text) WITH (shard_prefixes = 'eu/')`,
		`invalid value for option "shard_prefixes": eu/ (SQLSTATE 22023)`)
	a.want(`ALTER TABLE r SET (`+rule+`)`, `option "shard_prefixes" can only be given to a new table (SQLSTATE 0A000)`)
	a.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
}

// Former ids come with their collection: its definition names the table that has them, and that
// table is filled before the collection has its key.
func TestFormerIDsOfDumpedTables(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	const extensions = "SELECT extname, extconfig[1]::regclass, extcondition FROM pg_extension ORDER BY 1"
	a.want(extensions, "sherd|null|null\nSELECT 1")
	a.want("CREATE EXTENSION IF NOT EXISTS sherd_former_ids WITH SCHEMA pg_catalog", "CREATE EXTENSION")
	a.want("CREATE TABLE m (id text NOT NULL, doc jsonb) WITH (former_ids = of_7)", "CREATE TABLE")
	a.want(extensions, "sherd|null|null\nsherd_former_ids|pg_forwarding.of_7|{\"\"}\nSELECT 2")
	a.want("INSERT INTO pg_forwarding.of_7 VALUES ('old/1', 'new/1')", "INSERT 0 1")
	a.want("INSERT INTO m VALUES ('new/1', '{}')", "INSERT 0 1")
	a.want("ALTER TABLE m ADD PRIMARY KEY (id)", "ALTER TABLE")
	a.want("SELECT id FROM m WHERE id = 'old/1'", "new/1\nSELECT 1")
	a.want("CREATE TABLE ref (m text REFERENCES m); INSERT INTO ref VALUES ('old/1')", "CREATE TABLE\nINSERT 0 1")
	a.want("SELECT reloptions FROM pg_class WHERE relname = 'm'", "{former_ids=of_7}\nSELECT 1")
	a.want("SET sherd.portable_dump = on; SELECT count(*) FROM pg_extension; RESET sherd.portable_dump",
		"SET\n1\nSELECT 1\nRESET")
	wantPart(a, "CREATE TABLE n (id text, doc jsonb) WITH (former_ids = of_7)",
		`relation "pg_forwarding.of_7" already exists (SQLSTATE 42P07)`)
	a.want("CREATE TABLE n (id text, doc jsonb) WITH (former_ids = elsewhere)",
		`invalid value for option "former_ids": elsewhere (SQLSTATE 22023)`)
	wantPart(a, "CREATE TABLE n (id int PRIMARY KEY) WITH (former_ids = of_8)",
		`"n" is not a collection (SQLSTATE 42809)`)
	a.want("ALTER TABLE ref DROP CONSTRAINT ref_m_fkey; ALTER TABLE m DROP CONSTRAINT m_pkey",
		"ALTER TABLE\nALTER TABLE")
	a.want("ALTER TABLE m ADD PRIMARY KEY (id)", "ALTER TABLE")
	a.want("SELECT id FROM m WHERE id = 'old/1'", "new/1\nSELECT 1")
	a.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	a.want("DROP EXTENSION IF EXISTS sherd_former_ids", "NOTICE: the extension is built in, and stays\nDROP EXTENSION")
	wantPart(a, "CREATE EXTENSION hstore", "SQLSTATE 0A000")
	a.want("DROP TABLE m", "DROP TABLE")
	a.want(extensions, "sherd|null|null\nSELECT 1")
}
