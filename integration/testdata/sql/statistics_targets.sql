-- How much ANALYZE keeps of each column.
CREATE TABLE targets (a int, b text, c int, d int, PRIMARY KEY (a));
CREATE INDEX targets_i ON targets (c, lower(b), (a + c)) INCLUDE (d);
INSERT INTO targets SELECT g, 'b' || g % 100, g % 30, g % 2 FROM generate_series(1, 300) g;
ALTER TABLE targets ALTER COLUMN a SET STATISTICS 5;
ALTER TABLE targets ALTER a SET STATISTICS 0, ALTER b SET STATISTICS 20;
ALTER TABLE targets ALTER COLUMN nope SET STATISTICS 5;
ALTER TABLE targets ALTER COLUMN xmin SET STATISTICS 5;
ALTER TABLE targets ALTER COLUMN a SET STATISTICS -2;
ALTER TABLE targets ALTER COLUMN c SET STATISTICS 10001;
ALTER TABLE targets ALTER COLUMN 1 SET STATISTICS 10;
ALTER TABLE targets ALTER COLUMN c SET STATISTICS 100000000000;
ALTER INDEX targets_i ALTER COLUMN 2 SET STATISTICS 7;
ALTER INDEX targets_i ALTER COLUMN 3 SET STATISTICS 0;
ALTER INDEX targets_i ALTER COLUMN 1 SET STATISTICS 7;
ALTER INDEX targets_i ALTER COLUMN 4 SET STATISTICS 7;
ALTER INDEX targets_i ALTER COLUMN 5 SET STATISTICS 7;
ALTER INDEX targets_i ALTER COLUMN 0 SET STATISTICS 7;
ALTER INDEX nope ALTER COLUMN 1 SET STATISTICS 7;
ALTER INDEX IF EXISTS nope ALTER COLUMN 1 SET STATISTICS 7;
ALTER INDEX targets ALTER COLUMN 1 SET STATISTICS 7;
SELECT attrelid::regclass, attname, attstattarget FROM pg_attribute
  WHERE attrelid IN ('targets'::regclass, 'targets_i'::regclass, 'targets_pkey'::regclass) AND attnum > 0
  ORDER BY attrelid::regclass::text, attnum;
ANALYZE targets;
SELECT tablename, attname, most_common_vals, histogram_bounds FROM pg_stats WHERE tablename LIKE 'targets%' ORDER BY 1, 2;
ALTER TABLE targets ALTER a SET STATISTICS -1, ALTER b SET STATISTICS 0, ALTER d SET STATISTICS 0;
UPDATE targets SET b = 'other', d = 5;
ANALYZE targets (b, d);
SELECT attname, most_common_vals FROM pg_stats WHERE tablename = 'targets' AND attname IN ('b', 'd') ORDER BY 1;
SET default_statistics_target = 3;
ANALYZE targets;
SELECT attname, most_common_vals, histogram_bounds FROM pg_stats WHERE tablename = 'targets' ORDER BY 1;
ALTER TABLE targets ALTER COLUMN c TYPE bigint;
ALTER TABLE targets RENAME COLUMN d TO e;
CREATE TABLE likewise (LIKE targets INCLUDING ALL);
SELECT attrelid::regclass, attname, attstattarget FROM pg_attribute
  WHERE attrelid IN ('targets'::regclass, 'likewise'::regclass) AND attnum > 0 ORDER BY attrelid::regclass::text, attnum;
-- ANALYZE is part of a transaction block.
BEGIN;
INSERT INTO likewise VALUES (1, 'x', 2, 3), (2, 'x', 2, 3);
ANALYZE likewise, targets;
SELECT attname, n_distinct FROM pg_stats WHERE tablename = 'likewise' ORDER BY 1;
ROLLBACK;
SELECT attname, n_distinct FROM pg_stats WHERE tablename = 'likewise' ORDER BY 1;
BEGIN;
VACUUM ANALYZE targets;
ROLLBACK;
ANALYZE likewise, targets;
ANALYZE targets, nowhere;
DROP TABLE targets, likewise;
RESET default_statistics_target;
