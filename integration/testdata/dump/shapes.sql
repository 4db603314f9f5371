-- Every shape of table that a dump has to carry. TestDumpShapes restores it in several ways and compares the databases.
SELECT sherd.set_prefix('eu/', ARRAY[(SELECT min(fragment) FROM sherd.fragments)], buckets => 16);

-- policies: validated, with a range, mutable, of several fields, with functions
CREATE TABLE valid (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'Customer');
INSERT INTO valid SELECT 'orders/' || i || '-A$', jsonb_build_object('Customer', 'customers/' || i % 7) FROM generate_series(1, 60) i;
CREATE TABLE blocks (id text PRIMARY KEY, doc jsonb) WITH (shard_by = '"Address".Zip, State', shard_range = 1000);
INSERT INTO blocks SELECT 'b/' || i || '$', jsonb_build_object('Address', jsonb_build_object('Zip', i % 5), 'State', 'NY') FROM generate_series(1, 40) i;
CREATE TABLE mutable (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'State', shard_mutable = true);
INSERT INTO mutable VALUES ('m/1$', '{"State":"NY"}'), ('m/2', '{"State":"CA"}'), ('m/3$m/1', '{}');
UPDATE mutable SET doc = '{"State":"TX"}' WHERE doc->>'State' = 'NY';
CREATE TABLE by_number (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'numeric(n)');
INSERT INTO by_number SELECT 'n/' || i || '$', jsonb_build_object('n', i * 1000) FROM generate_series(1, 20) i;
CREATE TABLE by_ticks (id text PRIMARY KEY, at timestamptz, doc jsonb) WITH (shard_by = 'ticks(at)');
INSERT INTO by_ticks SELECT 't/' || i || '$', '2026-01-01Z'::timestamptz + i * interval '1 s', '{}' FROM generate_series(1, 20) i;
CREATE TABLE by_id (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'id()');
INSERT INTO by_id SELECT 'i/' || i, '{}' FROM generate_series(1, 20) i;
CREATE TABLE by_day (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'day(at)', shard_range = 16);
CREATE TABLE by_hour (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'hour(at)');
CREATE TABLE by_month (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'month(at), Kind');
INSERT INTO by_day SELECT 'd/' || i || '$', jsonb_build_object('at', '2026-01-01Z'::timestamptz + i * interval '1 day') FROM generate_series(1, 20) i;
INSERT INTO by_hour SELECT 'h/' || i || '$', jsonb_build_object('at', '2026-01-01Z'::timestamptz + i * interval '1 hour') FROM generate_series(1, 20) i;
INSERT INTO by_month SELECT 'o/' || i || '$', jsonb_build_object('at', '2026-01-01Z'::timestamptz + i * interval '9 day', 'Kind', 'x') FROM generate_series(1, 20) i;

-- a policy that is not validated, though all documents obey it
CREATE TABLE doubted (id text CONSTRAINT zz_pkey PRIMARY KEY, doc jsonb);
INSERT INTO doubted VALUES ('d/1$@982173', '{"Customer":"customers/1-A"}');
ALTER TABLE doubted SET (shard_by = 'Customer');

-- relational keys
CREATE TABLE regions (region text, n int, v numeric(6, 2), PRIMARY KEY (region, n)) WITH (shard_by = 'region');
INSERT INTO regions SELECT 'r' || i % 3, i, i / 7.0 FROM generate_series(1, 30) i;
CREATE TABLE readings (at timestamptz, device int, PRIMARY KEY (device, at)) WITH (shard_by = 'day(at)', shard_range = 4);
INSERT INTO readings SELECT '2026-01-01Z'::timestamptz + i * interval '3 hours', i % 3 FROM generate_series(1, 30) i;

-- key ranges, with keys that are awkward as text
CREATE TABLE events (device int, at timestamptz, v float8, PRIMARY KEY (device, at)) WITH (shard_by = 'range', shard_splits = '10,10/2026-01-02,20');
INSERT INTO events SELECT i % 30, '2026-01-01Z'::timestamptz + i * interval '1 hour', i FROM generate_series(1, 90) i;
CREATE TABLE people (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'range', shard_splits = '{eu/,eu0,"a,b"," x","it''s","\"q\\"}');
INSERT INTO people SELECT r || '/' || i, '{}' FROM unnest(ARRAY['asia', 'eu', 'us']) r, generate_series(1, 10) i;
CREATE TABLE hashes (h bytea PRIMARY KEY) WITH (shard_by = 'range', shard_splits = '\x40,\x80', shard_auto_splits = '\xc0');
INSERT INTO hashes SELECT decode(md5(i::text), 'hex') FROM generate_series(1, 20) i;

-- ids: anchors, rules for prefixes, documents that are named or that are none
CREATE TABLE customers (id text PRIMARY KEY, doc jsonb);
INSERT INTO customers SELECT p || 'customers/' || i, '{"n":1}' FROM unnest(ARRAY['', 'eu/']) p, generate_series(1, 20) i;
CREATE TABLE placed (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'Customer');
INSERT INTO placed SELECT 'orders/' || i || '$', jsonb_build_object('Customer', 'eu/customers/' || i) FROM generate_series(1, 20) i;
CREATE TABLE anchored (id text PRIMARY KEY, doc jsonb) WITH (anchor_by = 'OrderId');
INSERT INTO anchored SELECT 'invoices/' || i, jsonb_build_object('OrderId', 'orders/' || i) FROM generate_series(1, 10) i;
CREATE TABLE named (id text PRIMARY KEY, a jsonb, b jsonb) WITH (document = 'b', shard_by = 'k');
INSERT INTO named VALUES ('x$', '{"k":1}', '{"k":2}');
CREATE TABLE flat (id text PRIMARY KEY, doc jsonb) WITH (anchors = off);
INSERT INTO flat VALUES ('a$', '{}'), ('$', '{}'), ('eu/x', '{}');
CREATE TABLE unordered (id int PRIMARY KEY, v text) WITH (pk_order = off, fillfactor = 70);
INSERT INTO unordered SELECT i, 'v' FROM generate_series(1, 10) i;

-- counters, one of which is split
CREATE TABLE pages (id text PRIMARY KEY, doc jsonb, likes bigint) WITH (counters = 'likes, Views');
INSERT INTO pages VALUES ('p/1', '{"Views":5}', 7), ('p/2', '{"Views":1}', 2);
SELECT sherd.hot_split('pages', 'p/1', 4, NULL);
UPDATE pages SET likes = likes + 1 WHERE id = 'p/1';

-- indexes, constraints, sequences, comments, other schemas
CREATE INDEX customers_n ON customers ((doc->>'n')) WITH (scope = global);
CREATE INDEX regions_v ON regions (v DESC NULLS LAST, lower(region)) INCLUDE (n) WHERE v > 1;
CREATE UNIQUE INDEX named_k ON named ((b->>'k'));
CREATE SCHEMA "Other";
CREATE TABLE "Other".known (
    id bigint GENERATED ALWAYS AS IDENTITY (START 100 INCREMENT 10) PRIMARY KEY, code text NOT NULL,
    twice int GENERATED ALWAYS AS (n * 2) STORED, n int DEFAULT 3 CHECK (n > 0), tags text[],
    UNIQUE (code) DEFERRABLE INITIALLY DEFERRED);
INSERT INTO "Other".known (code, n, tags) VALUES ('a', 1, '{x,NULL}'), ('b', 2, NULL);
CREATE TABLE "Other".lines (known bigint REFERENCES "Other".known DEFERRABLE, customer text REFERENCES customers ON DELETE CASCADE, n serial);
INSERT INTO "Other".lines VALUES (100, 'eu/customers/3'), (110, 'customers/4');
CREATE TABLE late (id int, v text, CONSTRAINT late_key PRIMARY KEY (id) DEFERRABLE);
INSERT INTO late VALUES (1, 'x');
CREATE SEQUENCE "Other".numbers AS smallint INCREMENT -2 MAXVALUE 40 MINVALUE 2 CACHE 5 CYCLE;
SELECT nextval('"Other".numbers'), nextval('"Other".numbers');
CREATE TABLE keyless (t timestamptz) WITH (shard_by = 'x', shard_range = 7);
INSERT INTO keyless VALUES (NULL), ('2026-01-01Z');
ALTER TABLE "Other".known ALTER code SET STATISTICS 0, ALTER n SET STATISTICS 50;
COMMENT ON TABLE valid IS 'orders of customers';
COMMENT ON COLUMN valid.doc IS 'it''s a document';
COMMENT ON CONSTRAINT known_code_key ON "Other".known IS 'one of each';
COMMENT ON INDEX regions_v IS 'values';

-- Statistics objects: of columns and expressions, with kinds, a target and a comment, and in another schema.
CREATE TABLE measured (a int, b text, "C d" int);
INSERT INTO measured SELECT g % 10, 'b' || g % 5, g % 3 FROM generate_series(1, 100) g;
CREATE STATISTICS measured_all ON a, b, "C d" FROM measured;
CREATE STATISTICS "Other"."Some" (ndistinct, mcv) ON "C d", (lower(b)), (a + 1) FROM measured;
CREATE STATISTICS measured_lower ON (lower(b)) FROM measured;
ALTER STATISTICS measured_all SET STATISTICS 250;
COMMENT ON STATISTICS measured_lower IS 'of lower(b)';

-- Views: of tables and views, with options, defaults and comments, over what has changed since, and in another schema.
CREATE VIEW seen AS SELECT known.id, known.code, l.n FROM "Other".known LEFT JOIN "Other".lines l ON l.known = known.id;
CREATE VIEW "Other"."Of views" WITH (security_barrier, check_option = cascaded) AS SELECT a AS "A", b FROM measured WHERE a > 1;
CREATE VIEW counted AS SELECT s.code, count(*) AS n, (SELECT max("A") FROM "Other"."Of views") AS top FROM seen s GROUP BY s.code;
CREATE VIEW merged AS SELECT a, x.b FROM measured FULL JOIN (SELECT a, b FROM measured WHERE a < 3) x USING (a) ORDER BY a;
CREATE TABLE renamed (old int, b int);
CREATE VIEW following AS SELECT r.old, m.b FROM renamed r JOIN measured m ON m.a = r.old;
ALTER TABLE renamed RENAME COLUMN old TO new;
ALTER TABLE renamed ADD COLUMN a int;
ALTER TABLE renamed RENAME TO "New name";
ALTER VIEW "Other"."Of views" ALTER COLUMN b SET DEFAULT 'from the view';
COMMENT ON VIEW seen IS 'a view';
COMMENT ON COLUMN seen.code IS 'a column of a view';
