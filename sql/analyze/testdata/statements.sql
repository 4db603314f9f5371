SELECT 1
SELECT 1, 2.5, 'x', NULL, true, 12345678901, 1e10, 99999999999999999999, B'101', -5, 0x1F
SELECT 1 + 1, 1 + 2.5, 1 / 2, 2::bigint * 3, 1.5::real + 1, 1::smallint + 1::smallint, 1 % 2, 2 ^ 3, |/ 4, @ -5, 5 !~ 'x'
SELECT 'a' || 'b', 'a' || 1, 1 || 'a', ARRAY[1,2] || 3, 3 || ARRAY[1,2], ARRAY[1] || ARRAY[2], '{1}'::int[] || '{2}'
SELECT a, b, c, d, e, f, g, v, ch, bo FROM items
SELECT * FROM items
SELECT items.*, items.a AS again FROM items
SELECT i.* FROM items i
SELECT public.items.a FROM public.items
SELECT items.a FROM items i
SELECT x.a FROM items i
SELECT nope FROM items
SELECT bb FROM items
SELECT items.zz FROM items
SELECT a FROM nope
SELECT a FROM nope.items
SELECT tableoid, ctid, xmin FROM items
SELECT a + b FROM items
SELECT a + '1' FROM items
SELECT a + 'x' FROM items
SELECT a || b FROM items
SELECT a + g, a + f, a + c, a * r, s + s, s * 2, c * 2, c / 3, c + f, r + f, -c, -s FROM items
SELECT a = g, a = c, b = v, v = ch, ch = 'abc', b = 'x', a = '5', d > '2020-01-01', dt = '2020-01-01', u = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' FROM items
SELECT a = b FROM items
SELECT d = dt, d - d, dt - dt, dt + 1, dt + iv, d + iv, d - iv, iv * 2, iv / 2, ts - ts, tm + iv, dt + tm FROM items
SELECT d > now() - interval '1 day', d > current_timestamp, dt = current_date, localtime, localtimestamp(2), current_time(3), current_user, session_user, current_schema, current_catalog, user FROM items
SELECT js -> 'a', js ->> 'a', js -> 0, js #> '{a,b}', js #>> '{a,b}', js @> '{"a":1}', js ? 'a', js ?| array['a'], js ?& '{a,b}', js || '{}', js - 'a', js - 1, js #- '{a}', js @? '$.a', js @@ '$.a > 1' FROM items
SELECT js - ARRAY['a'], j -> 'a', j ->> 0, js['a'], js['a']['b'], js[0], js['a'][1] FROM items
SELECT (js -> 'a')::int, (js ->> 'a')::numeric(10,2), (js->>'d')::timestamptz, js::text, j::jsonb, js::json FROM items
SELECT js[1.5] FROM items
SELECT js[1:2] FROM items
SELECT e[1], e[1:2], e[:2], e[1][2], ta[1], e['1'], (ARRAY[1,2,3])[2], (ARRAY[[1,2],[3,4]])[1][1] FROM items
SELECT e['x'] FROM items
SELECT a[1] FROM items
SELECT length(b), upper(b), lower(v), substr(b, 1, 2), substring(b from 1 for 2), substring(b from 'x'), position('a' in b), trim(b), trim(both 'x' from b), ltrim(b), overlay(b placing 'x' from 1 for 2), char_length(b), concat(a, b, 1), concat_ws(',', a, b), format('%s', a), repeat(b, 3), replace(b, 'a', 'b'), split_part(b, ',', 1), md5(b), left(b, 1), to_char(d, 'YYYY'), to_char(a, '999'), to_number('1', '9'), to_date('2020', 'YYYY'), to_timestamp(1), to_timestamp('x', 'YYYY') FROM items
SELECT abs(a), abs(c), abs(-1.5), ceil(c), floor(f), round(c), round(c, 1), round(f), trunc(c), mod(a, 2), power(a, 2), power(c, 2), sqrt(a), exp(1), ln(c), log(c), log(2, 3), sign(c), random(), pi(), greatest(a, g), least(a, 1.5), greatest(b, 'x'), div(a, 2), gcd(a, 4), width_bucket(f, 0, 10, 5) FROM items
SELECT extract(year from d), extract(epoch from iv), date_part('year', d), date_trunc('day', d), date_trunc('day', dt), age(d), age(d, d), now(), clock_timestamp(), make_date(2020, 1, 1), d at time zone 'UTC', ts at time zone 'UTC', date '2020-01-01', timestamp '2020-01-01 00:00', interval '1' day, interval '1-2' year to month, timestamptz '2020-01-01', time '10:00', interval(3) '1.5' FROM items
SELECT coalesce(a, g), coalesce(a, 1.5), coalesce(b, v), coalesce(NULL, a), coalesce(v, ch), nullif(a, 1), nullif(b, 'x'), nullif(v, 'x'), nullif(a, 1.5), coalesce('x', b), coalesce(NULL, NULL) FROM items
SELECT coalesce(a, b) FROM items
SELECT coalesce(a, 'x') FROM items
SELECT CASE WHEN a > 1 THEN 'x' ELSE b END, CASE a WHEN 1 THEN 1.5 ELSE 2 END, CASE WHEN bo THEN 1 END, CASE WHEN bo THEN NULL END, CASE b WHEN 'x' THEN a WHEN v THEN g END FROM items
SELECT CASE WHEN a THEN 1 END FROM items
SELECT CASE WHEN bo THEN 1 ELSE 'x' END FROM items
SELECT CASE WHEN bo THEN a ELSE b END FROM items
SELECT CASE a WHEN 'x' THEN 1 END FROM items
SELECT ARRAY[1, 2], ARRAY[1, 2.5], ARRAY['a', 'b'], ARRAY[[1,2],[3,4]], ARRAY[a, g], ARRAY[]::int[], ARRAY[NULL], ARRAY['1','2']::int[], '{1,2}'::int[], ARRAY[e, e], ARRAY[b, v], ARRAY[v], ARRAY[ch] FROM items
SELECT ARRAY[]
SELECT ARRAY[1, 'x']
SELECT ARRAY[1, now()]
SELECT ROW(1, 'a'), (1, 2), ROW(a, b) FROM items
SELECT (ROW(1, 2)).f1
SELECT (items).a, (i).b FROM items, items i
SELECT items FROM items
SELECT a IN (1, 2, 3), a IN (1, 2.5), a NOT IN (1, g), b IN ('x', 'y'), b IN ('x', v), a IN ('1', '2'), (a, b) IN ((1, 'x'), (2, 'y')), a IN (1) FROM items
SELECT a IN (1, 'x') FROM items
SELECT a IN ('x') FROM items
SELECT b IN (1, 2) FROM items
SELECT a BETWEEN 1 AND 2, a NOT BETWEEN 1 AND g, a BETWEEN SYMMETRIC 2 AND 1, d BETWEEN '2020-01-01' AND now(), b BETWEEN 'a' AND 'b' FROM items
SELECT b LIKE 'x%', b NOT LIKE 'x', b ILIKE 'x', b SIMILAR TO 'x', b ~ 'x', b !~* 'x', v LIKE 'x', ch LIKE 'x', b LIKE 'x' ESCAPE '!', nm LIKE 'x' FROM items
SELECT a LIKE 'x' FROM items
SELECT a IS NULL, b IS NOT NULL, bo IS TRUE, bo IS NOT UNKNOWN, a IS DISTINCT FROM 1, a IS NOT DISTINCT FROM NULL, (a, b) IS NULL, items IS NOT NULL, (a, b) IS DISTINCT FROM (1, 'x') FROM items
SELECT a IS TRUE FROM items
SELECT a = ANY(e), a = ANY('{1,2}'), b = ANY(ta), a > ALL(ARRAY[1,2]), a = ANY(ARRAY[1.5]), g = ANY(e), 'x' = ANY(ta), a <> ALL('{1}') FROM items
SELECT a = ANY(b) FROM items
SELECT a = ANY(ta) FROM items
SELECT (a, g) = (1, 2), (a, g) < (1, 2), (a, b) >= (1, 'x'), (a, b) <> (1, 'y'), ROW(a) = ROW(1) FROM items
SELECT (a, g) = (1, 2, 3) FROM items
SELECT NOT bo, bo AND true, bo OR a = 1, NOT a = 1 FROM items
SELECT NOT a FROM items
SELECT a AND bo FROM items
SELECT 'x' AND true
SELECT a::text, a::bigint, b::int, c::int, c::text, f::int, f::numeric, bo::int, a::bool, bo::text, d::date, d::text, dt::timestamptz, v::text, b::varchar(3), b::char(2), c::numeric(5,1), e::text, e::bigint[], ta::varchar[], u::text, b::bytea, js::bool, js::int, s::int, r::float8, '1'::int, '{"a":1}'::jsonb, CAST('5' AS bigint), int '5', a::oid, b::name, '1 day'::interval, 'items'::regclass, 'int4'::regtype FROM items
SELECT d::int FROM items
SELECT a::date FROM items
SELECT u::int FROM items
SELECT 'x'::int
SELECT 'x'::nosuch
SELECT 'x'::pg_catalog.nosuch
SELECT 'x'::nosuch.t
SELECT 'abc'::varchar(0)
SELECT 1::numeric(2000)
SELECT 1::int(3)
SELECT b COLLATE "C", b || b COLLATE "C" FROM items
SELECT a COLLATE "C" FROM items
SELECT count(*), count(a), sum(a), sum(g), sum(c), sum(f), sum(r), sum(s), avg(a), avg(f), avg(c), min(b), max(d), max(v), min(e), bool_and(bo), every(bo), string_agg(b, ','), string_agg(b, ',' ORDER BY a), array_agg(a), array_agg(e), array_agg(b ORDER BY a DESC), json_agg(a), jsonb_agg(js), jsonb_object_agg(a, b), json_object_agg(b, a), stddev(a), variance(c), var_pop(f), bit_and(a), corr(f, f), sum(iv), avg(iv), count(DISTINCT a), sum(DISTINCT c), count(*) FILTER (WHERE a > 1), percentile_cont(0.5) WITHIN GROUP (ORDER BY f), percentile_disc(0.5) WITHIN GROUP (ORDER BY b), mode() WITHIN GROUP (ORDER BY a), max(js ->> 'x') FROM items
SELECT sum(b) FROM items
SELECT max(js) FROM items
SELECT count() FROM items
SELECT sum(*) FROM items
SELECT sum(sum(a)) FROM items
SELECT count(*) FROM items WHERE count(*) > 1
SELECT a, count(*) FROM items
SELECT b, count(*) FROM items GROUP BY b
SELECT b, a FROM items GROUP BY b
SELECT a, b FROM items GROUP BY a
SELECT x, y, z FROM pairs GROUP BY x, y
SELECT x, z FROM pairs GROUP BY x
SELECT b || 'x', count(*) FROM items GROUP BY b || 'x'
SELECT upper(b) AS u, count(*) FROM items GROUP BY u
SELECT upper(b), count(*) FROM items GROUP BY 1
SELECT upper(b), count(*) FROM items GROUP BY 3
SELECT b, count(*) FROM items GROUP BY count(*)
SELECT b FROM items GROUP BY 'x'
SELECT j FROM items GROUP BY j
SELECT DISTINCT j FROM items
SELECT js FROM items GROUP BY js
SELECT b, v, count(*), grouping(b, v) FROM items GROUP BY ROLLUP(b, v)
SELECT b, v FROM items GROUP BY GROUPING SETS ((b), (v), ())
SELECT b, v, sum(a) FROM items GROUP BY CUBE(b, v) HAVING sum(a) > 1 ORDER BY b
SELECT grouping(a) FROM items GROUP BY b
SELECT b FROM items HAVING count(*) > 1
SELECT b FROM items GROUP BY b HAVING a > 1
SELECT 1 FROM items HAVING count(*) > 1
SELECT b FROM items GROUP BY b ORDER BY a
SELECT b FROM items GROUP BY b ORDER BY count(*) DESC, b
SELECT b, sum(a) FROM items GROUP BY b HAVING sum(a)
SELECT a FROM items ORDER BY 1, b DESC NULLS LAST, a + 1
SELECT a FROM items ORDER BY 2
SELECT a FROM items ORDER BY 'x'
SELECT a AS x, b AS x FROM items ORDER BY x
SELECT a AS k FROM items ORDER BY k + 1
SELECT a AS k FROM items WHERE k = 1
SELECT j FROM items ORDER BY j
SELECT a FROM items ORDER BY a USING >
SELECT DISTINCT b FROM items ORDER BY a
SELECT DISTINCT b FROM items ORDER BY b
SELECT DISTINCT ON (b) b, a FROM items ORDER BY b, a
SELECT DISTINCT ON (b) b, a FROM items ORDER BY a, b
SELECT DISTINCT ON (upper(b)) a FROM items
SELECT a FROM items LIMIT 1 OFFSET 2
SELECT a FROM items LIMIT 'x'
SELECT a FROM items LIMIT '5'
SELECT a FROM items LIMIT a
SELECT a FROM items LIMIT NULL OFFSET NULL
SELECT a FROM items FETCH FIRST 3 ROWS ONLY
SELECT a FROM items LIMIT $1 OFFSET $2
SELECT a FROM items WHERE a
SELECT a FROM items WHERE 'x'
SELECT a FROM items WHERE NULL
SELECT a FROM items WHERE bo
SELECT row_number() OVER (), rank() OVER (ORDER BY a), sum(a) OVER (PARTITION BY b ORDER BY a), lag(b) OVER w, lead(a, 2, 0) OVER w, first_value(b) OVER (w ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), ntile(4) OVER w, count(*) FILTER (WHERE bo) OVER w FROM items WINDOW w AS (PARTITION BY b ORDER BY a)
SELECT row_number() FROM items
SELECT a FROM items WHERE row_number() OVER () = 1
SELECT sum(a) OVER nope FROM items
SELECT upper(b) OVER () FROM items
SELECT sum(row_number() OVER ()) OVER () FROM items
SELECT sum(sum(a)) OVER () FROM items
SELECT b, rank() OVER (ORDER BY sum(a)) FROM items GROUP BY b
SELECT nosuch(a) FROM items
SELECT upper(a) FROM items
SELECT upper() FROM items
SELECT upper(b, b) FROM items
SELECT pg_catalog.upper(b) FROM items
SELECT nosuch.upper(b) FROM items
SELECT upper(DISTINCT b) FROM items
SELECT upper(b) FILTER (WHERE bo) FROM items
SELECT text(a), int4(c), numeric(a), float8(a), date(d), "varchar"(b), bool(a) FROM items
SELECT round(1), round(1.5), round(1.5::float8), round('1'), abs('1'), length('x'), sum('1') FROM items
SELECT jsonb_set(js, '{a}', '1'), jsonb_set(js, '{a}', '1', false), jsonb_build_object('a', a, 'b', b), jsonb_build_array(a, b), to_jsonb(a), to_jsonb(items), row_to_json(items), jsonb_path_query_array(js, '$.a'), jsonb_path_exists(js, '$.a', silent => true), jsonb_typeof(js), jsonb_array_length(js), jsonb_strip_nulls(js), jsonb_pretty(js), json_build_object(), jsonb_insert(js, '{a}', '1') FROM items
SELECT make_interval(days => 10), make_interval(10, 2), make_interval(hours => 1, mins => 2)
SELECT make_interval(nope => 1)
SELECT make_interval(days => 1, days => 2)
SELECT make_interval(days => 1, 2)
SELECT generate_series(1, 3), unnest(e) FROM items
SELECT a FROM items WHERE generate_series(1, 3) = 1
SELECT CASE WHEN true THEN generate_series(1, 2) END
SELECT coalesce(generate_series(1, 2), 1)
SELECT * FROM generate_series(1, 3)
SELECT * FROM generate_series(1, 3) AS g
SELECT g, g + 1 FROM generate_series(1, 3) g
SELECT n FROM generate_series(1::bigint, 3) AS t(n)
SELECT * FROM generate_series(1, 3) WITH ORDINALITY
SELECT * FROM generate_series(1, 3) WITH ORDINALITY AS t(a, b)
SELECT * FROM generate_series(1, 3) AS t(a, b)
SELECT * FROM jsonb_each('{"a":1}')
SELECT * FROM jsonb_each_text('{"a":1}') AS t(k, v)
SELECT key, value FROM items, jsonb_each(js)
SELECT i.a, t.* FROM items i, jsonb_array_elements(i.js -> 'x') AS t(elem)
SELECT i.a, elem FROM items i CROSS JOIN LATERAL jsonb_array_elements_text(i.js -> 'x') elem
SELECT value FROM jsonb_array_elements('[1]')
SELECT * FROM unnest(ARRAY[1,2], ARRAY['a','b']) AS t(x, y)
SELECT * FROM ROWS FROM (generate_series(1, 2), generate_series(1, 3)) AS t(a, b)
SELECT * FROM jsonb_to_recordset('[{"a":1}]') AS t(a int, b text)
SELECT * FROM jsonb_to_recordset('[{"a":1}]')
SELECT * FROM generate_series(1, 2) AS t(a int)
SELECT (jsonb_each(js)).key FROM items
SELECT (jsonb_each(js)).* FROM items
SELECT * FROM upper('x')
SELECT * FROM now() AS n
SELECT * FROM current_date
SELECT unnest(e), jsonb_object_keys(js) FROM items
SELECT regexp_split_to_table(b, ','), regexp_matches(b, 'x'), string_to_array(b, ','), array_length(e, 1), cardinality(e), array_append(e, 1), array_cat(e, e), array_to_string(e, ','), array_position(e, 1), array_remove(ta, 'x'), e @> ARRAY[1], e && '{1}', ta @> '{a}' FROM items
SELECT * FROM items, pairs
SELECT * FROM items JOIN pairs ON a = x
SELECT * FROM items i LEFT JOIN pairs p ON i.a = p.x AND p.y = 1
SELECT * FROM items JOIN pairs ON a
SELECT * FROM pairs JOIN pairs ON true
SELECT * FROM pairs p1 JOIN pairs p2 USING (x)
SELECT x, p1.x, p2.x, y FROM pairs p1 JOIN pairs p2 USING (x)
SELECT x FROM pairs p1 JOIN pairs p2 ON true
SELECT x, p1.y FROM pairs p1 FULL JOIN pairs p2 USING (x, y)
SELECT * FROM pairs p1 NATURAL JOIN pairs p2
SELECT * FROM pairs JOIN items USING (x)
SELECT * FROM (pairs JOIN items ON x = a) AS j
SELECT j.x, j.b FROM (pairs JOIN items ON x = a) AS j
SELECT pairs.x FROM (pairs JOIN items ON x = a) AS j
SELECT * FROM (pairs JOIN items ON x = a) AS j(one, two)
SELECT * FROM pairs p1 JOIN pairs p2 USING (x) AS u
SELECT u.x FROM pairs p1 JOIN pairs p2 USING (x) AS u
SELECT * FROM pairs p RIGHT JOIN items i ON i.a = p.x
SELECT * FROM (SELECT 1 AS a) x JOIN (SELECT 2 AS a) y USING (a)
SELECT * FROM (SELECT 1::bigint AS a) x JOIN (SELECT 2 AS a) y USING (a)
SELECT * FROM items i, (SELECT i.a) s
SELECT * FROM items i, LATERAL (SELECT i.a AS z) s
SELECT * FROM items i LEFT JOIN LATERAL (SELECT x FROM pairs WHERE x = i.a LIMIT 1) p ON true
SELECT * FROM items i RIGHT JOIN LATERAL (SELECT i.a) p ON true
SELECT * FROM items JOIN pairs ON items.a = nope.x
SELECT * FROM items a, pairs a
SELECT * FROM (SELECT a, b FROM items) AS s
SELECT s.a FROM (SELECT a, b FROM items) AS s(q)
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(n, t)
SELECT * FROM (VALUES (1), (2.5)) AS v
SELECT * FROM (VALUES (1), ('x')) AS v
VALUES (1, 'a'), (2, NULL)
VALUES (1), (2, 3)
VALUES (1), (2) ORDER BY 1 DESC LIMIT 1
VALUES (1), (2) ORDER BY column1
TABLE pairs
SELECT (SELECT 1), (SELECT b FROM items LIMIT 1), EXISTS (SELECT 1), ARRAY(SELECT a FROM items), a IN (SELECT x FROM pairs), a = ANY (SELECT x FROM pairs), a > ALL (SELECT y FROM pairs), (a, g) IN (SELECT x, y FROM pairs), (a, g) = (SELECT x, y FROM pairs LIMIT 1) FROM items
SELECT (SELECT 1, 2)
SELECT a IN (SELECT x, y FROM pairs) FROM items
SELECT (a, g) IN (SELECT x FROM pairs) FROM items
SELECT a IN (SELECT z FROM pairs) FROM items
SELECT (SELECT i.a), (SELECT count(*) FROM pairs WHERE x = i.a), (SELECT max(i.a) FROM pairs) FROM items i
SELECT (SELECT sum(x) FROM pairs WHERE z = i.b) FROM items i GROUP BY i.b
SELECT (SELECT sum(x) FROM pairs WHERE z = i.v) FROM items i GROUP BY i.b
SELECT (SELECT 'x')
SELECT 1 UNION SELECT 2
SELECT 1 UNION SELECT 2.5
SELECT 1 AS a UNION ALL SELECT 'x'
SELECT 'a' UNION SELECT 'b'
SELECT NULL UNION SELECT 1
SELECT NULL UNION SELECT NULL UNION SELECT 1
SELECT a, b FROM items INTERSECT SELECT x, z FROM pairs
SELECT a, b FROM items EXCEPT SELECT x FROM pairs
SELECT a FROM items UNION SELECT b FROM items
SELECT j FROM items UNION SELECT j FROM items
SELECT a AS k FROM items UNION SELECT x FROM pairs ORDER BY k
SELECT a AS k FROM items UNION SELECT x FROM pairs ORDER BY 1
SELECT a AS k FROM items UNION SELECT x FROM pairs ORDER BY k + 1
SELECT a AS k FROM items UNION SELECT x FROM pairs ORDER BY x
(SELECT a FROM items ORDER BY a LIMIT 1) UNION ALL (SELECT x FROM pairs) LIMIT 5
SELECT v FROM items UNION SELECT ch FROM items
SELECT v FROM items UNION SELECT v FROM items
VALUES (1) UNION VALUES (2.5)
SELECT 1 UNION VALUES ('2')
WITH w AS (SELECT a, b FROM items) SELECT * FROM w
WITH w(q) AS (SELECT a, b FROM items) SELECT q, b FROM w
WITH w(q, r, s) AS (SELECT a, b FROM items) SELECT * FROM w
WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS y FROM a) SELECT * FROM a, b
WITH w AS (SELECT 1), w AS (SELECT 2) SELECT * FROM w
WITH w AS (SELECT x FROM nope) SELECT * FROM w
WITH w AS (SELECT 1 AS a) SELECT (SELECT a FROM w) FROM w w2
WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 10) SELECT sum(n) FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1.5 FROM t) SELECT * FROM t
WITH RECURSIVE t(n) AS (SELECT n FROM t) SELECT * FROM t
WITH RECURSIVE t(n) AS (SELECT n FROM t UNION ALL SELECT 1) SELECT * FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT sum(n) FROM t) SELECT * FROM t
WITH t AS (SELECT n FROM t) SELECT * FROM t
WITH w AS MATERIALIZED (SELECT 1 AS a) SELECT a FROM w ORDER BY a
SELECT $1
SELECT $1::int, $2::text
SELECT $1 + 1, $2 || 'x', upper($3)
SELECT a FROM items WHERE a = $1 AND b = $2 AND d > $3
SELECT a FROM items WHERE a = ANY($1)
SELECT a FROM items WHERE a IN ($1, $2)
SELECT $1 = $2
SELECT $2::int
SELECT $1 IS NULL
SELECT $1 IS NULL, $1::int
SELECT $1::int, $1 || 'x'
SELECT $1 + $2
SELECT coalesce($1, a) FROM items
SELECT CASE WHEN $1 THEN $2 ELSE a END FROM items
SELECT js -> $1, js ->> $2, js @> $3 FROM items
SELECT $0
INSERT INTO items (a, b) VALUES (1, 'x')
INSERT INTO items (a, b) VALUES ($1, $2) RETURNING a, b AS bb, *
INSERT INTO items VALUES (1, 'x', 1.5)
INSERT INTO items (a) VALUES (1, 2)
INSERT INTO items (a, b) VALUES (1)
INSERT INTO items (a, nope) VALUES (1, 2)
INSERT INTO items (a, a) VALUES (1, 2)
INSERT INTO items (a, b) VALUES ('x', 1)
INSERT INTO items (a, b) VALUES (true, 1)
INSERT INTO items (a, d) VALUES (1, 2)
INSERT INTO items (a, v, bo) VALUES (1, DEFAULT, DEFAULT), (2, 'y', false)
INSERT INTO items (a, b) VALUES (1, 'x'), (2)
INSERT INTO items DEFAULT VALUES
INSERT INTO items (a, b) SELECT x, z FROM pairs
INSERT INTO items (a, b) SELECT x, 'lit' FROM pairs
INSERT INTO items (a, b) SELECT x, y FROM pairs
INSERT INTO items (a, d) SELECT x, '2020-01-01' FROM pairs
INSERT INTO items (a, d) SELECT x, z FROM pairs
INSERT INTO items (a, b) SELECT x FROM pairs
INSERT INTO items (a) SELECT x, y FROM pairs
INSERT INTO items (a, b) SELECT $1, $2
INSERT INTO orders VALUES ('orders/1-A', '{"x":1}') ON CONFLICT DO NOTHING
INSERT INTO orders VALUES ('orders/1-A', '{"x":1}') ON CONFLICT (id) DO UPDATE SET doc = EXCLUDED.doc || orders.doc WHERE orders.doc <> EXCLUDED.doc RETURNING *
INSERT INTO orders VALUES ('orders/1-A', '{"x":1}') ON CONFLICT (id) DO UPDATE SET doc = doc
INSERT INTO orders VALUES ('orders/1-A', '{"x":1}') ON CONFLICT (doc) DO NOTHING
INSERT INTO orders VALUES ('orders/1-A', '{"x":1}') ON CONFLICT (nope) DO NOTHING
INSERT INTO orders VALUES ('orders/1-A', '{"x":1}') ON CONFLICT ON CONSTRAINT orders_pkey DO NOTHING
INSERT INTO orders VALUES ('orders/1-A', '{"x":1}') ON CONFLICT ON CONSTRAINT nope DO NOTHING
INSERT INTO orders VALUES ('orders/1-A', '{"x":1}') ON CONFLICT DO UPDATE SET doc = '{}'
INSERT INTO pairs VALUES (1, 2, 'x') ON CONFLICT (y, x) DO UPDATE SET z = EXCLUDED.z
INSERT INTO nope VALUES (1)
INSERT INTO orders AS o VALUES ('a', '{}') RETURNING o.id
INSERT INTO orders AS o VALUES ('a', '{}') RETURNING orders.id
INSERT INTO orders VALUES ('a', '{x}')
WITH w AS (SELECT 1 AS a) INSERT INTO items (a) SELECT a FROM w
UPDATE items SET b = 'x', a = a + 1 WHERE a = 1
UPDATE items SET nope = 1
UPDATE items SET a = 'x'
UPDATE items SET a = b
UPDATE items SET b = 1
UPDATE items SET a = 1, a = 2
UPDATE items SET (a, b) = (1, 'x')
UPDATE items SET (a, b) = (1, 'x', 2)
UPDATE items SET (a, b) = (SELECT x, z FROM pairs LIMIT 1)
UPDATE items SET (a, b) = (SELECT x FROM pairs LIMIT 1)
UPDATE items SET b = DEFAULT, v = DEFAULT
UPDATE items SET js['a'] = '1', js['b']['c'] = '"x"'
UPDATE items SET e[1] = 5, e[2:3] = '{1,2}'
UPDATE items SET e[1] = 'x'
UPDATE items SET e[1] = now()
UPDATE items i SET b = p.z FROM pairs p WHERE p.x = i.a RETURNING i.a, p.z
UPDATE items i SET i.b = 'x'
UPDATE items SET b = z FROM pairs WHERE x = items.a
UPDATE items SET b = $1 WHERE a = $2
UPDATE items SET c = c * 1.1 WHERE count(*) > 1
UPDATE items SET c = sum(a)
UPDATE orders SET doc = jsonb_set(doc, '{a}', to_jsonb($1::int)) WHERE id = $2
UPDATE orders SET doc = doc || jsonb_build_object('n', (doc->>'n')::int + 1) WHERE id = 'orders/1-A'
DELETE FROM items WHERE a = 1 RETURNING *
DELETE FROM items USING pairs WHERE a = x AND y = $1
DELETE FROM items i WHERE EXISTS (SELECT 1 FROM pairs WHERE x = i.a)
DELETE FROM nope
DELETE FROM items WHERE nope = 1
SELECT a FROM items FOR UPDATE
SELECT a FROM items i FOR SHARE OF i NOWAIT
SELECT a FROM items FOR UPDATE OF nope
SELECT count(*) FROM items FOR UPDATE
SELECT DISTINCT a FROM items FOR UPDATE
SELECT a FROM items GROUP BY a FOR UPDATE
SELECT relname, oid, relkind FROM pg_class WHERE relname = 'items'
SELECT c.oid::regclass, n.nspname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r','p','') AND n.nspname !~ '^pg_toast' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1,2
SELECT table_name FROM information_schema.tables
SELECT d.datname as "Name", pg_catalog.pg_get_userbyid(d.datdba) as "Owner", pg_catalog.array_to_string(d.datacl, E'\n') AS "Access privileges" FROM pg_catalog.pg_database d ORDER BY 1
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull, a.attidentity FROM pg_catalog.pg_attribute a WHERE a.attrelid = '16384' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
SELECT oid = 'pg_class'::regclass, oid = 1259, relname = 'x', relname || 'x', relnamespace = 'pg_catalog'::regnamespace FROM pg_class
SELECT '{1,2}'::oidvector = '1 2', array_lower(indkey, 1) FROM pg_index
INSERT INTO pg_class (relname) VALUES ('x')
SELECT a FROM items i WHERE i.a = (SELECT max(a) FROM items)
SELECT max(a) AS m FROM items i WHERE m = 1
SELECT a.b.c.d.e FROM items
SELECT count(*) OVER (ORDER BY a RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM items
SELECT * 
SELECT
SELECT FROM items
SELECT array_agg(DISTINCT b ORDER BY b) FROM items
SELECT array_agg(DISTINCT b ORDER BY a) FROM items
SELECT count(DISTINCT (a, b)) FROM items
SELECT string_agg(DISTINCT b) FROM items
SELECT array_agg(j ORDER BY j) FROM items
SELECT sum(a ORDER BY b) FROM items
SELECT lower(b) = ANY(ARRAY['x', 'y']), b = ANY(ARRAY['x']::varchar[]) FROM items
SELECT substring('abc', 1, 2), substring('abc' similar 'a' escape '#'), '1' = 1, 'a' < 'b', '2020-01-01' < now(), 1 = '1', NULL = NULL, NULL + 1
SELECT 'a' + 'b'
SELECT -'1', - '1'::text
SELECT 1 <> 2, 1 != 2, 5 # 3, 5 & 3, ~5, 5 << 1, B'1' & B'0'
SELECT 1 ==> 2
SELECT 1 OPERATOR(pg_catalog.+) 2
SELECT 1 OPERATOR(nope.+) 2
SELECT num_nulls(1, NULL, 'x'), num_nonnulls(VARIADIC ARRAY[1,2])
SELECT concat(VARIADIC ARRAY['a','b'])
SELECT greatest(j, j) FROM items
SELECT jsonb_path_query(js, '$.a ? (@ > $x)', '{"x":1}') FROM items
SELECT version(), current_setting('x'), pg_typeof(a), pg_column_size(a), current_database(), has_table_privilege('x', 'y'), obj_description(1, 'x'), pg_backend_pid(), txid_current(), quote_ident(b), pg_size_pretty(1::bigint), set_config('a', 'b', false) FROM items
SELECT d.datname as "Name", pg_catalog.pg_get_userbyid(d.datdba) as "Owner", pg_catalog.pg_encoding_to_char(d.encoding) as "Encoding", d.datcollate as "Collate", d.datctype as "Ctype", d.daticulocale as "ICU Locale", CASE d.datlocprovider WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' END AS "Locale Provider", pg_catalog.array_to_string(d.datacl, E'\n') AS "Access privileges" FROM pg_catalog.pg_database d ORDER BY 1
SELECT n.nspname AS "Name", pg_catalog.pg_get_userbyid(n.nspowner) AS "Owner", pg_catalog.array_to_string(n.nspacl, E'\n') AS "Access privileges", pg_catalog.obj_description(n.oid, 'pg_namespace') AS "Description" FROM pg_catalog.pg_namespace n WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ORDER BY 1
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_catalog.pg_get_userbyid(c.relowner) as "Owner", CASE c.relpersistence WHEN 'p' THEN 'permanent' WHEN 't' THEN 'temporary' WHEN 'u' THEN 'unlogged' END as "Persistence", am.amname as "Access method", pg_catalog.pg_size_pretty(pg_catalog.pg_table_size(c.oid)) as "Size", pg_catalog.obj_description(c.oid, 'pg_class') as "Description" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam WHERE c.relkind IN ('r','p','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1,2
SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relname OPERATOR(pg_catalog.~) '^(items)$' COLLATE pg_catalog.default AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 2, 3
SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity, c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype = 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text END, c.relpersistence, c.relreplident, am.amname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_class tc ON (c.reltoastrelid = tc.oid) LEFT JOIN pg_catalog.pg_am am ON (c.relam = am.oid) WHERE c.oid = '16384'
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation, a.attidentity, a.attgenerated FROM pg_catalog.pg_attribute a WHERE a.attrelid = '16384' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
SELECT c2.relname, i.indisprimary, i.indisunique, i.indisclustered, i.indisvalid, pg_catalog.pg_get_indexdef(i.indexrelid, 0, true), pg_catalog.pg_get_constraintdef(con.oid, true), contype, condeferrable, condeferred, i.indisreplident, c2.reltablespace FROM pg_catalog.pg_class c, pg_catalog.pg_class c2, pg_catalog.pg_index i LEFT JOIN pg_catalog.pg_constraint con ON (conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x')) WHERE c.oid = '16384' AND c.oid = i.indrelid AND i.indexrelid = c2.oid ORDER BY i.indisprimary DESC, c2.relname
SELECT r.conname, pg_catalog.pg_get_constraintdef(r.oid, true) FROM pg_catalog.pg_constraint r WHERE r.conrelid = '16384' AND r.contype = 'c' ORDER BY 1
SELECT pol.polname, pol.polpermissive, CASE WHEN pol.polroles = '{0}' THEN NULL ELSE pg_catalog.array_to_string(array(select rolname from pg_catalog.pg_roles where oid = any (pol.polroles) order by 1),',') END, pg_catalog.pg_get_expr(pol.polqual, pol.polrelid), pg_catalog.pg_get_expr(pol.polwithcheck, pol.polrelid), CASE pol.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' END AS cmd FROM pg_catalog.pg_policy pol WHERE pol.polrelid = '16384' ORDER BY 1
SELECT oid, stxrelid::pg_catalog.regclass, stxnamespace::pg_catalog.regnamespace::pg_catalog.text AS nsp, stxname, pg_catalog.pg_get_statisticsobjdef_columns(oid) AS columns, 'd' = any(stxkind) AS ndist_enabled, 'f' = any(stxkind) AS deps_enabled, 'm' = any(stxkind) AS mcv_enabled, stxstattarget FROM pg_catalog.pg_statistic_ext WHERE stxrelid = '16384' ORDER BY nsp, stxname
SELECT pubname , NULL , NULL FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_namespace pn ON p.oid = pn.pnpubid JOIN pg_catalog.pg_class pc ON pc.relnamespace = pn.pnnspid WHERE pc.oid ='16384' and pg_catalog.pg_relation_is_publishable('16384') UNION SELECT pubname , pg_get_expr(pr.prqual, c.oid) , (CASE WHEN pr.prattrs IS NOT NULL THEN (SELECT string_agg(attname, ', ') FROM pg_catalog.generate_series(0, pg_catalog.array_upper(pr.prattrs::pg_catalog.int2[], 1)) s, pg_catalog.pg_attribute WHERE attrelid = pr.prrelid AND attnum = prattrs[s]) ELSE NULL END) FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_rel pr ON p.oid = pr.prpubid JOIN pg_catalog.pg_class c ON c.oid = pr.prrelid WHERE pr.prrelid = '16384' UNION SELECT pubname , NULL , NULL FROM pg_catalog.pg_publication p WHERE p.puballtables AND pg_catalog.pg_relation_is_publishable('16384') ORDER BY 1
SELECT c.oid::pg_catalog.regclass FROM pg_catalog.pg_class c, pg_catalog.pg_inherits i WHERE c.oid = i.inhparent AND i.inhrelid = '16384' AND c.relkind != 'p' AND c.relkind != 'I' ORDER BY inhseqno
SELECT c.oid::pg_catalog.regclass, c.relkind, inhdetachpending, pg_catalog.pg_get_expr(c.relpartbound, c.oid) FROM pg_catalog.pg_class c, pg_catalog.pg_inherits i WHERE c.oid = i.inhrelid AND i.inhparent = '16384' ORDER BY pg_catalog.pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', c.oid::pg_catalog.regclass::pg_catalog.text
SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity, c.relforcerowsecurity, false AS relhasoids, c.relispartition, pg_catalog.array_to_string(c.reloptions || array(select 'toast.' || x from pg_catalog.unnest(tc.reloptions) x), ', ') , c.reltablespace, CASE WHEN c.reloftype = 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text END, c.relpersistence, c.relreplident, am.amname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_class tc ON (c.reltoastrelid = tc.oid) LEFT JOIN pg_catalog.pg_am am ON (c.relam = am.oid) WHERE c.oid = '16384'
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation, a.attidentity, a.attgenerated, a.attstorage, a.attcompression AS attcompression, CASE WHEN a.attstattarget=-1 THEN NULL ELSE a.attstattarget END AS attstattarget, pg_catalog.col_description(a.attrelid, a.attnum) FROM pg_catalog.pg_attribute a WHERE a.attrelid = '16384' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
SELECT r.rolname, r.rolsuper, r.rolinherit, r.rolcreaterole, r.rolcreatedb, r.rolcanlogin, r.rolconnlimit, r.rolvaliduntil, ARRAY(SELECT b.rolname FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles b ON (m.roleid = b.oid) WHERE m.member = r.oid) as memberof , pg_catalog.shobj_description(r.oid, 'pg_authid') AS description , r.rolreplication , r.rolbypassrls FROM pg_catalog.pg_roles r WHERE r.rolname !~ '^pg_' ORDER BY 1
SELECT n.nspname as "Schema", p.proname as "Name", pg_catalog.pg_get_function_result(p.oid) as "Result data type", pg_catalog.pg_get_function_arguments(p.oid) as "Argument data types", CASE p.prokind WHEN 'a' THEN 'agg' WHEN 'w' THEN 'window' WHEN 'p' THEN 'proc' ELSE 'func' END as "Type" FROM pg_catalog.pg_proc p LEFT JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE p.proname OPERATOR(pg_catalog.~) '^(sum)$' COLLATE pg_catalog.default AND pg_catalog.pg_function_is_visible(p.oid) ORDER BY 1, 2, 4
SELECT n.nspname as "Schema", pg_catalog.format_type(t.oid, NULL) AS "Name", pg_catalog.obj_description(t.oid, 'pg_type') as "Description" FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE (t.typrelid = 0 OR (SELECT c.relkind = 'c' FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid)) AND NOT EXISTS(SELECT 1 FROM pg_catalog.pg_type el WHERE el.oid = t.typelem AND el.typarray = t.oid) AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_catalog.pg_type_is_visible(t.oid) ORDER BY 1, 2
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_catalog.pg_get_userbyid(c.relowner) as "Owner", c2.relname as "Table", CASE c.relpersistence WHEN 'p' THEN 'permanent' WHEN 't' THEN 'temporary' WHEN 'u' THEN 'unlogged' END as "Persistence", am.amname as "Access method", pg_catalog.pg_size_pretty(pg_catalog.pg_table_size(c.oid)) as "Size", pg_catalog.obj_description(c.oid, 'pg_class') as "Description" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_catalog.pg_class c2 ON i.indrelid = c2.oid WHERE c.relkind IN ('i','I','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1,2
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_catalog.pg_get_userbyid(c.relowner) as "Owner" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('v','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1,2
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' END as "Type", pg_catalog.array_to_string(c.relacl, E'\n') AS "Access privileges", pg_catalog.array_to_string(ARRAY( SELECT attname || E':\n  ' || pg_catalog.array_to_string(attacl, E'\n  ') FROM pg_catalog.pg_attribute a WHERE attrelid = c.oid AND NOT attisdropped AND attacl IS NOT NULL ), E'\n') AS "Column privileges", pg_catalog.array_to_string(ARRAY( SELECT polname || CASE WHEN NOT polpermissive THEN E' (RESTRICTIVE)' ELSE '' END || CASE WHEN polcmd != '*' THEN E' (' || polcmd::pg_catalog.text || E'):' ELSE E':' END || CASE WHEN polqual IS NOT NULL THEN E'\n  (u): ' || pg_catalog.pg_get_expr(polqual, polrelid) ELSE E'' END || CASE WHEN polwithcheck IS NOT NULL THEN E'\n  (c): ' || pg_catalog.pg_get_expr(polwithcheck, polrelid) ELSE E'' END    || CASE WHEN polroles <> '{0}' THEN E'\n  to: ' || pg_catalog.array_to_string( ARRAY( SELECT rolname FROM pg_catalog.pg_roles WHERE oid = ANY (polroles) ORDER BY 1 ), E', ') ELSE E'' END FROM pg_catalog.pg_policy pol WHERE polrelid = c.oid), E'\n') AS "Policies" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r','v','m','S','f','p') AND n.nspname !~ '^pg_' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1, 2
SELECT n.nspname as "Schema", p.proname AS "Name", pg_catalog.format_type(p.prorettype, NULL) AS "Result data type", CASE WHEN p.pronargs = 0 THEN CAST('*' AS pg_catalog.text) ELSE pg_catalog.pg_get_function_arguments(p.oid) END AS "Argument data types", pg_catalog.obj_description(p.oid, 'pg_proc') as "Description" FROM pg_catalog.pg_proc p LEFT JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE p.prokind = 'a' AND p.proname OPERATOR(pg_catalog.~) '^(sum)$' COLLATE pg_catalog.default AND pg_catalog.pg_function_is_visible(p.oid) ORDER BY 1, 2, 4
SELECT n.nspname as "Schema", o.oprname AS "Name", CASE WHEN o.oprkind='l' THEN NULL ELSE pg_catalog.format_type(o.oprleft, NULL) END AS "Left arg type", CASE WHEN o.oprkind='r' THEN NULL ELSE pg_catalog.format_type(o.oprright, NULL) END AS "Right arg type", pg_catalog.format_type(o.oprresult, NULL) AS "Result type", coalesce(pg_catalog.obj_description(o.oid, 'pg_operator'), pg_catalog.obj_description(o.oprcode, 'pg_proc')) AS "Description" FROM pg_catalog.pg_operator o LEFT JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace WHERE o.oprname OPERATOR(pg_catalog.~) E'^(\\+)$' COLLATE pg_catalog.default AND pg_catalog.pg_operator_is_visible(o.oid) ORDER BY 1, 2, 3, 4
SELECT pg_catalog.format_type(castsource, NULL) AS "Source type", pg_catalog.format_type(casttarget, NULL) AS "Target type", CASE WHEN c.castmethod = 'b' THEN '(binary coercible)' WHEN c.castmethod = 'i' THEN '(with inout)' ELSE p.proname END AS "Function", CASE WHEN c.castcontext = 'e' THEN 'no' WHEN c.castcontext = 'a' THEN 'in assignment' ELSE 'yes' END AS "Implicit?" FROM pg_catalog.pg_cast c LEFT JOIN pg_catalog.pg_proc p ON c.castfunc = p.oid LEFT JOIN pg_catalog.pg_type ts ON c.castsource = ts.oid LEFT JOIN pg_catalog.pg_namespace ns ON ns.oid = ts.typnamespace LEFT JOIN pg_catalog.pg_type tt ON c.casttarget = tt.oid LEFT JOIN pg_catalog.pg_namespace nt ON nt.oid = tt.typnamespace WHERE ( (true  AND pg_catalog.pg_type_is_visible(ts.oid) ) OR (true  AND pg_catalog.pg_type_is_visible(tt.oid) ) ) ORDER BY 1, 2
SELECT e.extname AS "Name", e.extversion AS "Version", n.nspname AS "Schema", c.description AS "Description" FROM pg_catalog.pg_extension e LEFT JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace LEFT JOIN pg_catalog.pg_description c ON c.objoid = e.oid AND c.classoid = 'pg_catalog.pg_extension'::pg_catalog.regclass ORDER BY 1
SELECT spcname AS "Name", pg_catalog.pg_get_userbyid(spcowner) AS "Owner", pg_catalog.pg_tablespace_location(oid) AS "Location" FROM pg_catalog.pg_tablespace ORDER BY 1
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_catalog.pg_get_userbyid(c.relowner) as "Owner" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('S','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1,2
SELECT s.name AS "Parameter", pg_catalog.current_setting(s.name) AS "Value" FROM pg_catalog.pg_settings s WHERE pg_catalog.lower(s.name) OPERATOR(pg_catalog.~) '^(work_mem)$' COLLATE pg_catalog.default ORDER BY 1
SELECT l.lanname AS "Name", pg_catalog.pg_get_userbyid(l.lanowner) as "Owner", l.lanpltrusted AS "Trusted", d.description AS "Description" FROM pg_catalog.pg_language l LEFT JOIN pg_catalog.pg_description d ON d.classoid = l.tableoid AND d.objoid = l.oid AND d.objsubid = 0 WHERE l.lanplcallfoid != 0 ORDER BY 1
SELECT n.nspname AS "Schema", c.collname AS "Name", c.collcollate AS "Collate", c.collctype AS "Ctype", c.colliculocale AS "ICU Locale", CASE c.collprovider WHEN 'd' THEN 'default' WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' END AS "Provider", CASE WHEN c.collisdeterministic THEN 'yes' ELSE 'no' END AS "Deterministic?" FROM pg_catalog.pg_collation c, pg_catalog.pg_namespace n WHERE n.oid = c.collnamespace AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND c.collencoding IN (-1, pg_catalog.pg_char_to_encoding(pg_catalog.getdatabaseencoding())) AND pg_catalog.pg_collation_is_visible(c.oid) ORDER BY 1, 2
SELECT DISTINCT tt.nspname AS "Schema", tt.name AS "Name", tt.object AS "Object", d.description AS "Description" FROM ( SELECT pgc.oid as oid, pgc.tableoid AS tableoid, n.nspname as nspname, CAST(pgc.conname AS pg_catalog.text) as name,  CAST('table constraint' AS pg_catalog.text) as object FROM pg_catalog.pg_constraint pgc JOIN pg_catalog.pg_class c ON c.oid = pgc.conrelid LEFT JOIN pg_catalog.pg_namespace n     ON n.oid = c.relnamespace WHERE n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid) UNION ALL SELECT pgc.oid as oid, pgc.tableoid AS tableoid, n.nspname as nspname, CAST(pgc.conname AS pg_catalog.text) as name,  CAST('domain constraint' AS pg_catalog.text) as object FROM pg_catalog.pg_constraint pgc JOIN pg_catalog.pg_type t ON t.oid = pgc.contypid LEFT JOIN pg_catalog.pg_namespace n     ON n.oid = t.typnamespace WHERE n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_catalog.pg_type_is_visible(t.oid) UNION ALL SELECT o.oid as oid, o.tableoid as tableoid, n.nspname as nspname, CAST(o.opcname AS pg_catalog.text) as name, CAST('operator class' AS pg_catalog.text) as object FROM pg_catalog.pg_opclass o JOIN pg_catalog.pg_am am ON o.opcmethod = am.oid JOIN pg_catalog.pg_namespace n ON n.oid = o.opcnamespace AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_catalog.pg_opclass_is_visible(o.oid) UNION ALL SELECT opf.oid as oid, opf.tableoid as tableoid, n.nspname as nspname, CAST(opf.opfname AS pg_catalog.text) AS name, CAST('operator family' AS pg_catalog.text) as object FROM pg_catalog.pg_opfamily opf JOIN pg_catalog.pg_am am ON opf.opfmethod = am.oid JOIN pg_catalog.pg_namespace n ON opf.opfnamespace = n.oid AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_catalog.pg_opfamily_is_visible(opf.oid) UNION ALL SELECT r.oid as oid, r.tableoid as tableoid, n.nspname as nspname, CAST(r.rulename AS pg_catalog.text) as name,  CAST('rule' AS pg_catalog.text) as object FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_class c ON c.oid = r.ev_class LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE r.rulename != '_RETURN' AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid) UNION ALL SELECT t.oid as oid, t.tableoid as tableoid, n.nspname as nspname, CAST(t.tgname AS pg_catalog.text) as name,  CAST('trigger' AS pg_catalog.text) as object FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid) ) AS tt JOIN pg_catalog.pg_description d ON (tt.oid = d.objoid AND tt.tableoid = d.classoid AND d.objsubid = 0) ORDER BY 1, 2, 3
SELECT 'now'::pg_catalog.regproc::pg_catalog.oid
SELECT pg_catalog.pg_get_functiondef(1299)
SELECT n.nspname as "Schema", t.typname as "Name", pg_catalog.format_type(t.typbasetype, t.typtypmod) as "Type", (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type bt WHERE c.oid = t.typcollation AND bt.oid = t.typbasetype AND t.typcollation <> bt.typcollation) as "Collation", CASE WHEN t.typnotnull THEN 'not null' END as "Nullable", t.typdefault as "Default", pg_catalog.array_to_string(ARRAY( SELECT pg_catalog.pg_get_constraintdef(r.oid, true) FROM pg_catalog.pg_constraint r WHERE t.oid = r.contypid ), ' ') as "Check" FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE t.typtype = 'd' AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_catalog.pg_type_is_visible(t.oid) ORDER BY 1, 2
SELECT evtname as "Name", evtevent as "Event", pg_catalog.pg_get_userbyid(e.evtowner) as "Owner", case evtenabled when 'O' then 'enabled'  when 'R' then 'replica'  when 'A' then 'always'  when 'D' then 'disabled' end as "Enabled", e.evtfoid::pg_catalog.regproc as "Function", pg_catalog.array_to_string(array(select x from pg_catalog.unnest(evttags) as t(x)), ', ') as "Tags" FROM pg_catalog.pg_event_trigger e ORDER BY 1
SELECT s.srvname AS "Name", pg_catalog.pg_get_userbyid(s.srvowner) AS "Owner", f.fdwname AS "Foreign-data wrapper" FROM pg_catalog.pg_foreign_server s JOIN pg_catalog.pg_foreign_data_wrapper f ON f.oid=s.srvfdw ORDER BY 1
SELECT pubname AS "Name", pg_catalog.pg_get_userbyid(pubowner) AS "Owner", puballtables AS "All tables", pubinsert AS "Inserts", pubupdate AS "Updates", pubdelete AS "Deletes", pubtruncate AS "Truncates", pubviaroot AS "Via root" FROM pg_catalog.pg_publication ORDER BY 1
SELECT pg_catalog.pg_get_userbyid(d.defaclrole) AS "Owner", n.nspname AS "Schema", CASE d.defaclobjtype WHEN 'r' THEN 'table' WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'function' WHEN 'T' THEN 'type' WHEN 'n' THEN 'schema' END AS "Type", pg_catalog.array_to_string(d.defaclacl, E'\n') AS "Access privileges" FROM pg_catalog.pg_default_acl d LEFT JOIN pg_catalog.pg_namespace n ON n.oid = d.defaclnamespace ORDER BY 1, 2, 3
SELECT rolname AS "Role", datname AS "Database", pg_catalog.array_to_string(setconfig, E'\n') AS "Settings" FROM pg_catalog.pg_db_role_setting s LEFT JOIN pg_catalog.pg_database d ON d.oid = setdatabase LEFT JOIN pg_catalog.pg_roles r ON r.oid = setrole ORDER BY 1, 2
SELECT n.nspname AS table_schem, c.relname, CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW' ELSE NULL END AS table_type, d.description AS remarks FROM pg_catalog.pg_namespace n, pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_description d ON (c.oid = d.objoid AND d.objsubid = 0 and d.classoid = 'pg_class'::regclass) WHERE c.relnamespace = n.oid AND n.nspname LIKE 'public' ORDER BY table_type, 1, 2
SELECT * FROM (SELECT n.nspname, c.relname, a.attname, a.atttypid, a.attnotnull OR (t.typtype = 'd' AND t.typnotnull) AS attnotnull, a.atttypmod, a.attlen, t.typtypmod, row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum) AS attnum, nullif(a.attidentity, '') as attidentity, nullif(a.attgenerated, '') as attgenerated, pg_catalog.pg_get_expr(def.adbin, def.adrelid) AS adsrc, dsc.description, t.typbasetype, t.typtype FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON (c.relnamespace = n.oid) JOIN pg_catalog.pg_attribute a ON (a.attrelid = c.oid) JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid) LEFT JOIN pg_catalog.pg_attrdef def ON (a.attrelid = def.adrelid AND a.attnum = def.adnum) LEFT JOIN pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid) LEFT JOIN pg_catalog.pg_class dc ON (dc.oid = dsc.classoid AND dc.relname = 'pg_class') LEFT JOIN pg_catalog.pg_namespace dn ON (dc.relnamespace = dn.oid AND dn.nspname = 'pg_catalog') WHERE c.relkind in ('r','p','v','f','m') and a.attnum > 0 AND NOT a.attisdropped AND n.nspname LIKE 'public') c WHERE true ORDER BY nspname, c.relname, attnum
SELECT result.table_cat, (result.keys).n AS keyseq, (information_schema._pg_expandarray(ARRAY[1,2])).x FROM (SELECT 1 AS table_cat, information_schema._pg_expandarray(i.indkey) AS keys FROM pg_index i) result
SELECT doc->>'Customer' AS c, count(*) AS n, sum((doc->>'Total')::numeric) FROM orders WHERE doc->'Lines' @> '[{"Product":"products/1-A"}]' GROUP BY doc->>'Customer' HAVING count(*) > 1 ORDER BY n DESC, c LIMIT 10
SELECT o.id, l->>'Product', (l->>'Quantity')::int FROM orders o, jsonb_array_elements(o.doc->'Lines') l WHERE (l->>'Quantity')::int > 5
SELECT p.id, dep FROM orders p CROSS JOIN LATERAL jsonb_array_elements_text(p.doc->'Depends') AS dep GROUP BY p.id, dep
SELECT count(*), avg((doc->>'size')::bigint), max(length(doc->>'d')) FROM orders WHERE doc ? 'size' AND doc->>'section' = ANY('{a,b}')
SELECT doc #>> '{Address,City}', doc['Address']['City'], jsonb_path_query_first(doc, '$.Lines[*] ? (@.q > 1)') FROM orders ORDER BY doc -> 'x', id
SELECT DISTINCT doc->>'x' FROM orders ORDER BY doc->>'x'
SELECT date_trunc('month', (doc->>'at')::timestamptz) AS m, count(*) FROM orders GROUP BY m ORDER BY m
SELECT count(*) FROM orders WHERE doc->>'a' LIKE 'x%' AND NOT (doc->>'b' IS NULL) AND (doc->'n')::int BETWEEN 1 AND 5
UPDATE orders SET doc = doc - 'x' || '{"y": 1}', doc = '{}'
UPDATE orders SET doc['Total'] = to_jsonb(1.5) WHERE id = $1 RETURNING doc['Total']
UPDATE orders AS o SET doc = jsonb_set(o.doc, '{n}', to_jsonb(s.n)) FROM (SELECT id, count(*) AS n FROM orders GROUP BY id) s WHERE s.id = o.id
INSERT INTO orders SELECT 'orders/' || g || '-A', jsonb_build_object('n', g) FROM generate_series(1, 10) g
INSERT INTO orders (doc, id) SELECT to_jsonb(t) - 'a', 'x' || t.a FROM items t
SELECT sum(x) FILTER (WHERE y > 1), count(*) FILTER (WHERE z = 'a') FROM pairs
SELECT x, sum(y) OVER w, row_number() OVER (w ORDER BY y) FROM pairs WINDOW w AS (PARTITION BY x)
SELECT * FROM pairs p JOIN LATERAL (SELECT * FROM items i WHERE i.a = p.x ORDER BY i.a DESC LIMIT 1) q ON true WHERE p.y > 0
SELECT x FROM pairs WHERE (x, y) IN (SELECT a, s FROM items) OR y = ANY (ARRAY(SELECT a FROM items))
SELECT array_agg(x ORDER BY y), array_agg(DISTINCT z), jsonb_agg(jsonb_build_object('x', x) ORDER BY x), json_object_agg(z, x) FROM pairs
SELECT (SELECT json_agg(t) FROM (SELECT x, y FROM pairs) t)
SELECT row_to_json(t) FROM (SELECT x, y FROM pairs) t
SELECT to_jsonb(p) ->> 'x', p.* FROM pairs p
SELECT (p).x, (p).*, (SELECT p.x) FROM pairs p
SELECT 1 WHERE 1 = 1 AND $1::text = ANY ($2)
SELECT * FROM pairs WHERE x = $1::bigint AND y > $2 - 1 AND z LIKE $3 || '%' LIMIT $4
SELECT $1::jsonb -> 'a', $2::timestamptz + interval '1 day', extract(epoch from $3::interval)
SELECT interval '1 hour' * $1, $2 * 2.5, now() - $3, date '2020-01-01' + $4
SELECT lower($1), length($2), $3 LIKE 'x', $4 ~ $5, substring($6, 1, 2), round($7), abs($8)
SELECT to_char($1, 'x')
SELECT $1 || $2
SELECT ARRAY[$1, $2], ARRAY[$3, 1], $4 = ANY(ARRAY[1,2]), unnest($5::int[])
SELECT nullif($1, ''), coalesce($2, 'x'), greatest($3, 1), CASE $4 WHEN 1 THEN 2 END
SELECT a FROM items GROUP BY a HAVING a > 1 FOR SHARE
SELECT a FROM items HAVING true FOR KEY SHARE
SELECT row_number() OVER () FROM items FOR NO KEY UPDATE
SELECT generate_series(1, a) FROM items FOR UPDATE
SELECT a FROM items UNION SELECT x FROM pairs FOR UPDATE
(SELECT a FROM items FOR SHARE) UNION SELECT x FROM pairs
SELECT a FROM items UNION ALL (SELECT x FROM pairs FOR NO KEY UPDATE)
SELECT a FROM items FOR UPDATE OF public.items
SELECT a FROM items i FOR UPDATE OF items
SELECT a, x FROM items, pairs FOR UPDATE OF items, zz
SELECT a, x FROM items, pairs FOR UPDATE OF items FOR SHARE OF pairs SKIP LOCKED
SELECT a FROM (items JOIN pairs ON a = x) j FOR UPDATE OF j
SELECT g FROM generate_series(1, 2) g FOR UPDATE OF g
SELECT g FROM generate_series(1, 2) g FOR UPDATE
WITH w AS (SELECT a FROM items) SELECT a FROM w FOR UPDATE
WITH w AS (SELECT a FROM items) SELECT a FROM w FOR UPDATE OF w
VALUES (1) FOR UPDATE
SELECT n FROM (VALUES (1)) v(n) FOR UPDATE OF v
SELECT a FROM (SELECT DISTINCT a FROM items) s FOR UPDATE
SELECT s.a FROM (SELECT DISTINCT a FROM items) s, pairs FOR UPDATE OF pairs
SELECT a FROM (SELECT count(*) AS a FROM items) s FOR UPDATE OF s
SELECT a FROM (SELECT a FROM items LIMIT 1) s FOR UPDATE
SELECT relname FROM pg_class FOR UPDATE OF pg_class
SELECT 1 FOR UPDATE
SELECT a FROM items WHERE a IN (SELECT x FROM pairs FOR UPDATE)
SELECT sum(a) FROM (SELECT a FROM items FOR UPDATE) s
INSERT INTO pairs (x, y) SELECT a, 1 FROM items FOR UPDATE
INSERT INTO pairs (x, y) VALUES (1, 1) FOR UPDATE
