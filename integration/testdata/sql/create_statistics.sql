-- Objects of CREATE STATISTICS.
SET search_path = script_create_statistics, public;
CREATE TABLE addresses (id int PRIMARY KEY, city text, zip int, country text, doc jsonb, note text);
CREATE STATISTICS by_zip ON city, zip, country FROM addresses;
CREATE STATISTICS "Of Doc" (dependencies, ndistinct) ON country, (doc->>'street'), (lower(city)) FROM addresses;
CREATE STATISTICS lowered ON (lower(note)) FROM addresses;
CREATE STATISTICS of_country (mcv) ON zip, country FROM addresses;
CREATE STATISTICS missing ON nothing, zip FROM addresses;
CREATE STATISTICS by_zip ON city, zip FROM addresses;
CREATE STATISTICS IF NOT EXISTS by_zip ON city, zip FROM addresses;
SELECT stxname, stxrelid::regclass, stxnamespace::regnamespace, stxowner::regrole, stxstattarget, stxkeys, stxkind, stxexprs IS NULL
  FROM pg_statistic_ext ORDER BY stxname COLLATE "C";
SELECT pg_get_statisticsobjdef(oid) FROM pg_statistic_ext ORDER BY stxname COLLATE "C";
SELECT pg_get_statisticsobjdef_columns(oid), pg_get_statisticsobjdef_expressions(oid), pg_statistics_obj_is_visible(oid)
  FROM pg_statistic_ext ORDER BY stxname COLLATE "C";
SELECT pg_get_statisticsobjdef(1), pg_get_statisticsobjdef_columns(1), pg_get_statisticsobjdef_expressions(1);
SELECT schemaname, tablename, statistics_name, expr, inherited, null_frac FROM pg_stats_ext_exprs ORDER BY statistics_name COLLATE "C", expr;
SELECT * FROM pg_stats_ext;
SELECT * FROM pg_statistic_ext_data;
INSERT INTO addresses SELECT g, CASE WHEN g % 10 < 8 THEN 'city ' || g % 20 % 7 END, g % 20, 'country ' || g % 4,
  jsonb_build_object('street', 's' || g % 5), CASE WHEN g % 3 > 0 THEN 'N' || g % 2 END FROM generate_series(1, 1000) g;
INSERT INTO addresses VALUES (2001, 'city 1', 1, 'country 3', '{}', repeat('x', 2000)), (2002, repeat('y', 3000), 1, 'country 1', NULL, '');
ANALYZE addresses;
SELECT statistics_name, attnames, exprs, kinds, inherited, n_distinct, dependencies FROM pg_stats_ext ORDER BY statistics_name COLLATE "C";
SELECT s.statistics_name, m.f, m.v, m.n, round(m.b::numeric, 12) FROM pg_stats_ext s, LATERAL (
    SELECT s.most_common_freqs[i] AS f, s.most_common_base_freqs[i] AS b, s.most_common_vals[i:i] AS v, s.most_common_val_nulls[i:i] AS n
      FROM generate_subscripts(s.most_common_freqs, 1) i) m
  ORDER BY s.statistics_name COLLATE "C", m.f DESC, m.v;
SELECT array_ndims(most_common_vals), array_length(most_common_vals, 2), most_common_vals IS NULL FROM pg_stats_ext ORDER BY statistics_name COLLATE "C";
SELECT statistics_name, expr, inherited, null_frac, avg_width, n_distinct, most_common_vals, most_common_freqs, histogram_bounds
  FROM pg_stats_ext_exprs ORDER BY statistics_name COLLATE "C", expr;
SELECT stxname, stxdinherit, stxdndistinct, stxddependencies FROM pg_statistic_ext JOIN pg_statistic_ext_data ON oid = stxoid
  ORDER BY stxname COLLATE "C";
SELECT m.values, m.nulls, m.frequency, round(m.base_frequency::numeric, 12) FROM pg_statistic_ext
  JOIN pg_statistic_ext_data ON oid = stxoid, pg_mcv_list_items(stxdmcv) m WHERE stxname = 'by_zip' ORDER BY m.frequency DESC, m.values;
SELECT count(*), min(m.index), max(m.index) FROM pg_statistic_ext_data, pg_mcv_list_items(stxdmcv) m;
SELECT pg_typeof(stxdmcv), stxdmcv IS NULL, count(*) FROM pg_statistic_ext_data GROUP BY 1, 2 ORDER BY 2;
SELECT tablename, attname FROM pg_stats WHERE tablename IN ('by_zip', 'Of Doc', 'lowered');
-- Of some columns only; a target; renamed columns.
ALTER STATISTICS of_country SET STATISTICS 3;
ALTER STATISTICS by_zip SET STATISTICS 0;
DELETE FROM addresses WHERE id > 500;
ANALYZE addresses (zip, country, note);
SELECT statistics_name, n_distinct, dependencies, array_length(most_common_vals, 1) FROM pg_stats_ext ORDER BY statistics_name COLLATE "C";
ALTER TABLE addresses RENAME COLUMN country TO land;
ALTER TABLE addresses RENAME COLUMN note TO remark;
ALTER TABLE addresses RENAME TO places;
SELECT pg_get_statisticsobjdef(oid), stxstattarget FROM pg_statistic_ext ORDER BY stxname COLLATE "C";
ALTER TABLE places ALTER COLUMN zip TYPE text USING zip::text;
SELECT statistics_name FROM pg_stats_ext ORDER BY statistics_name COLLATE "C";
CREATE TABLE copied (LIKE places INCLUDING STATISTICS INCLUDING COMMENTS);
SELECT pg_get_statisticsobjdef(oid), stxstattarget FROM pg_statistic_ext WHERE stxrelid = 'copied'::regclass ORDER BY stxname COLLATE "C";
COMMENT ON STATISTICS of_country IS 'of the country';
SELECT obj_description(oid, 'pg_statistic_ext') FROM pg_statistic_ext WHERE stxname = 'of_country';
SELECT description FROM pg_description WHERE classoid = 'pg_statistic_ext'::regclass;
SELECT deptype, refclassid::regclass, count(*) FROM pg_depend WHERE classid = 'pg_statistic_ext'::regclass
  AND objid = (SELECT oid FROM pg_statistic_ext WHERE stxname = 'by_zip') GROUP BY 1, 2 ORDER BY 1, 2;
ALTER TABLE places DROP COLUMN city;
SELECT stxname FROM pg_statistic_ext WHERE stxrelid = 'places'::regclass ORDER BY stxname COLLATE "C";
BEGIN;
CREATE STATISTICS undone ON id, land FROM places;
DROP STATISTICS lowered;
SELECT stxname FROM pg_statistic_ext WHERE stxrelid = 'places'::regclass ORDER BY stxname COLLATE "C";
ROLLBACK;
SELECT stxname FROM pg_statistic_ext WHERE stxrelid = 'places'::regclass ORDER BY stxname COLLATE "C";
DROP TABLE places, copied;
SELECT count(*) FROM pg_statistic_ext;
