CREATE TABLE src (
	id int GENERATED ALWAYS AS IDENTITY (START 10 INCREMENT 5) PRIMARY KEY,
	name varchar(10) NOT NULL DEFAULT 'none',
	n serial,
	price numeric(10, 2) CHECK (price > 0),
	twice numeric GENERATED ALWAYS AS (price * 2) STORED,
	a int, b text COLLATE "C",
	CONSTRAINT together CHECK (a > 0 OR b IS NOT NULL),
	UNIQUE (a, b)
);
CREATE INDEX src_lower ON src (lower(name) DESC, a) WHERE price > 5;
CREATE UNIQUE INDEX src_once ON src (b, name);
COMMENT ON COLUMN src.name IS 'what it is called';
COMMENT ON CONSTRAINT together ON src IS 'one of them';
COMMENT ON INDEX src_lower IS 'to find it';
ALTER TABLE src DROP COLUMN a;
ALTER TABLE src ADD COLUMN a int DEFAULT 7;
ALTER TABLE src ADD CONSTRAINT pos CHECK (a > 0);
INSERT INTO src (price, b) VALUES (1, 'x'), (2, 'y');
CREATE TABLE bare (LIKE src);
SELECT attname, format_type(atttypid, atttypmod), attnotnull, atthasdef, attidentity, attgenerated FROM pg_attribute WHERE attrelid = 'bare'::regclass AND attnum > 0 ORDER BY attnum;
SELECT conname, contype FROM pg_constraint WHERE conrelid = 'bare'::regclass ORDER BY conname;
INSERT INTO bare (id, name, n, twice) VALUES (1, 'a', 2, 3) RETURNING *;
INSERT INTO bare (id, n) VALUES (1, 2);
CREATE TABLE whole (before int, LIKE src INCLUDING ALL, after text);
SELECT attname, format_type(atttypid, atttypmod), attnotnull, atthasdef, attidentity, attgenerated FROM pg_attribute WHERE attrelid = 'whole'::regclass AND attnum > 0 ORDER BY attnum;
SELECT conname, contype, pg_get_constraintdef(oid), obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conrelid = 'whole'::regclass ORDER BY conname;
SELECT indexname, indexdef, obj_description(format('%I', indexname)::regclass, 'pg_class') FROM pg_indexes WHERE schemaname = 'script_like' AND tablename = 'whole' ORDER BY indexname;
SELECT column_name, column_default, is_identity::text, identity_start, identity_increment, generation_expression FROM information_schema.columns WHERE table_schema = 'script_like' AND table_name = 'whole' ORDER BY ordinal_position;
SELECT col_description('whole'::regclass, attnum) FROM pg_attribute WHERE attrelid = 'whole'::regclass AND attname = 'name';
INSERT INTO whole (price, b) VALUES (3, 'z') RETURNING id, name, n, price, twice, a, b;
INSERT INTO whole (price, b) VALUES (4, 'z') RETURNING id, name, n, price, twice, a, b;
INSERT INTO whole (price, b) VALUES (-4, 'q');
INSERT INTO whole (id, price, b) VALUES (1, 4, 'q');
SELECT pg_get_serial_sequence('whole', 'id'), pg_get_serial_sequence('whole', 'n');
CREATE TABLE some (LIKE src INCLUDING ALL EXCLUDING INDEXES EXCLUDING IDENTITY);
SELECT conname, contype FROM pg_constraint WHERE conrelid = 'some'::regclass ORDER BY conname;
SELECT attname, attidentity, atthasdef FROM pg_attribute WHERE attrelid = 'some'::regclass AND attnum > 0 ORDER BY attnum;
CREATE TABLE d (LIKE src INCLUDING DEFAULTS INCLUDING GENERATED);
SELECT attname, attidentity, attgenerated, atthasdef FROM pg_attribute WHERE attrelid = 'd'::regclass AND attnum > 0 ORDER BY attnum;
CREATE TABLE i (LIKE src INCLUDING INDEXES);
SELECT indexname FROM pg_indexes WHERE schemaname = 'script_like' AND tablename = 'i' ORDER BY indexname;
SELECT conname, contype FROM pg_constraint WHERE conrelid = 'i'::regclass ORDER BY conname;
CREATE TABLE twice (LIKE src INCLUDING INDEXES, other int PRIMARY KEY);
CREATE TABLE twice (LIKE src, name text);
CREATE TABLE twice (LIKE src INCLUDING CONSTRAINTS, CONSTRAINT together CHECK (a > 1));
CREATE TABLE two (LIKE bare, LIKE d);
CREATE TABLE extra (x int);
CREATE TABLE two (LIKE bare, LIKE extra);
SELECT count(*) FROM pg_attribute WHERE attrelid = 'two'::regclass AND attnum > 0;
CREATE TABLE bad (LIKE nosuch);
CREATE TABLE bad (LIKE src_lower);
CREATE TABLE bad (LIKE src_n_seq);
CREATE TABLE bad (LIKE nosuchschema.t);
DROP TABLE src;
DROP TABLE src CASCADE;
INSERT INTO whole (price, b) VALUES (5, 'w') RETURNING id, n;
