INSERT INTO orders SELECT 'orders/' || i, jsonb_build_object('State', 'S' || i % 3, 'Total', i * 1.5, 'Tags', jsonb_build_array(i, 'x')), i FROM generate_series(1, 12) i
INSERT INTO lines SELECT 'orders/' || i, j, i * j * 0.50 FROM generate_series(1, 12) i, generate_series(1, 2) j WHERE i <> 5
SELECT count(*) FROM orders
SELECT id, n FROM orders WHERE id = 'orders/7'
SELECT id FROM orders WHERE id IN ('orders/1', 'orders/3', 'none') ORDER BY id
SELECT doc ->> 'State' AS s, count(*), sum(n), avg(n), min(id), max((doc ->> 'Total')::numeric) FROM orders GROUP BY 1 ORDER BY 1
SELECT doc ->> 'State', count(*) FROM orders GROUP BY 1 HAVING sum(n) > 24 ORDER BY 2 DESC, 1
SELECT id FROM orders ORDER BY id DESC LIMIT 3 OFFSET 1
SELECT id, n FROM orders ORDER BY n DESC LIMIT 2
SELECT DISTINCT doc ->> 'State' FROM orders ORDER BY 1
SELECT DISTINCT ON (doc ->> 'State') doc ->> 'State', n FROM orders ORDER BY 1, n DESC
SELECT count(DISTINCT doc ->> 'State'), count(*) FILTER (WHERE n > 6), string_agg(n::text, ',' ORDER BY n DESC) FROM orders
SELECT o.id, l.no, l.qty FROM orders o JOIN lines l ON l.order_id = o.id WHERE o.n < 3 ORDER BY 1, 2
SELECT o.id, count(l.no), sum(l.qty) FROM orders o LEFT JOIN lines l ON l.order_id = o.id AND l.no > 1 GROUP BY o.id ORDER BY o.id
SELECT o.id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM lines l WHERE l.order_id = o.id)
SELECT o.id FROM orders o WHERE o.id IN (SELECT order_id FROM lines WHERE qty > 9) ORDER BY 1
SELECT o.id, (SELECT max(qty) FROM lines l WHERE l.order_id = o.id) FROM orders o WHERE n BETWEEN 4 AND 6 ORDER BY 1
SELECT n FROM orders WHERE n > (SELECT avg(n) FROM orders) ORDER BY n
SELECT o.id, t.v FROM orders o, jsonb_array_elements_text(o.doc -> 'Tags') WITH ORDINALITY t(v, k) WHERE o.n = 3 ORDER BY t.k
SELECT n, sum(n) OVER (ORDER BY n), rank() OVER (PARTITION BY doc ->> 'State' ORDER BY n DESC), lag(n, 1, 0) OVER (ORDER BY n) FROM orders WHERE n < 7 ORDER BY n
SELECT n, avg(n) OVER (ORDER BY n ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) FROM orders WHERE n IN (1, 2, 4, 5, 9) ORDER BY n
SELECT doc ->> 'State', n % 2, count(*), grouping(doc ->> 'State', n % 2) FROM orders GROUP BY ROLLUP (doc ->> 'State', n % 2) ORDER BY 1, 2
WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < 5) SELECT i, o.id FROM t JOIN orders o ON o.n = t.i ORDER BY i
SELECT n FROM orders WHERE n < 3 UNION SELECT no FROM lines UNION ALL SELECT 100 ORDER BY 1
SELECT n FROM orders EXCEPT SELECT no FROM lines ORDER BY 1 LIMIT 2
SELECT generate_series(1, 3), generate_series(1, 2) + 10, 'x'
SELECT * FROM ROWS FROM (generate_series(1, 2), generate_series(5, 7)) AS t(a, b)
SELECT ARRAY(SELECT n FROM orders WHERE n < 4 ORDER BY n), (SELECT row(n, id)::text FROM orders WHERE n = 2)
SELECT CASE n % 3 WHEN 0 THEN 'zero' WHEN 1 THEN 'one' END, coalesce(nullif(n, 4), -1) FROM orders WHERE n IN (3, 4, 5) ORDER BY n
UPDATE orders SET n = n + 100, doc = jsonb_set(doc, '{State}', '"new"') WHERE n <= 2 RETURNING id, n, doc ->> 'State'
UPDATE orders SET doc['Total'] = '7' WHERE id = 'orders/3' RETURNING doc
UPDATE orders SET id = id || '-moved' WHERE n = 4 RETURNING id
SELECT id FROM orders WHERE id LIKE '%moved'
UPDATE orders o SET n = l.no FROM lines l WHERE l.order_id = o.id AND l.no = 2 AND o.id = 'orders/6' RETURNING o.id, o.n, l.qty
DELETE FROM lines WHERE order_id IN (SELECT id FROM orders WHERE n > 100) AND no = 1 AND qty < 1 RETURNING order_id, no
DELETE FROM lines l USING orders o WHERE o.id = l.order_id AND o.n = 2
INSERT INTO orders VALUES ('orders/9', '{}', 0)
INSERT INTO orders VALUES ('orders/9', '{}', 0), ('orders/99', '{}', 99) ON CONFLICT DO NOTHING RETURNING id
INSERT INTO orders VALUES ('orders/9', '{}', 5), ('orders/98', '{}', 98) ON CONFLICT (id) DO UPDATE SET n = orders.n + excluded.n RETURNING id, n
INSERT INTO orders VALUES ('a', '{}', 1), ('a', '{}', 2) ON CONFLICT (id) DO UPDATE SET n = excluded.n
INSERT INTO lines VALUES (NULL, 1, 1)
INSERT INTO lines VALUES ('o', 1, 1), ('o', 1, 2)
INSERT INTO orders SELECT id || '/copy', doc, n FROM orders WHERE n > 100
SELECT count(*), sum(n) FROM orders
SELECT order_id, no FROM lines WHERE (order_id, no) = ('orders/12', 2)
SELECT 1 / (n - 7) FROM orders WHERE n = 7
SELECT (SELECT n FROM orders)
DELETE FROM orders
SELECT count(*), max(n), array_agg(n) FROM orders
SELECT id FROM orders ORDER BY id LIMIT 1
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY i), mode() WITHIN GROUP (ORDER BY i % 3) FROM generate_series(1, 9) i
SELECT array_agg(DISTINCT i % 3 ORDER BY i % 3 DESC), sum(DISTINCT i % 4) FROM generate_series(1, 9) i
SELECT a.i, b.i FROM generate_series(1, 3) a(i) FULL JOIN generate_series(2, 4) b(i) USING (i) ORDER BY 1, 2
SELECT i, ntile(2) OVER (ORDER BY i), first_value(i) OVER w, last_value(i) OVER w, nth_value(i, 2) OVER w, percent_rank() OVER (ORDER BY i) FROM generate_series(1, 5) i WINDOW w AS (ORDER BY i GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING) ORDER BY i
SELECT i, count(*) FROM generate_series(1, 4) i GROUP BY GROUPING SETS ((i), ()) ORDER BY 1
SELECT (ARRAY[1,2,3])[2:], ARRAY[[1,2],[3,4]], (ARRAY[4,5,6])[2], ('{"a":[1,{"b":2}]}'::jsonb)['a'][1]['b']
SELECT 1 IN (SELECT generate_series(2, 3)), 1 NOT IN (SELECT NULL::int), NULL IN (SELECT 1 WHERE false), 3 > ALL (SELECT generate_series(1, 2))
SELECT x, y FROM (VALUES (1, 'a'), (2, NULL)) v(x, y) WHERE y IS DISTINCT FROM 'a'
SELECT * FROM jsonb_each('{"a": 1, "b": [2]}') WITH ORDINALITY ORDER BY 3
SELECT jsonb_each('{"a": 1}'), generate_series(1, 2)
SELECT * FROM (VALUES (1), (2)) a(i), LATERAL (SELECT i * 10 UNION ALL SELECT i * 100) b(j) ORDER BY 1, 2
SELECT 2147483647 + 1
SELECT (SELECT generate_series(1, 2))
SELECT i FROM generate_series(1, 3) i LIMIT -1
