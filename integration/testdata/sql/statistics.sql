-- Statistics of tables that ANALYZE reads as a whole.
SET default_statistics_target = 10;
CREATE TABLE measured (id int PRIMARY KEY, grp int, big bigint, small int2, name text, code varchar(10), price numeric(10,2),
  ratio float8, flag bool, at timestamptz, day date, doc jsonb, raw json, note text, long text, one int, rare int,
  tags int[], uid uuid, gone int, nothing int, "Odd" "char", pair int, few int);
ALTER TABLE measured DROP COLUMN gone;
INSERT INTO measured SELECT g, g % 7, (g % 500)::bigint * 10000000000, (g % 3)::int2, 'name ' || g % 40,
  CASE WHEN g % 2 = 0 THEN 'c' || g % 100 END, (g % 900) / 4.0, g / 8.0, g % 10 = 0,
  timestamptz '2026-01-01 00:00:00+00' + (g % 300) * interval '1 hour', date '2026-01-01' + g % 20,
  jsonb_build_object('city', 'c' || g % 5), '{}', CASE WHEN g % 4 = 0 THEN repeat('x', 50 + g % 3) END,
  repeat('y', CASE WHEN g % 2 = 0 THEN 2000 ELSE 200 END), 5, CASE WHEN g % 100 = 0 THEN g ELSE 1 END, ARRAY[g % 2, g % 3],
  ('00000000-0000-0000-0000-0000000000' || lpad((g % 60)::text, 2, '0'))::uuid, NULL, 'a', g / 2, g / 1000
  FROM generate_series(1, 2000) g;
CREATE INDEX measured_lower ON measured (grp, lower(name));
CREATE INDEX measured_city ON measured ((doc->>'city'), (price * 2)) WHERE grp < 3;
SELECT * FROM pg_stats WHERE tablename LIKE 'measured%';
ANALYZE measured;
SELECT attname, inherited, null_frac, avg_width, n_distinct FROM pg_stats WHERE schemaname = 'public' AND tablename = 'measured'
  AND attname NOT IN ('doc', 'tags', 'long') ORDER BY attname COLLATE "C";
SELECT attname, inherited, null_frac, n_distinct FROM pg_stats WHERE tablename = 'measured' AND attname IN ('doc', 'tags', 'long')
  ORDER BY 1;
SELECT attname, most_common_vals, most_common_freqs FROM pg_stats WHERE tablename = 'measured' ORDER BY attname COLLATE "C";
SELECT attname, histogram_bounds FROM pg_stats WHERE tablename = 'measured' ORDER BY attname COLLATE "C";
SELECT attname, correlation FROM pg_stats WHERE tablename = 'measured' AND attname IN ('one', 'Odd', 'raw', 'nothing') ORDER BY 1;
SELECT tablename, attname, null_frac, avg_width, n_distinct, most_common_vals, most_common_freqs, histogram_bounds FROM pg_stats
  WHERE tablename IN ('measured_lower', 'measured_city') ORDER BY 1, 2;
SELECT most_common_elems, most_common_elem_freqs, elem_count_histogram FROM pg_stats WHERE tablename = 'measured' AND attname = 'id';
SELECT starelid::regclass, staattnum, stainherit, stanullfrac, stawidth, stadistinct, stakind1, stakind2, stakind3, stakind4, stakind5,
  staop1::regoperator, staop2::regoperator, staop3::regoperator, staop4, staop5, stacoll1, stacoll2, stacoll3, stacoll4, stacoll5
  FROM pg_statistic WHERE starelid IN ('measured'::regclass, 'measured_lower'::regclass) AND staattnum NOT IN (12, 15, 18) ORDER BY 1, 2;
SELECT staattnum, stanumbers1, stavalues1, stavalues2, stanumbers4, stavalues4 FROM pg_statistic
  WHERE starelid = 'measured'::regclass AND staattnum IN (2, 4, 6) ORDER BY 1;
SELECT most_common_vals::text::int[], (most_common_vals::text::int[])[1] FROM pg_stats
  WHERE tablename = 'measured' AND attname = 'grp';
SELECT relname, reltuples FROM pg_class WHERE relname IN ('measured', 'measured_pkey', 'measured_lower') ORDER BY 1;
SELECT relname, n_live_tup, analyze_count, last_analyze IS NOT NULL, last_analyze > now() - interval '1 hour'
  FROM pg_stat_user_tables WHERE relname = 'measured';
SELECT * FROM pg_stats_ext;
SELECT * FROM pg_statistic_ext;
-- Of some columns only; the others stay.
UPDATE measured SET grp = 1, small = 1;
ANALYZE measured (grp);
SELECT attname, n_distinct, most_common_vals FROM pg_stats WHERE tablename = 'measured' AND attname IN ('grp', 'small') ORDER BY 1;
ALTER TABLE measured RENAME COLUMN grp TO team;
ALTER TABLE measured ALTER COLUMN small TYPE int;
ALTER TABLE measured DROP COLUMN flag;
SELECT attname, most_common_vals FROM pg_stats WHERE tablename = 'measured' AND attname IN ('team', 'small', 'flag') ORDER BY 1;
DROP TABLE measured;
SELECT * FROM pg_stats WHERE tablename LIKE 'measured%';
CREATE TABLE measured (a int);
ANALYZE measured;
SELECT * FROM pg_stats WHERE tablename = 'measured';
DROP TABLE measured;
RESET default_statistics_target;
