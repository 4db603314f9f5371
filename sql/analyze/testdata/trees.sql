SELECT a, b FROM items WHERE a = 1
SELECT doc ->> 'Customer' FROM orders WHERE id IN ('a', 'b') AND doc @> '{"x":1}'
SELECT b, count(*), sum(c) FILTER (WHERE bo) FROM items GROUP BY b HAVING count(*) > 1 ORDER BY 2 DESC, max(a) LIMIT 3
SELECT string_agg(b, ',' ORDER BY a DESC), percentile_cont(0.5) WITHIN GROUP (ORDER BY f) FROM items
SELECT x, i.b FROM pairs p LEFT JOIN items i ON i.a = p.x
SELECT * FROM pairs p1 FULL JOIN pairs p2 USING (x)
SELECT i.a, t.k FROM items i, jsonb_each(i.js) WITH ORDINALITY AS t(k, v, n)
SELECT a FROM items i WHERE EXISTS (SELECT 1 FROM pairs WHERE x = i.a) AND a IN (SELECT x FROM pairs)
SELECT (SELECT max(i.a) FROM pairs) FROM items i
WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 10) SELECT n FROM t
SELECT a FROM items UNION SELECT 2.5 ORDER BY a
SELECT b, v, grouping(b, v) FROM items GROUP BY ROLLUP(b, v)
SELECT DISTINCT ON (b) b, a FROM items ORDER BY b, a DESC
SELECT sum(a) OVER (PARTITION BY b ORDER BY a ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM items
SELECT CASE a WHEN 1 THEN 'x' ELSE b END, js['a']['b'], e[1:2], b::varchar(3), e::text[], current_timestamp(3) FROM items
SELECT concat_ws(',', a, b), jsonb_build_object('a', a), make_interval(days => a) FROM items
INSERT INTO items (a, v, b) VALUES ($1, DEFAULT, 'x'), (2, 'y', $2) RETURNING a
INSERT INTO orders SELECT z, '{}' FROM pairs ON CONFLICT (id) DO UPDATE SET doc = orders.doc || EXCLUDED.doc WHERE orders.id <> 'x'
UPDATE items SET js['a'] = '1', js['b'] = '2', (a, b) = (SELECT x, z FROM pairs) WHERE a = 1
DELETE FROM items USING pairs WHERE a = x RETURNING b, y
SELECT a FROM items FOR UPDATE SKIP LOCKED
SELECT first_bucket, fragment FROM sherd.bucket_map WHERE first_bucket >= sherd.bucket('orders/1-A')
