-- rows
INSERT INTO customers SELECT 'customers/' || i || '-A', jsonb_build_object('Name', 'N' || i % 4, 'City', CASE WHEN i % 5 = 0 THEN NULL ELSE 'C' || i % 3 END), CASE WHEN i % 7 = 0 THEN NULL ELSE i END FROM generate_series(1, 12) i
INSERT INTO orders SELECT 'orders/' || i || '-A$customers/' || i % 9 || '-A', jsonb_build_object('Customer', 'customers/' || i % 9 || '-A', 'Total', i * 1.5, 'State', 'S' || i % 3, 'Tags', jsonb_build_array(i, 'x')) FROM generate_series(1, 40) i
INSERT INTO invoices SELECT 'invoices/' || i || '$customers/' || i % 11 || '-A', jsonb_build_object('Customer', 'customers/' || i % 11 || '-A', 'Sum', i) FROM generate_series(1, 20) i
INSERT INTO wide SELECT 'wide/' || i || '$customers/' || i % 6 || '-A', jsonb_build_object('Customer', 'customers/' || i % 6 || '-A', 'Sum', i) FROM generate_series(1, 15) i
INSERT INTO fresh SELECT 'fresh/' || i || '$customers/' || i % 6 || '-A', jsonb_build_object('Customer', 'customers/' || i % 6 || '-A', 'Sum', i) FROM generate_series(1, 12) i
INSERT INTO loose SELECT 'loose/' || i, jsonb_build_object('Customer', 'customers/' || i % 6 || '-A', 'Sum', i) FROM generate_series(1, 12) i
INSERT INTO places SELECT 'places/' || i || '$S' || i % 2 || 'C' || i % 3, jsonb_build_object('Address', jsonb_build_object('State', 'S' || i % 2, 'City', 'C' || i % 3), 'n', i) FROM generate_series(1, 12) i
INSERT INTO lines SELECT 'orders/' || i || '-A$customers/' || i % 9 || '-A', j, i * j * 0.50 FROM generate_series(1, 40) i, generate_series(1, 3) j WHERE i % 4 <> 0
INSERT INTO things SELECT i, 'thing' || i % 5, CASE WHEN i % 6 = 0 THEN NULL ELSE i % 4 END, i * 1000000000::bigint FROM generate_series(-3, 25) i
INSERT INTO readings SELECT 'd' || i % 4, i, i * 0.25 FROM generate_series(1, 24) i
INSERT INTO notes SELECT CASE WHEN i % 8 = 0 THEN NULL ELSE i % 5 END, 't' || i FROM generate_series(1, 20) i
-- keys
SELECT id FROM orders WHERE id = 'orders/7-A$customers/7-A'
SELECT id FROM orders WHERE id = NULL
SELECT id FROM orders WHERE id IN ('orders/7-A$customers/7-A', 'orders/8-A$customers/8-A', 'orders/7-A$customers/7-A', 'none')
SELECT id FROM orders WHERE id = 'orders/7-A$customers/7-A' OR id = 'orders/8-A$customers/8-A' OR 'orders/7-A$customers/7-A' = id
SELECT id FROM orders WHERE id = 'orders/7-A$customers/7-A' AND id = 'orders/8-A$customers/8-A'
SELECT id FROM orders WHERE (id = 'orders/7-A$customers/7-A' AND doc ->> 'State' = 'S1') OR (id = 'orders/8-A$customers/8-A' AND doc ->> 'State' = 'S0')
SELECT id FROM things WHERE id IN (1, 2, NULL)
SELECT id FROM things WHERE id = ANY ('{1,2,2,99}')
SELECT id FROM things WHERE id = ANY ('{1,2,4294967298}'::bigint[])
SELECT id FROM things WHERE id = 3::bigint
SELECT id FROM things WHERE id = 3.0
SELECT id FROM things WHERE id NOT IN (1, 2, 3) AND id < 6
SELECT * FROM lines WHERE order_id = 'orders/7-A$customers/7-A' AND no = 2
SELECT * FROM lines WHERE (order_id, no) IN (('orders/7-A$customers/7-A', 2), ('orders/9-A$customers/0-A', 1), ('orders/7-A$customers/7-A', 2))
SELECT * FROM lines WHERE order_id = 'orders/7-A$customers/7-A' AND no IN (1, 3)
SELECT * FROM readings WHERE device = 'd1' ORDER BY at
SELECT * FROM readings WHERE device = 'd1' AND at = 5
SELECT count(*) FROM readings WHERE device IN ('d1', 'd3')
SELECT count(*) FROM orders WHERE doc ->> 'Customer' = 'customers/3-A'
SELECT count(*) FROM orders WHERE doc ->> 'Customer' = 'CUSTOMERS/3-a'
SELECT count(*) FROM orders WHERE doc ->> 'Customer' ILIKE 'CUSTOMERS/3-a'
SELECT count(*) FROM orders WHERE doc -> 'Customer' = '"customers/3-A"'
SELECT count(*) FROM orders WHERE doc ->> 'Customer' IN ('customers/3-A', 'customers/4-A', 'zz')
SELECT count(*) FROM orders WHERE doc ->> 'Customer' = 'customers/3-A' OR doc ->> 'Customer' = 'customers/4-A'
SELECT count(*) FROM orders WHERE doc @> '{"Customer": "customers/3-A"}'
SELECT count(*) FROM wide WHERE doc ->> 'Customer' = 'customers/3-A'
SELECT count(*) FROM fresh WHERE doc ->> 'Customer' = 'customers/3-A'
SELECT count(*) FROM loose WHERE doc ->> 'Customer' = 'customers/3-A'
SELECT count(*) FROM places WHERE doc #>> '{Address,City}' = 'C1' AND doc -> 'Address' ->> 'State' = 'S1'
SELECT count(*) FROM places WHERE doc @> '{"Address": {"City": "C1", "State": "S0"}}'
SELECT id FROM orders WHERE false
SELECT id FROM orders WHERE NULL
SELECT id FROM orders WHERE id = 'x' AND 1 = 0
SELECT count(*) FROM orders WHERE 1 = 1
-- joins
SELECT o.id, l.no FROM orders o JOIN lines l ON l.order_id = o.id WHERE o.id = 'orders/7-A$customers/7-A'
SELECT count(*), sum(l.qty) FROM orders o JOIN lines l ON l.order_id = o.id
SELECT count(*), count(l.no), sum(l.qty) FROM orders o LEFT JOIN lines l ON l.order_id = o.id AND l.no > 1
SELECT count(*), count(l.no), count(o.id) FROM orders o RIGHT JOIN lines l ON l.order_id = o.id AND o.doc ->> 'State' = 'S1'
SELECT count(*), count(l.no), count(o.id) FROM orders o FULL JOIN lines l ON l.order_id = o.id AND o.doc ->> 'State' = 'S1'
SELECT count(*), count(o.id), count(i.id) FROM orders o JOIN invoices i ON o.doc ->> 'Customer' = i.doc ->> 'Customer'
SELECT count(*), count(o.id), count(i.id) FROM orders o LEFT JOIN invoices i ON o.doc ->> 'Customer' = i.doc ->> 'Customer'
SELECT count(*), count(o.id), count(i.id) FROM orders o FULL JOIN invoices i ON o.doc ->> 'Customer' = i.doc ->> 'Customer'
SELECT count(*), count(o.id), count(i.id) FROM orders o FULL JOIN invoices i ON o.doc ->> 'Customer' = i.doc ->> 'Customer' AND i.doc ->> 'Customer' = 'customers/3-A'
SELECT count(*), count(o.id), count(i.id) FROM (orders o JOIN orders p ON o.id = p.id AND p.doc ->> 'Customer' = 'customers/2-A') FULL JOIN invoices i ON o.doc ->> 'Customer' = i.doc ->> 'Customer'
SELECT count(*), count(o.id), count(q.id) FROM (orders o JOIN orders p ON o.id = p.id AND p.id = 'orders/7-A$customers/7-A') FULL JOIN orders q ON o.id = q.id
SELECT count(*), count(o.id), count(w.id) FROM orders o JOIN wide w ON o.doc ->> 'Customer' = w.doc ->> 'Customer'
SELECT count(*) FROM wide a JOIN wide b ON a.doc ->> 'Customer' = b.doc ->> 'Customer'
SELECT count(*) FROM fresh a JOIN orders b ON a.doc ->> 'Customer' = b.doc ->> 'Customer'
SELECT o.id, c.n FROM orders o JOIN customers c ON c.id = o.doc ->> 'Customer' WHERE c.n < 4 ORDER BY 1, 2
SELECT o.id, c.n FROM orders o LEFT JOIN customers c ON c.id = o.doc ->> 'Customer' WHERE o.id LIKE 'orders/1%' ORDER BY 1, 2
SELECT c.id, count(o.id) FROM customers c LEFT JOIN orders o ON o.doc ->> 'Customer' = c.id GROUP BY c.id ORDER BY 1
SELECT a.id, b.id FROM things a JOIN things b ON a.id = b.grp WHERE a.id < 3 ORDER BY 1, 2
SELECT a.id, b.id, c.id FROM things a LEFT JOIN things b ON a.id = b.id AND b.grp = 1 LEFT JOIN things c ON b.id = c.id WHERE a.id BETWEEN 1 AND 6 ORDER BY 1
SELECT a.id, b.id, c.id FROM things a LEFT JOIN things b ON a.id = b.id AND b.grp = 1 FULL JOIN things c ON b.id = c.id AND c.id < 9 ORDER BY 1, 2, 3
SELECT count(*) FROM things a, things b
SELECT a.id, b.id FROM things a, things b WHERE a.id = 1 AND b.id = a.id
SELECT a.id, b.id FROM things a JOIN things b ON a.id = b.id WHERE b.id = 4
SELECT a.id, b.id FROM things a LEFT JOIN things b ON a.id = b.id AND b.id = 4 WHERE a.id IN (4, 5) ORDER BY 1
SELECT a.id, b.id FROM things a LEFT JOIN things b ON a.id = b.id AND b.id = 4 WHERE b.id IS NULL AND a.id > 20 ORDER BY 1
SELECT a.id, b.id FROM things a LEFT JOIN things b ON a.id = b.id + 20 WHERE b.id = 4 ORDER BY 1
SELECT a.id, b.id FROM things a FULL JOIN things b ON a.id = b.id + 25 WHERE a.id > 22 OR b.id < -1 ORDER BY 1, 2
SELECT * FROM things a LEFT JOIN things b ON false WHERE a.id = 1
SELECT a.id, b.k FROM things a LEFT JOIN notes b ON true AND b.k IS NULL WHERE a.id = 1
SELECT a.id, b.id FROM things a RIGHT JOIN (things b JOIN things c ON b.id = c.id AND c.id = 2) ON a.id = b.id
SELECT count(*) FROM notes a JOIN notes b ON a.k IS NOT DISTINCT FROM b.k
SELECT count(*) FROM notes a JOIN notes b USING (k)
SELECT k, count(*) FROM notes a FULL JOIN (SELECT id AS k FROM things) b USING (k) GROUP BY k ORDER BY k
SELECT count(*) FROM things t JOIN (VALUES (1, 'a'), (2, 'b'), (NULL, 'c')) v(i, s) ON v.i = t.id
SELECT t.id, v.s FROM (VALUES (1, 'a'), (2, 'b'), (99, 'c')) v(i, s) LEFT JOIN things t ON v.i = t.id ORDER BY 2
SELECT t.id, g FROM things t, generate_series(1, 2) g WHERE t.id < 0 ORDER BY 1, 2
SELECT count(*) FROM things a NATURAL JOIN things b
SELECT o.id FROM orders o, customers c, invoices i WHERE o.doc ->> 'Customer' = c.id AND i.doc ->> 'Customer' = c.id AND c.n = 3 ORDER BY 1
SELECT count(*) FROM orders o JOIN invoices i ON o.doc ->> 'Customer' = i.doc ->> 'Customer' JOIN lines l ON l.order_id = o.id
-- lateral
SELECT o.id, t.v FROM orders o, jsonb_array_elements_text(o.doc -> 'Tags') t(v) WHERE o.doc ->> 'State' = 'S1' ORDER BY 1, 2
SELECT t.id, s.g FROM things t, LATERAL (SELECT g FROM generate_series(1, t.id) g WHERE g > 1) s WHERE t.id < 4 ORDER BY 1, 2
SELECT t.id, s.g FROM things t LEFT JOIN LATERAL (SELECT g FROM generate_series(1, t.id) g WHERE g > 1) s ON s.g < 3 WHERE t.id < 4 ORDER BY 1, 2
SELECT c.id, s.id FROM customers c, LATERAL (SELECT o.id FROM orders o WHERE o.doc ->> 'Customer' = c.id ORDER BY o.id LIMIT 2) s ORDER BY 1, 2
SELECT c.id, s.id FROM customers c LEFT JOIN LATERAL (SELECT o.id FROM orders o WHERE o.doc ->> 'Customer' = c.id ORDER BY o.id DESC LIMIT 1) s ON true ORDER BY 1, 2
SELECT a.id, b.id, f FROM things a, (things b LEFT JOIN LATERAL generate_series(a.id, b.id) f ON true) WHERE a.id = 2 AND b.id IN (1, 3) ORDER BY 1, 2, 3
SELECT a.id, c.id, f FROM things a, (things b LEFT JOIN (things c JOIN LATERAL generate_series(a.id, c.id) f ON true) ON b.id = c.id) WHERE a.id = 2 AND b.id IN (1, 3) ORDER BY 1, 2, 3
SELECT a.id, f, b.id FROM things a, (LATERAL generate_series(1, a.id) f FULL JOIN things b ON b.id = f) WHERE a.id = 2 ORDER BY 1, 2, 3
SELECT a.id, f, b.id FROM things a, (things b FULL JOIN LATERAL generate_series(1, a.id) f ON b.id = f) WHERE a.id = 2 ORDER BY 1, 2, 3
SELECT a.id, f, b.id FROM things a, (LATERAL generate_series(1, a.id) f RIGHT JOIN things b ON b.id = f) WHERE a.id = 2 ORDER BY 1, 2, 3
SELECT j.x, f FROM (things a JOIN readings b ON a.id = b.at) j(x), generate_series(1, j.x) f WHERE j.x = 2
SELECT t.id, (r).name FROM things t, LATERAL (SELECT t AS r) s WHERE t.id = 3
SELECT t.id, s.c FROM things t, LATERAL (SELECT count(*) AS c FROM things u WHERE u.grp = t.id) s WHERE t.id < 5 ORDER BY 1
SELECT t.id, s.v FROM things t, LATERAL (VALUES (t.id), (t.id * 10)) s(v) WHERE t.id IN (1, 2) ORDER BY 2
SELECT t.id, s.v FROM things t, LATERAL (SELECT t.id UNION ALL SELECT u.id FROM things u WHERE u.grp = t.id AND u.id < 8) s(v) WHERE t.id IN (1, 2) ORDER BY 1, 2
SELECT a.id, x.v, y.w FROM things a, LATERAL (SELECT a.id + 1 AS v) x, LATERAL (SELECT x.v + a.id AS w) y WHERE a.id < 0 ORDER BY 1
-- subqueries
SELECT id FROM things WHERE id IN (SELECT grp FROM things) ORDER BY 1
SELECT id FROM things WHERE id NOT IN (SELECT grp FROM things) ORDER BY 1
SELECT id FROM things WHERE id NOT IN (SELECT grp FROM things WHERE grp IS NOT NULL) AND id < 8 ORDER BY 1
SELECT id FROM things WHERE grp NOT IN (SELECT id FROM things WHERE id > 2) ORDER BY 1
SELECT id FROM things WHERE grp NOT IN (SELECT id FROM things WHERE false) ORDER BY 1
SELECT id FROM things WHERE grp IN (SELECT id FROM things WHERE false) ORDER BY 1
SELECT id, grp IN (SELECT id FROM things WHERE id > 2) FROM things ORDER BY 1
SELECT id FROM things t WHERE EXISTS (SELECT 1 FROM things u WHERE u.grp = t.id) ORDER BY 1
SELECT id FROM things t WHERE NOT EXISTS (SELECT 1 FROM things u WHERE u.grp = t.id) ORDER BY 1
SELECT id FROM things t WHERE NOT EXISTS (SELECT 1 FROM things u WHERE u.grp = t.grp AND u.id > t.id) ORDER BY 1
SELECT id FROM things t WHERE EXISTS (SELECT 1 FROM things u WHERE u.grp = t.id AND u.id = 7) ORDER BY 1
SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM lines l WHERE l.order_id = o.id AND l.qty > 50) ORDER BY 1
SELECT id FROM orders o WHERE NOT EXISTS (SELECT FROM lines l WHERE l.order_id = o.id) ORDER BY 1
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.doc ->> 'Customer' = c.id AND o.doc ->> 'State' = 'S1') ORDER BY 1
SELECT id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.doc ->> 'Customer' = c.id) ORDER BY 1
SELECT id FROM customers c WHERE c.id IN (SELECT doc ->> 'Customer' FROM orders WHERE doc ->> 'State' = 'S2') ORDER BY 1
SELECT id FROM things t WHERE EXISTS (SELECT 1 FROM things u WHERE u.grp = t.id LIMIT 0)
SELECT id FROM things t WHERE EXISTS (SELECT count(*) FROM things u WHERE u.grp = t.id) AND id < 0 ORDER BY 1
SELECT id FROM things t WHERE EXISTS (SELECT 1 FROM things u WHERE u.grp = t.id GROUP BY u.grp HAVING count(*) > 5) ORDER BY 1
SELECT id FROM things t WHERE EXISTS (SELECT 1 FROM things u JOIN notes n ON n.k = u.id WHERE u.grp = t.id) ORDER BY 1
SELECT id FROM things t WHERE EXISTS (SELECT 1 FROM notes)
SELECT id FROM things t WHERE NOT EXISTS (SELECT 1 FROM notes)
SELECT id FROM things t WHERE EXISTS (SELECT 1 FROM notes n WHERE n.k = 3) AND t.id = 4
SELECT id FROM things t WHERE EXISTS (SELECT FROM notes n WHERE n.k = t.grp) OR id > 15 ORDER BY 1
SELECT id, EXISTS (SELECT FROM notes n WHERE n.k = t.grp), NOT EXISTS (SELECT FROM notes n WHERE t.big = n.k AND n.t > 'a') FROM things t ORDER BY 1
SELECT id, EXISTS (SELECT FROM things u, notes n WHERE u.grp = t.grp AND n.k = u.id AND n.k::bigint = t.big ORDER BY u.id LIMIT 3) FROM things t ORDER BY 1
SELECT id FROM things t WHERE CASE WHEN id < 9 THEN EXISTS (SELECT FROM people p WHERE p.n = t.id AND p.grp IS NOT NULL) ELSE id = 12 END ORDER BY 1
SELECT x.k, EXISTS (SELECT FROM things t WHERE t.id = x.k), EXISTS (SELECT FROM things t WHERE t.id IS NOT DISTINCT FROM x.k) FROM (VALUES (1::bigint), (NULL), (4000000000)) x (k) ORDER BY 1
SELECT x.k, EXISTS (SELECT FROM things t WHERE t.id = x.k AND t.id / 0 > 1) FROM (VALUES (-700)) x (k) LIMIT 0
SELECT x.c, EXISTS (SELECT FROM (VALUES ('a'::char(3)), ('b')) y (c) WHERE y.c = x.c), x.c IN (SELECT y.c FROM (VALUES ('a'::char(3)), ('b')) y (c)) OR x.c = 'q' FROM (VALUES ('a'::char(5)), ('d'), (NULL)) x (c) ORDER BY 1
SELECT t.id, t.id IN (SELECT n.k FROM notes n WHERE n.t = t.name), t.id NOT IN (SELECT n.k FROM notes n WHERE n.k < t.grp), t.grp <= ALL (SELECT n.k FROM notes n WHERE n.k > t.id) FROM things t ORDER BY 1
SELECT t.id, t.grp IN (SELECT CASE WHEN n.k > 3 THEN n.k END FROM notes n WHERE n.k >= t.grp), t.grp NOT IN (SELECT n.k FROM notes n WHERE n.t = t.name OR n.k = t.grp) FROM things t ORDER BY 1
SELECT t.id FROM things t WHERE EXISTS (SELECT FROM things u WHERE u.grp = t.grp AND NOT EXISTS (SELECT FROM notes n WHERE n.k = t.id)) ORDER BY 1
SELECT t.id FROM things t WHERE EXISTS (SELECT FROM things u WHERE u.grp = t.grp AND EXISTS (SELECT FROM notes n WHERE n.k = u.id AND n.k > 2)) ORDER BY 1
SELECT t.id FROM things t WHERE NOT EXISTS (SELECT FROM things u WHERE u.grp = t.grp AND EXISTS (SELECT FROM notes n WHERE n.k = u.id AND n.k <> t.id)) ORDER BY 1
SELECT t.id FROM things t WHERE NOT EXISTS (SELECT FROM things u WHERE u.grp = t.grp AND NOT EXISTS (SELECT FROM notes n WHERE n.k = t.id)) ORDER BY 1
SELECT t.id FROM things t, LATERAL (WITH c AS MATERIALIZED (SELECT t.grp AS g) SELECT v.x IN (SELECT g FROM c) AS a, EXISTS (SELECT FROM c WHERE c.g = v.x) AS b, (SELECT max(g) FROM c) AS m FROM (VALUES (2)) v (x)) s WHERE s.a AND s.b AND s.m = 2 ORDER BY 1
SELECT id FROM things t WHERE (t.id, t.grp) IN (SELECT u.grp, v.grp FROM things u, things v) ORDER BY 1
SELECT id FROM things t WHERE t.id IN (SELECT u.grp FROM things u WHERE u.name = t.name) ORDER BY 1
SELECT id FROM things t WHERE t.id NOT IN (SELECT u.grp FROM things u WHERE u.name = t.name) ORDER BY 1
SELECT id FROM things WHERE id > ALL (SELECT grp FROM things WHERE grp IS NOT NULL) ORDER BY 1
SELECT id FROM things WHERE id > ALL (SELECT grp FROM things) ORDER BY 1
SELECT id FROM things WHERE id = ANY (SELECT k FROM notes) ORDER BY 1
SELECT id FROM things WHERE id = (SELECT max(id) FROM things)
SELECT id FROM things WHERE id = (SELECT max(id) FROM things WHERE id > 1000)
SELECT id FROM things WHERE id = (SELECT id FROM things WHERE id > 1)
SELECT id FROM orders WHERE id = (SELECT max(id) FROM orders)
SELECT id FROM orders WHERE doc ->> 'Customer' = (SELECT id FROM customers WHERE n = 3) ORDER BY 1
SELECT id FROM things WHERE id > (SELECT avg(id) FROM things) AND id < (SELECT max(id) FROM things) ORDER BY 1
SELECT id, (SELECT count(*) FROM things u WHERE u.grp = t.id) FROM things t WHERE id BETWEEN 0 AND 4 ORDER BY id
SELECT id, (SELECT count(*) FROM things u WHERE u.grp = t.id) AS c FROM things t ORDER BY c DESC, id LIMIT 5
SELECT id, (SELECT count(*) FROM things u WHERE u.grp = t.id) AS c FROM things t ORDER BY id LIMIT 5
SELECT id, (SELECT count(*) FROM things u WHERE u.grp = t.id) AS c FROM things t ORDER BY grp DESC NULLS LAST, id LIMIT 5 OFFSET 2
SELECT id, (SELECT (SELECT max(w.id) FROM things w WHERE w.grp = t.grp AND w.id > u.id) FROM things u WHERE u.id = 1) FROM things t WHERE id BETWEEN 0 AND 4 ORDER BY id
SELECT ARRAY(SELECT u.id FROM things u WHERE u.grp = t.id ORDER BY u.id) FROM things t WHERE t.id BETWEEN 0 AND 3 ORDER BY t.id
SELECT (SELECT t.id) FROM things t WHERE t.id < 0
SELECT id FROM things t WHERE (SELECT t.id + 1) = 3
SELECT id FROM things t WHERE (id, grp) = (SELECT 5, 1)
SELECT CASE WHEN id < 100 THEN id ELSE (SELECT id FROM things) END FROM things WHERE id = 1
SELECT a.id FROM things a JOIN things b ON a.id = (SELECT max(c.grp) FROM things c WHERE c.id <= b.id) WHERE b.id BETWEEN 1 AND 4 ORDER BY 1
SELECT x.id FROM (SELECT id, grp FROM things WHERE grp = 1) x WHERE x.id > 10 ORDER BY 1
SELECT x.id FROM (SELECT id, grp FROM things LIMIT 3) x WHERE false
SELECT x.c FROM (SELECT grp, count(*) AS c FROM things GROUP BY grp) x WHERE x.grp = 2
SELECT x.grp, x.c FROM (SELECT grp, count(*) AS c FROM things GROUP BY grp) x WHERE x.c > 6 ORDER BY 1
SELECT * FROM (SELECT DISTINCT ON (grp) grp, id FROM things ORDER BY grp, id) x WHERE x.id = 1
SELECT * FROM (SELECT DISTINCT ON (grp) grp, id FROM things ORDER BY grp, id) x WHERE x.grp = 1
SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY grp ORDER BY id) AS r, grp FROM things) x WHERE x.grp = 1 AND r < 3 ORDER BY 1
SELECT * FROM (SELECT id, row_number() OVER (ORDER BY id) AS r FROM things) x WHERE x.id = 4
SELECT * FROM (SELECT id FROM things UNION ALL SELECT at FROM readings UNION ALL SELECT k FROM notes) x WHERE x.id = 4
SELECT * FROM (SELECT id FROM things UNION SELECT at FROM readings) x(i) WHERE x.i = 4
SELECT * FROM (SELECT id FROM things EXCEPT SELECT at FROM readings) x(i) WHERE x.i < 4 ORDER BY 1
SELECT * FROM (SELECT 1 AS a, 'x' AS b UNION ALL SELECT id, name FROM things WHERE id = 7) x WHERE b = 'x'
SELECT * FROM (SELECT generate_series(1, 3) AS g, id FROM things WHERE id < 0) x WHERE g = 2 ORDER BY 2
SELECT * FROM (SELECT id FROM orders) x WHERE x.id = 'orders/7-A$customers/7-A'
SELECT count(*) FROM (SELECT id FROM things ORDER BY id DESC LIMIT 5) x WHERE id > 22
-- WITH
WITH x AS (SELECT id, grp FROM things) SELECT id FROM x WHERE id = 3
WITH x AS (SELECT id, grp FROM things) SELECT a.id, b.id FROM x a JOIN x b ON a.id = b.grp WHERE a.id = 1 ORDER BY 1, 2
WITH x AS (SELECT grp, count(*) AS c FROM things GROUP BY grp) SELECT t.id, (SELECT c FROM x WHERE x.grp = t.grp) FROM things t WHERE t.id < 0 ORDER BY 1
WITH x AS MATERIALIZED (SELECT id FROM things WHERE id < 3), y AS (SELECT id FROM x WHERE id > 0) SELECT * FROM y, x WHERE y.id = x.id ORDER BY 1, 2
WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < 5) SELECT i, u.id FROM t JOIN things u ON u.grp = t.i WHERE u.id < 10 ORDER BY 1, 2
WITH RECURSIVE t(i) AS (SELECT id FROM things WHERE id = 1 UNION SELECT (t.i * 2) % 7 FROM t) SELECT i FROM t ORDER BY 1
WITH RECURSIVE t(i, d) AS (SELECT 1, 0 UNION ALL SELECT u.id, d + 1 FROM t JOIN things u ON u.grp = t.i AND u.id > t.i WHERE d < 2) SELECT d, count(*) FROM t GROUP BY d ORDER BY d
WITH RECURSIVE t(i) AS (WITH s AS (SELECT 1 AS one) SELECT one FROM s UNION ALL SELECT i + one FROM t, s WHERE i < 4) SELECT i FROM t ORDER BY 1
SELECT id, (WITH RECURSIVE t(i) AS (SELECT u.id UNION ALL SELECT i - 1 FROM t WHERE i > 0) SELECT count(*) FROM t) FROM things u WHERE id BETWEEN 1 AND 3 ORDER BY 1
SELECT id, (WITH x AS (SELECT grp FROM things v WHERE v.id = u.id) SELECT count(*) FROM x JOIN x y ON x.grp = y.grp) FROM things u WHERE id BETWEEN 1 AND 6 ORDER BY 1
WITH x AS (SELECT id FROM things WHERE id IN (1, 2)) SELECT u.id FROM things u WHERE EXISTS (SELECT 1 FROM x WHERE x.id = u.grp) AND u.id < 8 ORDER BY 1
WITH x AS (SELECT id FROM things WHERE id < 2) SELECT id FROM x UNION ALL SELECT id + 100 FROM x ORDER BY 1
-- set operations
SELECT grp FROM things UNION SELECT k FROM notes ORDER BY 1
SELECT grp FROM things INTERSECT SELECT k FROM notes ORDER BY 1
SELECT grp FROM things INTERSECT ALL SELECT k FROM notes ORDER BY 1
SELECT k FROM notes EXCEPT ALL SELECT grp FROM things ORDER BY 1
SELECT k FROM notes EXCEPT SELECT grp FROM things ORDER BY 1
SELECT id FROM things WHERE id < 0 UNION ALL SELECT k FROM notes WHERE k > 3 ORDER BY 1 DESC LIMIT 3 OFFSET 1
SELECT t.id, (SELECT sum(v) FROM (SELECT t.id AS v UNION ALL SELECT u.id FROM things u WHERE u.grp = t.id) s) FROM things t WHERE t.id BETWEEN 1 AND 3 ORDER BY 1
SELECT t.id FROM things t WHERE t.id IN (SELECT t.id EXCEPT SELECT grp FROM things) AND t.id < 8 ORDER BY 1
-- aggregates
SELECT count(*), count(grp), sum(big), min(name), max(name), avg(id), bool_and(id > 0) FROM things
SELECT grp, count(*), sum(id) FROM things GROUP BY grp ORDER BY grp
SELECT grp + 1, count(*) FROM things GROUP BY grp + 1 HAVING count(*) > 6 ORDER BY 1
SELECT count(*) FROM things HAVING count(*) > 1000
SELECT 1 FROM things HAVING true
SELECT count(*) FROM things WHERE false
SELECT grp, count(*) FROM things WHERE false GROUP BY grp
SELECT t.id, t.name, count(*) FROM things t JOIN notes n ON n.k = t.id GROUP BY t.id ORDER BY 1
SELECT grp, name, count(*), grouping(grp, name), grouping(name) FROM things WHERE id < 12 GROUP BY GROUPING SETS ((grp, name), (grp), (name), ()) ORDER BY 4, 1, 2
SELECT grp, name, count(*) FROM things WHERE id < 8 GROUP BY CUBE (grp, name) ORDER BY 1, 2, 3
SELECT coalesce(grp, -1), count(*) FROM things GROUP BY ROLLUP (grp) ORDER BY 1, 2
SELECT grp, sum(id) FROM things WHERE false GROUP BY ROLLUP (grp)
SELECT grp, count(DISTINCT name), string_agg(id::text, ',' ORDER BY id DESC), array_agg(id ORDER BY id) FROM things GROUP BY grp ORDER BY 1
SELECT count(*) FILTER (WHERE grp = 1), count(DISTINCT grp), percentile_cont(0.5) WITHIN GROUP (ORDER BY id) FROM things
SELECT doc ->> 'Customer', count(*), sum((doc ->> 'Total')::numeric) FROM orders GROUP BY 1 ORDER BY 1
SELECT doc ->> 'Customer', doc ->> 'State', count(*) FROM orders GROUP BY 1, 2 HAVING count(*) > 1 ORDER BY 1, 2
SELECT doc ->> 'Customer', count(*) FROM orders GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3
SELECT o.doc ->> 'Customer', count(*), sum((i.doc ->> 'Sum')::int) FROM orders o JOIN invoices i ON o.doc ->> 'Customer' = i.doc ->> 'Customer' GROUP BY 1 ORDER BY 1
SELECT o.id, count(l.no), max(l.qty) FROM orders o LEFT JOIN lines l ON l.order_id = o.id GROUP BY o.id ORDER BY 1
SELECT o.id, o.doc ->> 'State', count(*) FROM orders o JOIN lines l ON l.order_id = o.id GROUP BY o.id ORDER BY 3 DESC, 1 LIMIT 4
SELECT id, count(*) FROM things GROUP BY id HAVING id < 0 ORDER BY 1
SELECT wide.doc ->> 'Customer', count(*) FROM wide GROUP BY 1 ORDER BY 1
SELECT device, count(*), sum(v) FROM readings GROUP BY device ORDER BY 1
SELECT grp, (SELECT count(*) FROM notes n WHERE n.k = t.grp) FROM things t GROUP BY grp ORDER BY 1
SELECT grp FROM things t GROUP BY grp HAVING EXISTS (SELECT 1 FROM notes n WHERE n.k = t.grp) ORDER BY 1
SELECT max(id) + min(grp), max(id) FROM things
SELECT count(*), count(b.id) FROM things a LEFT JOIN things b ON a.id = b.id AND b.grp = 1
SELECT DISTINCT ON (grp) grp, id, name FROM things ORDER BY grp, id DESC
SELECT DISTINCT ON (grp) grp, max(id) OVER (PARTITION BY grp) FROM things ORDER BY grp
SELECT count(*) FROM (SELECT DISTINCT ON (grp) id FROM things) x
SELECT DISTINCT ON (grp, name) grp, name FROM things WHERE id < 5 ORDER BY grp
SELECT DISTINCT ON (name) id FROM things ORDER BY name, id LIMIT 2
SELECT DISTINCT ON (name) id FROM things ORDER BY name, id OFFSET 3
SELECT DISTINCT grp, grp + 1 AS g FROM things ORDER BY grp + 1 DESC
SELECT DISTINCT name FROM things ORDER BY name LIMIT 2 OFFSET 1
SELECT DISTINCT grp, count(*) FROM things GROUP BY grp, name ORDER BY 1, 2
-- order and limits
SELECT id FROM orders ORDER BY id LIMIT 3
SELECT id FROM orders ORDER BY id DESC LIMIT 3 OFFSET 2
SELECT id FROM orders WHERE doc ->> 'State' = 'S1' ORDER BY id LIMIT 2
SELECT doc ->> 'State' FROM orders ORDER BY id LIMIT 2
SELECT id FROM orders WHERE id > 'orders/3' AND id <= 'orders/36-A$customers/0-A' ORDER BY id DESC LIMIT 4
SELECT id FROM orders WHERE id > 'orders/3' AND id < 'orders/34' ORDER BY 1
SELECT id, (SELECT count(*) FROM lines l WHERE l.order_id = o.id) FROM orders o ORDER BY id LIMIT 3
SELECT order_id, no FROM lines ORDER BY order_id, no LIMIT 4
SELECT order_id, no FROM lines ORDER BY order_id DESC, no DESC LIMIT 4
SELECT order_id, no FROM lines ORDER BY order_id, no DESC LIMIT 4
SELECT id FROM things ORDER BY id LIMIT 0
SELECT id FROM things ORDER BY id LIMIT NULL OFFSET 27
SELECT id FROM things ORDER BY id OFFSET NULL LIMIT 1
SELECT id FROM things ORDER BY id::oid LIMIT 2
SELECT id FROM things ORDER BY -id LIMIT 2
SELECT id FROM things ORDER BY grp NULLS FIRST, id DESC LIMIT 3
SELECT id FROM things ORDER BY grp DESC, id LIMIT 3
SELECT id FROM things LIMIT -1
SELECT count(*) FROM (SELECT id FROM things LIMIT 5) x
SELECT count(*) FROM (SELECT id FROM things OFFSET 5) x
SELECT id, generate_series(1, 2) FROM things ORDER BY id LIMIT 3
SELECT generate_series(1, 3) AS g, id FROM things WHERE id < 0 ORDER BY g DESC, id LIMIT 4
SELECT generate_series(1, id) FROM things WHERE id < 3 ORDER BY 1
SELECT DISTINCT generate_series(1, 2) FROM things ORDER BY 1
SELECT count(*) FROM (SELECT generate_series(1, id) FROM things WHERE id > 0) x
SELECT jsonb_array_elements(doc -> 'Tags') FROM orders WHERE id = 'orders/7-A$customers/7-A'
SELECT count(*) FROM things WHERE random() >= 0
SELECT count(*) FROM things a, things b WHERE random() >= 0
SELECT count(*) BETWEEN 200 AND 640 FROM things a, things b WHERE random() < 0.5
SELECT count(*) FROM things a LEFT JOIN things b ON random() < 0 WHERE b.id IS NULL
-- window functions
SELECT id, rank() OVER (PARTITION BY grp ORDER BY id DESC) FROM things WHERE id < 10 ORDER BY id
SELECT grp, sum(count(*)) OVER (ORDER BY grp) FROM things GROUP BY grp ORDER BY grp
SELECT grp, count(*), rank() OVER (ORDER BY count(*) DESC, grp) FROM things GROUP BY grp ORDER BY 3 LIMIT 2
SELECT id, lag(id) OVER w, sum(id) OVER (w ROWS 1 PRECEDING) FROM things WHERE id < 3 WINDOW w AS (ORDER BY id) ORDER BY 1
SELECT DISTINCT count(*) OVER (PARTITION BY grp) FROM things ORDER BY 1
-- writes
INSERT INTO notes SELECT k + 100, t FROM notes WHERE k = 1 RETURNING k
SELECT count(*) FROM notes
UPDATE notes SET t = t || '!' WHERE k > 100 RETURNING k, t
UPDATE things SET grp = grp + 10 WHERE id = 5 RETURNING id, grp
UPDATE things SET grp = (SELECT max(id) FROM things) WHERE id IN (6, 7) RETURNING id, grp
UPDATE things t SET name = u.name || '+' FROM things u WHERE u.id = t.id + 1 AND t.id < 0 RETURNING t.id, t.name, u.id
UPDATE things t SET big = n.k FROM notes n WHERE n.k = t.id AND n.k > 3 RETURNING t.id, t.big
UPDATE things t SET big = x.c FROM (SELECT k, count(*) AS c FROM notes GROUP BY k) x WHERE x.k = t.id RETURNING t.id, t.big
UPDATE things SET id = id + 1000 WHERE id > 22 RETURNING id
UPDATE things SET id = id + 100 WHERE id BETWEEN 1000 AND 1030
UPDATE lines l SET qty = 0 FROM orders o WHERE o.id = l.order_id AND o.doc ->> 'State' = 'S1' AND l.no = 3
SELECT count(*), sum(qty) FROM lines
UPDATE orders SET doc = jsonb_set(doc, '{Seen}', 'true') WHERE doc ->> 'Customer' = 'customers/3-A' AND id NOT IN (SELECT order_id FROM lines) RETURNING id
UPDATE orders o SET doc = jsonb_set(doc, '{N}', to_jsonb((SELECT count(*) FROM lines l WHERE l.order_id = o.id))) WHERE doc ->> 'Customer' = 'customers/4-A' RETURNING id, doc -> 'N'
UPDATE things SET name = 'never' WHERE false
UPDATE things SET name = 'q' WHERE id = (SELECT min(id) FROM things) RETURNING id, name, (SELECT count(*) FROM things)
WITH x AS (SELECT id FROM things WHERE id = 3) UPDATE things SET name = 'x' FROM x WHERE things.id = x.id RETURNING things.id, name
WITH x AS (SELECT id FROM things WHERE id = 3) INSERT INTO notes SELECT id, 'from x' FROM x RETURNING *
DELETE FROM lines l USING orders o WHERE o.id = l.order_id AND o.doc ->> 'Customer' = 'customers/2-A' AND l.no = 1 RETURNING l.order_id, o.doc ->> 'State'
DELETE FROM lines WHERE order_id IN (SELECT id FROM orders WHERE doc ->> 'State' = 'S2') AND no = 2
DELETE FROM things t WHERE NOT EXISTS (SELECT 1 FROM notes n WHERE n.k = t.id) AND t.id < 10 RETURNING id
DELETE FROM notes WHERE k IS NULL
DELETE FROM notes n USING things t, things u WHERE n.k = t.id AND u.id = t.id
DELETE FROM things WHERE id = 4 OR id = 3 RETURNING id
SELECT count(*) FROM lines
SELECT * FROM notes ORDER BY k, t
SELECT id, name, grp, big FROM things ORDER BY id
-- rows as values
SELECT a.id, count(b), count(b.*), count(*) FROM (VALUES (1), (99)) a(id) LEFT JOIN (SELECT id, NULL::int AS x FROM things) b ON a.id = b.id GROUP BY 1 ORDER BY 1
SELECT t FROM (VALUES (10), (99)) a(id) LEFT JOIN things t ON t.id = a.id ORDER BY a.id
SELECT count(t), count(DISTINCT t.grp) FROM things t
-- values known only when the statement runs
SELECT id FROM things WHERE id IN (SELECT max(id) FROM things) OR id = (SELECT min(id) FROM things) ORDER BY 1
SELECT id FROM things WHERE NOT EXISTS (SELECT 1 FROM notes WHERE k = 12345) AND id > (SELECT max(id) - 5 FROM things) ORDER BY 1
SELECT id, (SELECT max(u.id) FROM things u WHERE u.grp = (SELECT min(w.grp) FROM things w WHERE w.id >= t.id)) FROM things t ORDER BY id LIMIT 4
DELETE FROM things t WHERE EXISTS (SELECT 1 FROM things u WHERE u.id = t.id + 1) AND t.id > 15 RETURNING id
UPDATE things t SET name = 'z' WHERE t.id IN (SELECT max(id) FROM things) AND EXISTS (SELECT 1 FROM lines) RETURNING t.id, t.name
-- subqueries over functions
SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM jsonb_array_elements_text(o.doc -> 'Tags') t(v) WHERE v = '7') ORDER BY 1
SELECT count(*) FROM things t WHERE NOT EXISTS (SELECT 1 FROM orders o, jsonb_array_elements_text(o.doc -> 'Tags') x(v) WHERE x.v = t.id::text)
SELECT count(*) FROM orders o WHERE id NOT IN (SELECT 'x' || v FROM jsonb_array_elements_text(o.doc -> 'Tags') t(v)) AND doc ->> 'State' IN (SELECT 'S' || g FROM generate_series(0, 1) g)
SELECT t.id, count(*) FROM things t WHERE EXISTS (SELECT FROM generate_series(1, t.id) g JOIN notes n ON n.k = g WHERE n.t > t.name) GROUP BY 1 ORDER BY 1
-- comparisons across the types of a family
INSERT INTO family SELECT i, i * 3000, i * 1000000000::bigint, i * 0.5, date '2024-03-30' + i, timestamp '2024-03-30' + i * interval '12 hours', timestamptz '2024-03-30 00:00+00' + i * interval '12 hours', 't' || i, 'T' || i FROM generate_series(-9, 9) i
INSERT INTO family VALUES (2147483647, 32767, 9223372036854775807, 'Infinity', 'infinity', 'infinity', 'infinity', 'max', 'MAX'), (-2147483648, -32768, -9223372036854775808, '-Infinity', '-infinity', '-infinity', '-infinity', 'min', 'MIN'), (100, NULL, NULL, 'NaN', NULL, NULL, NULL, NULL, NULL), (101, 0, 0, 0.1, '2024-04-01', '2024-04-01 00:00:00.5', '2024-04-01 00:00:00.5+00', 'x', 'X')
INSERT INTO small SELECT i2, id FROM family WHERE i2 IS NOT NULL AND id <> 101
INSERT INTO days SELECT d, id FROM family WHERE d IS NOT NULL AND id <> 101
INSERT INTO moments SELECT ts, id FROM family WHERE ts IS NOT NULL
INSERT INTO instants SELECT tz, id FROM family WHERE tz IS NOT NULL
INSERT INTO fleet SELECT i % 3 - 1, i, i FROM generate_series(0, 12) i
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id = (-32768)::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id = (-3000)::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id = 0::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id = 32767::smallint)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id < (-32768)::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id < (-3000)::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id < 0::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id < 32767::smallint)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id <= (-32768)::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id <= (-3000)::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id <= 0::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id <= 32767::smallint)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id > (-32768)::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id > (-3000)::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id > 0::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id > 32767::smallint)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id >= (-32768)::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id >= (-3000)::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id >= 0::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id >= 32767::smallint)
SELECT id FROM family WHERE id = ANY (ARRAY[(-32768)::smallint, (-3000)::smallint, 0::smallint, 32767::smallint, NULL])
SELECT id FROM family WHERE id IN ((-32768)::smallint, (-3000)::smallint, 0::smallint, 32767::smallint)
SELECT x.k, o.id FROM (VALUES ((-32768)::smallint), ((-3000)::smallint), (0::smallint), (32767::smallint), (NULL)) x (k) JOIN family o ON o.id = x.k
SELECT x.k, (SELECT count(*) FROM family o WHERE o.id >= x.k AND o.id <= y.k), (SELECT count(*) FROM family o WHERE o.id > x.k AND y.k > o.id) FROM (VALUES ((-32768)::smallint), ((-3000)::smallint), (0::smallint), (32767::smallint)) x (k), (VALUES ((-32768)::smallint), ((-3000)::smallint), (0::smallint), (32767::smallint), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM family o WHERE o.id = ANY (ARRAY[x.k, NULL])) FROM (VALUES ((-32768)::smallint), ((-3000)::smallint), (0::smallint), (32767::smallint)) x (k)
SELECT count(*) FROM family WHERE id BETWEEN (-3000)::smallint AND 0::smallint
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id = '-9223372036854775808'::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id = '-2147483649'::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id = (-32769)::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id = 0::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id = 3::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id = 3000::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id = 32768::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id = 2147483647::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id = 2147483648::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id = 9223372036854775807::bigint)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id < '-9223372036854775808'::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id < '-2147483649'::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id < (-32769)::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id < 0::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id < 3::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id < 3000::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id < 32768::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id < 2147483647::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id < 2147483648::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id < 9223372036854775807::bigint)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id <= '-9223372036854775808'::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id <= '-2147483649'::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id <= (-32769)::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id <= 0::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id <= 3::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id <= 3000::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id <= 32768::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id <= 2147483647::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id <= 2147483648::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id <= 9223372036854775807::bigint)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id > '-9223372036854775808'::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id > '-2147483649'::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id > (-32769)::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id > 0::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id > 3::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id > 3000::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id > 32768::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id > 2147483647::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id > 2147483648::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id > 9223372036854775807::bigint)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id >= '-9223372036854775808'::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id >= '-2147483649'::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id >= (-32769)::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id >= 0::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id >= 3::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id >= 3000::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id >= 32768::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id >= 2147483647::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id >= 2147483648::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE id >= 9223372036854775807::bigint)
SELECT id FROM family WHERE id = ANY (ARRAY['-9223372036854775808'::bigint, '-2147483649'::bigint, (-32769)::bigint, 0::bigint, 3::bigint, 3000::bigint, 32768::bigint, 2147483647::bigint, 2147483648::bigint, 9223372036854775807::bigint, NULL])
SELECT id FROM family WHERE id IN ('-9223372036854775808'::bigint, '-2147483649'::bigint, (-32769)::bigint, 0::bigint, 3::bigint, 3000::bigint, 32768::bigint, 2147483647::bigint, 2147483648::bigint, 9223372036854775807::bigint)
SELECT x.k, o.id FROM (VALUES ('-9223372036854775808'::bigint), ('-2147483649'::bigint), ((-32769)::bigint), (0::bigint), (3::bigint), (3000::bigint), (32768::bigint), (2147483647::bigint), (2147483648::bigint), (9223372036854775807::bigint), (NULL)) x (k) JOIN family o ON o.id = x.k
SELECT x.k, (SELECT count(*) FROM family o WHERE o.id >= x.k AND o.id <= y.k), (SELECT count(*) FROM family o WHERE o.id > x.k AND y.k > o.id) FROM (VALUES ('-9223372036854775808'::bigint), ('-2147483649'::bigint), ((-32769)::bigint), (0::bigint), (3::bigint), (3000::bigint), (32768::bigint), (2147483647::bigint), (2147483648::bigint), (9223372036854775807::bigint)) x (k), (VALUES ('-9223372036854775808'::bigint), ('-2147483649'::bigint), ((-32769)::bigint), (0::bigint), (3::bigint), (3000::bigint), (32768::bigint), (2147483647::bigint), (2147483648::bigint), (9223372036854775807::bigint), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM family o WHERE o.id = ANY (ARRAY[x.k, NULL])) FROM (VALUES ('-9223372036854775808'::bigint), ('-2147483649'::bigint), ((-32769)::bigint), (0::bigint), (3::bigint), (3000::bigint), (32768::bigint), (2147483647::bigint), (2147483648::bigint), (9223372036854775807::bigint)) x (k)
SELECT count(*) FROM family WHERE id BETWEEN '-2147483649'::bigint AND 2147483648::bigint
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 = (-2147483648)::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 = (-32769)::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 = 0::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 = 3::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 = 32768::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 = 2147483647::integer)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 < (-2147483648)::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 < (-32769)::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 < 0::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 < 3::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 < 32768::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 < 2147483647::integer)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 <= (-2147483648)::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 <= (-32769)::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 <= 0::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 <= 3::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 <= 32768::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 <= 2147483647::integer)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 > (-2147483648)::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 > (-32769)::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 > 0::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 > 3::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 > 32768::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 > 2147483647::integer)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 >= (-2147483648)::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 >= (-32769)::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 >= 0::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 >= 3::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 >= 32768::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 >= 2147483647::integer)
SELECT id FROM family WHERE i2 = ANY (ARRAY[(-2147483648)::integer, (-32769)::integer, 0::integer, 3::integer, 32768::integer, 2147483647::integer, NULL])
SELECT id FROM family WHERE i2 IN ((-2147483648)::integer, (-32769)::integer, 0::integer, 3::integer, 32768::integer, 2147483647::integer)
SELECT x.k, o.id FROM (VALUES ((-2147483648)::integer), ((-32769)::integer), (0::integer), (3::integer), (32768::integer), (2147483647::integer), (NULL)) x (k) JOIN family o ON o.i2 = x.k
SELECT x.k, (SELECT count(*) FROM family o WHERE o.i2 >= x.k AND o.i2 <= y.k), (SELECT count(*) FROM family o WHERE o.i2 > x.k AND y.k > o.i2) FROM (VALUES ((-2147483648)::integer), ((-32769)::integer), (0::integer), (3::integer), (32768::integer), (2147483647::integer)) x (k), (VALUES ((-2147483648)::integer), ((-32769)::integer), (0::integer), (3::integer), (32768::integer), (2147483647::integer), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM family o WHERE o.i2 = ANY (ARRAY[x.k, NULL])) FROM (VALUES ((-2147483648)::integer), ((-32769)::integer), (0::integer), (3::integer), (32768::integer), (2147483647::integer)) x (k)
SELECT count(*) FROM family WHERE i2 BETWEEN (-32769)::integer AND 32768::integer
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 = '-9223372036854775808'::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 = '-2147483649'::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 = (-32769)::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 = 0::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 = 3::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 = 3000::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 = 32768::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 = 2147483647::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 = 2147483648::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 = 9223372036854775807::bigint)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 < '-9223372036854775808'::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 < '-2147483649'::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 < (-32769)::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 < 0::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 < 3::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 < 3000::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 < 32768::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 < 2147483647::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 < 2147483648::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 < 9223372036854775807::bigint)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 <= '-9223372036854775808'::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 <= '-2147483649'::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 <= (-32769)::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 <= 0::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 <= 3::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 <= 3000::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 <= 32768::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 <= 2147483647::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 <= 2147483648::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 <= 9223372036854775807::bigint)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 > '-9223372036854775808'::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 > '-2147483649'::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 > (-32769)::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 > 0::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 > 3::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 > 3000::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 > 32768::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 > 2147483647::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 > 2147483648::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 > 9223372036854775807::bigint)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 >= '-9223372036854775808'::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 >= '-2147483649'::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 >= (-32769)::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 >= 0::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 >= 3::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 >= 3000::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 >= 32768::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 >= 2147483647::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 >= 2147483648::bigint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i2 >= 9223372036854775807::bigint)
SELECT id FROM family WHERE i2 = ANY (ARRAY['-9223372036854775808'::bigint, '-2147483649'::bigint, (-32769)::bigint, 0::bigint, 3::bigint, 3000::bigint, 32768::bigint, 2147483647::bigint, 2147483648::bigint, 9223372036854775807::bigint, NULL])
SELECT id FROM family WHERE i2 IN ('-9223372036854775808'::bigint, '-2147483649'::bigint, (-32769)::bigint, 0::bigint, 3::bigint, 3000::bigint, 32768::bigint, 2147483647::bigint, 2147483648::bigint, 9223372036854775807::bigint)
SELECT x.k, o.id FROM (VALUES ('-9223372036854775808'::bigint), ('-2147483649'::bigint), ((-32769)::bigint), (0::bigint), (3::bigint), (3000::bigint), (32768::bigint), (2147483647::bigint), (2147483648::bigint), (9223372036854775807::bigint), (NULL)) x (k) JOIN family o ON o.i2 = x.k
SELECT x.k, (SELECT count(*) FROM family o WHERE o.i2 >= x.k AND o.i2 <= y.k), (SELECT count(*) FROM family o WHERE o.i2 > x.k AND y.k > o.i2) FROM (VALUES ('-9223372036854775808'::bigint), ('-2147483649'::bigint), ((-32769)::bigint), (0::bigint), (3::bigint), (3000::bigint), (32768::bigint), (2147483647::bigint), (2147483648::bigint), (9223372036854775807::bigint)) x (k), (VALUES ('-9223372036854775808'::bigint), ('-2147483649'::bigint), ((-32769)::bigint), (0::bigint), (3::bigint), (3000::bigint), (32768::bigint), (2147483647::bigint), (2147483648::bigint), (9223372036854775807::bigint), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM family o WHERE o.i2 = ANY (ARRAY[x.k, NULL])) FROM (VALUES ('-9223372036854775808'::bigint), ('-2147483649'::bigint), ((-32769)::bigint), (0::bigint), (3::bigint), (3000::bigint), (32768::bigint), (2147483647::bigint), (2147483648::bigint), (9223372036854775807::bigint)) x (k)
SELECT count(*) FROM family WHERE i2 BETWEEN '-2147483649'::bigint AND 2147483648::bigint
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 = (-2147483648)::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 = (-32769)::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 = 0::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 = 3::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 = 32768::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 = 2147483647::integer)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 < (-2147483648)::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 < (-32769)::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 < 0::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 < 3::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 < 32768::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 < 2147483647::integer)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 <= (-2147483648)::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 <= (-32769)::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 <= 0::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 <= 3::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 <= 32768::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 <= 2147483647::integer)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 > (-2147483648)::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 > (-32769)::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 > 0::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 > 3::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 > 32768::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 > 2147483647::integer)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 >= (-2147483648)::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 >= (-32769)::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 >= 0::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 >= 3::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 >= 32768::integer), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 >= 2147483647::integer)
SELECT id FROM family WHERE i8 = ANY (ARRAY[(-2147483648)::integer, (-32769)::integer, 0::integer, 3::integer, 32768::integer, 2147483647::integer, NULL])
SELECT id FROM family WHERE i8 IN ((-2147483648)::integer, (-32769)::integer, 0::integer, 3::integer, 32768::integer, 2147483647::integer)
SELECT x.k, o.id FROM (VALUES ((-2147483648)::integer), ((-32769)::integer), (0::integer), (3::integer), (32768::integer), (2147483647::integer), (NULL)) x (k) JOIN family o ON o.i8 = x.k
SELECT x.k, (SELECT count(*) FROM family o WHERE o.i8 >= x.k AND o.i8 <= y.k), (SELECT count(*) FROM family o WHERE o.i8 > x.k AND y.k > o.i8) FROM (VALUES ((-2147483648)::integer), ((-32769)::integer), (0::integer), (3::integer), (32768::integer), (2147483647::integer)) x (k), (VALUES ((-2147483648)::integer), ((-32769)::integer), (0::integer), (3::integer), (32768::integer), (2147483647::integer), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM family o WHERE o.i8 = ANY (ARRAY[x.k, NULL])) FROM (VALUES ((-2147483648)::integer), ((-32769)::integer), (0::integer), (3::integer), (32768::integer), (2147483647::integer)) x (k)
SELECT count(*) FROM family WHERE i8 BETWEEN (-32769)::integer AND 32768::integer
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 = (-32768)::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 = (-3000)::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 = 0::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 = 32767::smallint)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 < (-32768)::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 < (-3000)::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 < 0::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 < 32767::smallint)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 <= (-32768)::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 <= (-3000)::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 <= 0::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 <= 32767::smallint)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 > (-32768)::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 > (-3000)::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 > 0::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 > 32767::smallint)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 >= (-32768)::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 >= (-3000)::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 >= 0::smallint), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE i8 >= 32767::smallint)
SELECT id FROM family WHERE i8 = ANY (ARRAY[(-32768)::smallint, (-3000)::smallint, 0::smallint, 32767::smallint, NULL])
SELECT id FROM family WHERE i8 IN ((-32768)::smallint, (-3000)::smallint, 0::smallint, 32767::smallint)
SELECT x.k, o.id FROM (VALUES ((-32768)::smallint), ((-3000)::smallint), (0::smallint), (32767::smallint), (NULL)) x (k) JOIN family o ON o.i8 = x.k
SELECT x.k, (SELECT count(*) FROM family o WHERE o.i8 >= x.k AND o.i8 <= y.k), (SELECT count(*) FROM family o WHERE o.i8 > x.k AND y.k > o.i8) FROM (VALUES ((-32768)::smallint), ((-3000)::smallint), (0::smallint), (32767::smallint)) x (k), (VALUES ((-32768)::smallint), ((-3000)::smallint), (0::smallint), (32767::smallint), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM family o WHERE o.i8 = ANY (ARRAY[x.k, NULL])) FROM (VALUES ((-32768)::smallint), ((-3000)::smallint), (0::smallint), (32767::smallint)) x (k)
SELECT count(*) FROM family WHERE i8 BETWEEN (-3000)::smallint AND 0::smallint
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id = (-2147483648)::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id = (-32769)::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id = 0::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id = 3::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id = 32768::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id = 2147483647::integer)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id < (-2147483648)::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id < (-32769)::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id < 0::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id < 3::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id < 32768::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id < 2147483647::integer)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id <= (-2147483648)::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id <= (-32769)::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id <= 0::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id <= 3::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id <= 32768::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id <= 2147483647::integer)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id > (-2147483648)::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id > (-32769)::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id > 0::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id > 3::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id > 32768::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id > 2147483647::integer)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id >= (-2147483648)::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id >= (-32769)::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id >= 0::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id >= 3::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id >= 32768::integer), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id >= 2147483647::integer)
SELECT v FROM small WHERE id = ANY (ARRAY[(-2147483648)::integer, (-32769)::integer, 0::integer, 3::integer, 32768::integer, 2147483647::integer, NULL])
SELECT v FROM small WHERE id IN ((-2147483648)::integer, (-32769)::integer, 0::integer, 3::integer, 32768::integer, 2147483647::integer)
SELECT x.k, o.v FROM (VALUES ((-2147483648)::integer), ((-32769)::integer), (0::integer), (3::integer), (32768::integer), (2147483647::integer), (NULL)) x (k) JOIN small o ON o.id = x.k
SELECT x.k, (SELECT count(*) FROM small o WHERE o.id >= x.k AND o.id <= y.k), (SELECT count(*) FROM small o WHERE o.id > x.k AND y.k > o.id) FROM (VALUES ((-2147483648)::integer), ((-32769)::integer), (0::integer), (3::integer), (32768::integer), (2147483647::integer)) x (k), (VALUES ((-2147483648)::integer), ((-32769)::integer), (0::integer), (3::integer), (32768::integer), (2147483647::integer), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM small o WHERE o.id = ANY (ARRAY[x.k, NULL])) FROM (VALUES ((-2147483648)::integer), ((-32769)::integer), (0::integer), (3::integer), (32768::integer), (2147483647::integer)) x (k)
SELECT count(*) FROM small WHERE id BETWEEN (-32769)::integer AND 32768::integer
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id = '-9223372036854775808'::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id = '-2147483649'::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id = (-32769)::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id = 0::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id = 3::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id = 3000::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id = 32768::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id = 2147483647::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id = 2147483648::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id = 9223372036854775807::bigint)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id < '-9223372036854775808'::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id < '-2147483649'::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id < (-32769)::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id < 0::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id < 3::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id < 3000::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id < 32768::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id < 2147483647::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id < 2147483648::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id < 9223372036854775807::bigint)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id <= '-9223372036854775808'::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id <= '-2147483649'::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id <= (-32769)::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id <= 0::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id <= 3::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id <= 3000::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id <= 32768::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id <= 2147483647::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id <= 2147483648::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id <= 9223372036854775807::bigint)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id > '-9223372036854775808'::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id > '-2147483649'::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id > (-32769)::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id > 0::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id > 3::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id > 3000::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id > 32768::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id > 2147483647::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id > 2147483648::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id > 9223372036854775807::bigint)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id >= '-9223372036854775808'::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id >= '-2147483649'::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id >= (-32769)::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id >= 0::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id >= 3::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id >= 3000::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id >= 32768::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id >= 2147483647::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id >= 2147483648::bigint), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM small WHERE id >= 9223372036854775807::bigint)
SELECT v FROM small WHERE id = ANY (ARRAY['-9223372036854775808'::bigint, '-2147483649'::bigint, (-32769)::bigint, 0::bigint, 3::bigint, 3000::bigint, 32768::bigint, 2147483647::bigint, 2147483648::bigint, 9223372036854775807::bigint, NULL])
SELECT v FROM small WHERE id IN ('-9223372036854775808'::bigint, '-2147483649'::bigint, (-32769)::bigint, 0::bigint, 3::bigint, 3000::bigint, 32768::bigint, 2147483647::bigint, 2147483648::bigint, 9223372036854775807::bigint)
SELECT x.k, o.v FROM (VALUES ('-9223372036854775808'::bigint), ('-2147483649'::bigint), ((-32769)::bigint), (0::bigint), (3::bigint), (3000::bigint), (32768::bigint), (2147483647::bigint), (2147483648::bigint), (9223372036854775807::bigint), (NULL)) x (k) JOIN small o ON o.id = x.k
SELECT x.k, (SELECT count(*) FROM small o WHERE o.id >= x.k AND o.id <= y.k), (SELECT count(*) FROM small o WHERE o.id > x.k AND y.k > o.id) FROM (VALUES ('-9223372036854775808'::bigint), ('-2147483649'::bigint), ((-32769)::bigint), (0::bigint), (3::bigint), (3000::bigint), (32768::bigint), (2147483647::bigint), (2147483648::bigint), (9223372036854775807::bigint)) x (k), (VALUES ('-9223372036854775808'::bigint), ('-2147483649'::bigint), ((-32769)::bigint), (0::bigint), (3::bigint), (3000::bigint), (32768::bigint), (2147483647::bigint), (2147483648::bigint), (9223372036854775807::bigint), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM small o WHERE o.id = ANY (ARRAY[x.k, NULL])) FROM (VALUES ('-9223372036854775808'::bigint), ('-2147483649'::bigint), ((-32769)::bigint), (0::bigint), (3::bigint), (3000::bigint), (32768::bigint), (2147483647::bigint), (2147483648::bigint), (9223372036854775807::bigint)) x (k)
SELECT count(*) FROM small WHERE id BETWEEN '-2147483649'::bigint AND 2147483648::bigint
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d = '-infinity'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d = '2024-03-30'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d = '2024-03-30 12:00'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d = '2024-04-01 00:00:00.5'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d = 'infinity'::timestamp)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d < '-infinity'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d < '2024-03-30'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d < '2024-03-30 12:00'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d < '2024-04-01 00:00:00.5'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d < 'infinity'::timestamp)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d <= '-infinity'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d <= '2024-03-30'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d <= '2024-03-30 12:00'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d <= '2024-04-01 00:00:00.5'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d <= 'infinity'::timestamp)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d > '-infinity'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d > '2024-03-30'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d > '2024-03-30 12:00'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d > '2024-04-01 00:00:00.5'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d > 'infinity'::timestamp)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d >= '-infinity'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d >= '2024-03-30'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d >= '2024-03-30 12:00'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d >= '2024-04-01 00:00:00.5'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d >= 'infinity'::timestamp)
SELECT id FROM family WHERE d = ANY (ARRAY['-infinity'::timestamp, '2024-03-30'::timestamp, '2024-03-30 12:00'::timestamp, '2024-04-01 00:00:00.5'::timestamp, 'infinity'::timestamp, NULL])
SELECT id FROM family WHERE d IN ('-infinity'::timestamp, '2024-03-30'::timestamp, '2024-03-30 12:00'::timestamp, '2024-04-01 00:00:00.5'::timestamp, 'infinity'::timestamp)
SELECT x.k, o.id FROM (VALUES ('-infinity'::timestamp), ('2024-03-30'::timestamp), ('2024-03-30 12:00'::timestamp), ('2024-04-01 00:00:00.5'::timestamp), ('infinity'::timestamp), (NULL)) x (k) JOIN family o ON o.d = x.k
SELECT x.k, (SELECT count(*) FROM family o WHERE o.d >= x.k AND o.d <= y.k), (SELECT count(*) FROM family o WHERE o.d > x.k AND y.k > o.d) FROM (VALUES ('-infinity'::timestamp), ('2024-03-30'::timestamp), ('2024-03-30 12:00'::timestamp), ('2024-04-01 00:00:00.5'::timestamp), ('infinity'::timestamp)) x (k), (VALUES ('-infinity'::timestamp), ('2024-03-30'::timestamp), ('2024-03-30 12:00'::timestamp), ('2024-04-01 00:00:00.5'::timestamp), ('infinity'::timestamp), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM family o WHERE o.d = ANY (ARRAY[x.k, NULL])) FROM (VALUES ('-infinity'::timestamp), ('2024-03-30'::timestamp), ('2024-03-30 12:00'::timestamp), ('2024-04-01 00:00:00.5'::timestamp), ('infinity'::timestamp)) x (k)
SELECT count(*) FROM family WHERE d BETWEEN '2024-03-30'::timestamp AND '2024-04-01 00:00:00.5'::timestamp
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d = '-infinity'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d = '2024-03-30 00:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d = '2024-03-30 12:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d = '2024-04-01 00:00:00.5+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d = 'infinity'::timestamptz)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d < '-infinity'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d < '2024-03-30 00:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d < '2024-03-30 12:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d < '2024-04-01 00:00:00.5+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d < 'infinity'::timestamptz)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d <= '-infinity'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d <= '2024-03-30 00:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d <= '2024-03-30 12:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d <= '2024-04-01 00:00:00.5+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d <= 'infinity'::timestamptz)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d > '-infinity'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d > '2024-03-30 00:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d > '2024-03-30 12:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d > '2024-04-01 00:00:00.5+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d > 'infinity'::timestamptz)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d >= '-infinity'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d >= '2024-03-30 00:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d >= '2024-03-30 12:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d >= '2024-04-01 00:00:00.5+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE d >= 'infinity'::timestamptz)
SELECT id FROM family WHERE d = ANY (ARRAY['-infinity'::timestamptz, '2024-03-30 00:00+00'::timestamptz, '2024-03-30 12:00+00'::timestamptz, '2024-04-01 00:00:00.5+00'::timestamptz, 'infinity'::timestamptz, NULL])
SELECT id FROM family WHERE d IN ('-infinity'::timestamptz, '2024-03-30 00:00+00'::timestamptz, '2024-03-30 12:00+00'::timestamptz, '2024-04-01 00:00:00.5+00'::timestamptz, 'infinity'::timestamptz)
SELECT x.k, o.id FROM (VALUES ('-infinity'::timestamptz), ('2024-03-30 00:00+00'::timestamptz), ('2024-03-30 12:00+00'::timestamptz), ('2024-04-01 00:00:00.5+00'::timestamptz), ('infinity'::timestamptz), (NULL)) x (k) JOIN family o ON o.d = x.k
SELECT x.k, (SELECT count(*) FROM family o WHERE o.d >= x.k AND o.d <= y.k), (SELECT count(*) FROM family o WHERE o.d > x.k AND y.k > o.d) FROM (VALUES ('-infinity'::timestamptz), ('2024-03-30 00:00+00'::timestamptz), ('2024-03-30 12:00+00'::timestamptz), ('2024-04-01 00:00:00.5+00'::timestamptz), ('infinity'::timestamptz)) x (k), (VALUES ('-infinity'::timestamptz), ('2024-03-30 00:00+00'::timestamptz), ('2024-03-30 12:00+00'::timestamptz), ('2024-04-01 00:00:00.5+00'::timestamptz), ('infinity'::timestamptz), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM family o WHERE o.d = ANY (ARRAY[x.k, NULL])) FROM (VALUES ('-infinity'::timestamptz), ('2024-03-30 00:00+00'::timestamptz), ('2024-03-30 12:00+00'::timestamptz), ('2024-04-01 00:00:00.5+00'::timestamptz), ('infinity'::timestamptz)) x (k)
SELECT count(*) FROM family WHERE d BETWEEN '2024-03-30 00:00+00'::timestamptz AND '2024-04-01 00:00:00.5+00'::timestamptz
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts = '-infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts = '2024-03-30'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts = '2024-04-01'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts = 'infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts = '300000-01-01'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts = '4713-01-01 BC'::date)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts < '-infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts < '2024-03-30'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts < '2024-04-01'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts < 'infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts < '300000-01-01'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts < '4713-01-01 BC'::date)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts <= '-infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts <= '2024-03-30'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts <= '2024-04-01'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts <= 'infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts <= '300000-01-01'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts <= '4713-01-01 BC'::date)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts > '-infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts > '2024-03-30'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts > '2024-04-01'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts > 'infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts > '300000-01-01'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts > '4713-01-01 BC'::date)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts >= '-infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts >= '2024-03-30'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts >= '2024-04-01'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts >= 'infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts >= '300000-01-01'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts >= '4713-01-01 BC'::date)
SELECT id FROM family WHERE ts = ANY (ARRAY['-infinity'::date, '2024-03-30'::date, '2024-04-01'::date, 'infinity'::date, '300000-01-01'::date, '4713-01-01 BC'::date, NULL])
SELECT id FROM family WHERE ts IN ('-infinity'::date, '2024-03-30'::date, '2024-04-01'::date, 'infinity'::date, '300000-01-01'::date, '4713-01-01 BC'::date)
SELECT x.k, o.id FROM (VALUES ('-infinity'::date), ('2024-03-30'::date), ('2024-04-01'::date), ('infinity'::date), ('300000-01-01'::date), ('4713-01-01 BC'::date), (NULL)) x (k) JOIN family o ON o.ts = x.k
SELECT x.k, (SELECT count(*) FROM family o WHERE o.ts >= x.k AND o.ts <= y.k), (SELECT count(*) FROM family o WHERE o.ts > x.k AND y.k > o.ts) FROM (VALUES ('-infinity'::date), ('2024-03-30'::date), ('2024-04-01'::date), ('infinity'::date), ('300000-01-01'::date), ('4713-01-01 BC'::date)) x (k), (VALUES ('-infinity'::date), ('2024-03-30'::date), ('2024-04-01'::date), ('infinity'::date), ('300000-01-01'::date), ('4713-01-01 BC'::date), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM family o WHERE o.ts = ANY (ARRAY[x.k, NULL])) FROM (VALUES ('-infinity'::date), ('2024-03-30'::date), ('2024-04-01'::date), ('infinity'::date), ('300000-01-01'::date), ('4713-01-01 BC'::date)) x (k)
SELECT count(*) FROM family WHERE ts BETWEEN '2024-03-30'::date AND '300000-01-01'::date
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts = '-infinity'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts = '2024-03-30 00:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts = '2024-03-30 12:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts = '2024-04-01 00:00:00.5+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts = 'infinity'::timestamptz)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts < '-infinity'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts < '2024-03-30 00:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts < '2024-03-30 12:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts < '2024-04-01 00:00:00.5+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts < 'infinity'::timestamptz)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts <= '-infinity'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts <= '2024-03-30 00:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts <= '2024-03-30 12:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts <= '2024-04-01 00:00:00.5+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts <= 'infinity'::timestamptz)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts > '-infinity'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts > '2024-03-30 00:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts > '2024-03-30 12:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts > '2024-04-01 00:00:00.5+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts > 'infinity'::timestamptz)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts >= '-infinity'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts >= '2024-03-30 00:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts >= '2024-03-30 12:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts >= '2024-04-01 00:00:00.5+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE ts >= 'infinity'::timestamptz)
SELECT id FROM family WHERE ts = ANY (ARRAY['-infinity'::timestamptz, '2024-03-30 00:00+00'::timestamptz, '2024-03-30 12:00+00'::timestamptz, '2024-04-01 00:00:00.5+00'::timestamptz, 'infinity'::timestamptz, NULL])
SELECT id FROM family WHERE ts IN ('-infinity'::timestamptz, '2024-03-30 00:00+00'::timestamptz, '2024-03-30 12:00+00'::timestamptz, '2024-04-01 00:00:00.5+00'::timestamptz, 'infinity'::timestamptz)
SELECT x.k, o.id FROM (VALUES ('-infinity'::timestamptz), ('2024-03-30 00:00+00'::timestamptz), ('2024-03-30 12:00+00'::timestamptz), ('2024-04-01 00:00:00.5+00'::timestamptz), ('infinity'::timestamptz), (NULL)) x (k) JOIN family o ON o.ts = x.k
SELECT x.k, (SELECT count(*) FROM family o WHERE o.ts >= x.k AND o.ts <= y.k), (SELECT count(*) FROM family o WHERE o.ts > x.k AND y.k > o.ts) FROM (VALUES ('-infinity'::timestamptz), ('2024-03-30 00:00+00'::timestamptz), ('2024-03-30 12:00+00'::timestamptz), ('2024-04-01 00:00:00.5+00'::timestamptz), ('infinity'::timestamptz)) x (k), (VALUES ('-infinity'::timestamptz), ('2024-03-30 00:00+00'::timestamptz), ('2024-03-30 12:00+00'::timestamptz), ('2024-04-01 00:00:00.5+00'::timestamptz), ('infinity'::timestamptz), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM family o WHERE o.ts = ANY (ARRAY[x.k, NULL])) FROM (VALUES ('-infinity'::timestamptz), ('2024-03-30 00:00+00'::timestamptz), ('2024-03-30 12:00+00'::timestamptz), ('2024-04-01 00:00:00.5+00'::timestamptz), ('infinity'::timestamptz)) x (k)
SELECT count(*) FROM family WHERE ts BETWEEN '2024-03-30 00:00+00'::timestamptz AND '2024-04-01 00:00:00.5+00'::timestamptz
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz = '-infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz = '2024-03-30'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz = '2024-04-01'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz = 'infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz = '300000-01-01'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz = '4713-01-01 BC'::date)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz < '-infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz < '2024-03-30'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz < '2024-04-01'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz < 'infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz < '300000-01-01'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz < '4713-01-01 BC'::date)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz <= '-infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz <= '2024-03-30'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz <= '2024-04-01'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz <= 'infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz <= '300000-01-01'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz <= '4713-01-01 BC'::date)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz > '-infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz > '2024-03-30'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz > '2024-04-01'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz > 'infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz > '300000-01-01'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz > '4713-01-01 BC'::date)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz >= '-infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz >= '2024-03-30'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz >= '2024-04-01'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz >= 'infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz >= '300000-01-01'::date), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz >= '4713-01-01 BC'::date)
SELECT id FROM family WHERE tz = ANY (ARRAY['-infinity'::date, '2024-03-30'::date, '2024-04-01'::date, 'infinity'::date, '300000-01-01'::date, '4713-01-01 BC'::date, NULL])
SELECT id FROM family WHERE tz IN ('-infinity'::date, '2024-03-30'::date, '2024-04-01'::date, 'infinity'::date, '300000-01-01'::date, '4713-01-01 BC'::date)
SELECT x.k, o.id FROM (VALUES ('-infinity'::date), ('2024-03-30'::date), ('2024-04-01'::date), ('infinity'::date), ('300000-01-01'::date), ('4713-01-01 BC'::date), (NULL)) x (k) JOIN family o ON o.tz = x.k
SELECT x.k, (SELECT count(*) FROM family o WHERE o.tz >= x.k AND o.tz <= y.k), (SELECT count(*) FROM family o WHERE o.tz > x.k AND y.k > o.tz) FROM (VALUES ('-infinity'::date), ('2024-03-30'::date), ('2024-04-01'::date), ('infinity'::date), ('300000-01-01'::date), ('4713-01-01 BC'::date)) x (k), (VALUES ('-infinity'::date), ('2024-03-30'::date), ('2024-04-01'::date), ('infinity'::date), ('300000-01-01'::date), ('4713-01-01 BC'::date), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM family o WHERE o.tz = ANY (ARRAY[x.k, NULL])) FROM (VALUES ('-infinity'::date), ('2024-03-30'::date), ('2024-04-01'::date), ('infinity'::date), ('300000-01-01'::date), ('4713-01-01 BC'::date)) x (k)
SELECT count(*) FROM family WHERE tz BETWEEN '2024-03-30'::date AND '300000-01-01'::date
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz = '-infinity'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz = '2024-03-30'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz = '2024-03-30 12:00'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz = '2024-04-01 00:00:00.5'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz = 'infinity'::timestamp)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz < '-infinity'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz < '2024-03-30'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz < '2024-03-30 12:00'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz < '2024-04-01 00:00:00.5'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz < 'infinity'::timestamp)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz <= '-infinity'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz <= '2024-03-30'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz <= '2024-03-30 12:00'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz <= '2024-04-01 00:00:00.5'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz <= 'infinity'::timestamp)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz > '-infinity'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz > '2024-03-30'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz > '2024-03-30 12:00'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz > '2024-04-01 00:00:00.5'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz > 'infinity'::timestamp)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz >= '-infinity'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz >= '2024-03-30'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz >= '2024-03-30 12:00'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz >= '2024-04-01 00:00:00.5'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE tz >= 'infinity'::timestamp)
SELECT id FROM family WHERE tz = ANY (ARRAY['-infinity'::timestamp, '2024-03-30'::timestamp, '2024-03-30 12:00'::timestamp, '2024-04-01 00:00:00.5'::timestamp, 'infinity'::timestamp, NULL])
SELECT id FROM family WHERE tz IN ('-infinity'::timestamp, '2024-03-30'::timestamp, '2024-03-30 12:00'::timestamp, '2024-04-01 00:00:00.5'::timestamp, 'infinity'::timestamp)
SELECT x.k, o.id FROM (VALUES ('-infinity'::timestamp), ('2024-03-30'::timestamp), ('2024-03-30 12:00'::timestamp), ('2024-04-01 00:00:00.5'::timestamp), ('infinity'::timestamp), (NULL)) x (k) JOIN family o ON o.tz = x.k
SELECT x.k, (SELECT count(*) FROM family o WHERE o.tz >= x.k AND o.tz <= y.k), (SELECT count(*) FROM family o WHERE o.tz > x.k AND y.k > o.tz) FROM (VALUES ('-infinity'::timestamp), ('2024-03-30'::timestamp), ('2024-03-30 12:00'::timestamp), ('2024-04-01 00:00:00.5'::timestamp), ('infinity'::timestamp)) x (k), (VALUES ('-infinity'::timestamp), ('2024-03-30'::timestamp), ('2024-03-30 12:00'::timestamp), ('2024-04-01 00:00:00.5'::timestamp), ('infinity'::timestamp), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM family o WHERE o.tz = ANY (ARRAY[x.k, NULL])) FROM (VALUES ('-infinity'::timestamp), ('2024-03-30'::timestamp), ('2024-03-30 12:00'::timestamp), ('2024-04-01 00:00:00.5'::timestamp), ('infinity'::timestamp)) x (k)
SELECT count(*) FROM family WHERE tz BETWEEN '2024-03-30'::timestamp AND '2024-04-01 00:00:00.5'::timestamp
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d = '-infinity'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d = '2024-03-30'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d = '2024-03-30 12:00'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d = '2024-04-01 00:00:00.5'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d = 'infinity'::timestamp)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d < '-infinity'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d < '2024-03-30'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d < '2024-03-30 12:00'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d < '2024-04-01 00:00:00.5'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d < 'infinity'::timestamp)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d <= '-infinity'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d <= '2024-03-30'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d <= '2024-03-30 12:00'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d <= '2024-04-01 00:00:00.5'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d <= 'infinity'::timestamp)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d > '-infinity'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d > '2024-03-30'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d > '2024-03-30 12:00'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d > '2024-04-01 00:00:00.5'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d > 'infinity'::timestamp)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d >= '-infinity'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d >= '2024-03-30'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d >= '2024-03-30 12:00'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d >= '2024-04-01 00:00:00.5'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d >= 'infinity'::timestamp)
SELECT v FROM days WHERE d = ANY (ARRAY['-infinity'::timestamp, '2024-03-30'::timestamp, '2024-03-30 12:00'::timestamp, '2024-04-01 00:00:00.5'::timestamp, 'infinity'::timestamp, NULL])
SELECT v FROM days WHERE d IN ('-infinity'::timestamp, '2024-03-30'::timestamp, '2024-03-30 12:00'::timestamp, '2024-04-01 00:00:00.5'::timestamp, 'infinity'::timestamp)
SELECT x.k, o.v FROM (VALUES ('-infinity'::timestamp), ('2024-03-30'::timestamp), ('2024-03-30 12:00'::timestamp), ('2024-04-01 00:00:00.5'::timestamp), ('infinity'::timestamp), (NULL)) x (k) JOIN days o ON o.d = x.k
SELECT x.k, (SELECT count(*) FROM days o WHERE o.d >= x.k AND o.d <= y.k), (SELECT count(*) FROM days o WHERE o.d > x.k AND y.k > o.d) FROM (VALUES ('-infinity'::timestamp), ('2024-03-30'::timestamp), ('2024-03-30 12:00'::timestamp), ('2024-04-01 00:00:00.5'::timestamp), ('infinity'::timestamp)) x (k), (VALUES ('-infinity'::timestamp), ('2024-03-30'::timestamp), ('2024-03-30 12:00'::timestamp), ('2024-04-01 00:00:00.5'::timestamp), ('infinity'::timestamp), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM days o WHERE o.d = ANY (ARRAY[x.k, NULL])) FROM (VALUES ('-infinity'::timestamp), ('2024-03-30'::timestamp), ('2024-03-30 12:00'::timestamp), ('2024-04-01 00:00:00.5'::timestamp), ('infinity'::timestamp)) x (k)
SELECT count(*) FROM days WHERE d BETWEEN '2024-03-30'::timestamp AND '2024-04-01 00:00:00.5'::timestamp
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d = '-infinity'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d = '2024-03-30 00:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d = '2024-03-30 12:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d = '2024-04-01 00:00:00.5+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d = 'infinity'::timestamptz)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d < '-infinity'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d < '2024-03-30 00:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d < '2024-03-30 12:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d < '2024-04-01 00:00:00.5+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d < 'infinity'::timestamptz)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d <= '-infinity'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d <= '2024-03-30 00:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d <= '2024-03-30 12:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d <= '2024-04-01 00:00:00.5+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d <= 'infinity'::timestamptz)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d > '-infinity'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d > '2024-03-30 00:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d > '2024-03-30 12:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d > '2024-04-01 00:00:00.5+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d > 'infinity'::timestamptz)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d >= '-infinity'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d >= '2024-03-30 00:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d >= '2024-03-30 12:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d >= '2024-04-01 00:00:00.5+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM days WHERE d >= 'infinity'::timestamptz)
SELECT v FROM days WHERE d = ANY (ARRAY['-infinity'::timestamptz, '2024-03-30 00:00+00'::timestamptz, '2024-03-30 12:00+00'::timestamptz, '2024-04-01 00:00:00.5+00'::timestamptz, 'infinity'::timestamptz, NULL])
SELECT v FROM days WHERE d IN ('-infinity'::timestamptz, '2024-03-30 00:00+00'::timestamptz, '2024-03-30 12:00+00'::timestamptz, '2024-04-01 00:00:00.5+00'::timestamptz, 'infinity'::timestamptz)
SELECT x.k, o.v FROM (VALUES ('-infinity'::timestamptz), ('2024-03-30 00:00+00'::timestamptz), ('2024-03-30 12:00+00'::timestamptz), ('2024-04-01 00:00:00.5+00'::timestamptz), ('infinity'::timestamptz), (NULL)) x (k) JOIN days o ON o.d = x.k
SELECT x.k, (SELECT count(*) FROM days o WHERE o.d >= x.k AND o.d <= y.k), (SELECT count(*) FROM days o WHERE o.d > x.k AND y.k > o.d) FROM (VALUES ('-infinity'::timestamptz), ('2024-03-30 00:00+00'::timestamptz), ('2024-03-30 12:00+00'::timestamptz), ('2024-04-01 00:00:00.5+00'::timestamptz), ('infinity'::timestamptz)) x (k), (VALUES ('-infinity'::timestamptz), ('2024-03-30 00:00+00'::timestamptz), ('2024-03-30 12:00+00'::timestamptz), ('2024-04-01 00:00:00.5+00'::timestamptz), ('infinity'::timestamptz), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM days o WHERE o.d = ANY (ARRAY[x.k, NULL])) FROM (VALUES ('-infinity'::timestamptz), ('2024-03-30 00:00+00'::timestamptz), ('2024-03-30 12:00+00'::timestamptz), ('2024-04-01 00:00:00.5+00'::timestamptz), ('infinity'::timestamptz)) x (k)
SELECT count(*) FROM days WHERE d BETWEEN '2024-03-30 00:00+00'::timestamptz AND '2024-04-01 00:00:00.5+00'::timestamptz
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts = '-infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts = '2024-03-30'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts = '2024-04-01'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts = 'infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts = '300000-01-01'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts = '4713-01-01 BC'::date)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts < '-infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts < '2024-03-30'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts < '2024-04-01'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts < 'infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts < '300000-01-01'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts < '4713-01-01 BC'::date)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts <= '-infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts <= '2024-03-30'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts <= '2024-04-01'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts <= 'infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts <= '300000-01-01'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts <= '4713-01-01 BC'::date)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts > '-infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts > '2024-03-30'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts > '2024-04-01'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts > 'infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts > '300000-01-01'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts > '4713-01-01 BC'::date)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts >= '-infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts >= '2024-03-30'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts >= '2024-04-01'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts >= 'infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts >= '300000-01-01'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts >= '4713-01-01 BC'::date)
SELECT v FROM moments WHERE ts = ANY (ARRAY['-infinity'::date, '2024-03-30'::date, '2024-04-01'::date, 'infinity'::date, '300000-01-01'::date, '4713-01-01 BC'::date, NULL])
SELECT v FROM moments WHERE ts IN ('-infinity'::date, '2024-03-30'::date, '2024-04-01'::date, 'infinity'::date, '300000-01-01'::date, '4713-01-01 BC'::date)
SELECT x.k, o.v FROM (VALUES ('-infinity'::date), ('2024-03-30'::date), ('2024-04-01'::date), ('infinity'::date), ('300000-01-01'::date), ('4713-01-01 BC'::date), (NULL)) x (k) JOIN moments o ON o.ts = x.k
SELECT x.k, (SELECT count(*) FROM moments o WHERE o.ts >= x.k AND o.ts <= y.k), (SELECT count(*) FROM moments o WHERE o.ts > x.k AND y.k > o.ts) FROM (VALUES ('-infinity'::date), ('2024-03-30'::date), ('2024-04-01'::date), ('infinity'::date), ('300000-01-01'::date), ('4713-01-01 BC'::date)) x (k), (VALUES ('-infinity'::date), ('2024-03-30'::date), ('2024-04-01'::date), ('infinity'::date), ('300000-01-01'::date), ('4713-01-01 BC'::date), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM moments o WHERE o.ts = ANY (ARRAY[x.k, NULL])) FROM (VALUES ('-infinity'::date), ('2024-03-30'::date), ('2024-04-01'::date), ('infinity'::date), ('300000-01-01'::date), ('4713-01-01 BC'::date)) x (k)
SELECT count(*) FROM moments WHERE ts BETWEEN '2024-03-30'::date AND '300000-01-01'::date
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts = '-infinity'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts = '2024-03-30 00:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts = '2024-03-30 12:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts = '2024-04-01 00:00:00.5+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts = 'infinity'::timestamptz)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts < '-infinity'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts < '2024-03-30 00:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts < '2024-03-30 12:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts < '2024-04-01 00:00:00.5+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts < 'infinity'::timestamptz)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts <= '-infinity'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts <= '2024-03-30 00:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts <= '2024-03-30 12:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts <= '2024-04-01 00:00:00.5+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts <= 'infinity'::timestamptz)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts > '-infinity'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts > '2024-03-30 00:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts > '2024-03-30 12:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts > '2024-04-01 00:00:00.5+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts > 'infinity'::timestamptz)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts >= '-infinity'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts >= '2024-03-30 00:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts >= '2024-03-30 12:00+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts >= '2024-04-01 00:00:00.5+00'::timestamptz), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM moments WHERE ts >= 'infinity'::timestamptz)
SELECT v FROM moments WHERE ts = ANY (ARRAY['-infinity'::timestamptz, '2024-03-30 00:00+00'::timestamptz, '2024-03-30 12:00+00'::timestamptz, '2024-04-01 00:00:00.5+00'::timestamptz, 'infinity'::timestamptz, NULL])
SELECT v FROM moments WHERE ts IN ('-infinity'::timestamptz, '2024-03-30 00:00+00'::timestamptz, '2024-03-30 12:00+00'::timestamptz, '2024-04-01 00:00:00.5+00'::timestamptz, 'infinity'::timestamptz)
SELECT x.k, o.v FROM (VALUES ('-infinity'::timestamptz), ('2024-03-30 00:00+00'::timestamptz), ('2024-03-30 12:00+00'::timestamptz), ('2024-04-01 00:00:00.5+00'::timestamptz), ('infinity'::timestamptz), (NULL)) x (k) JOIN moments o ON o.ts = x.k
SELECT x.k, (SELECT count(*) FROM moments o WHERE o.ts >= x.k AND o.ts <= y.k), (SELECT count(*) FROM moments o WHERE o.ts > x.k AND y.k > o.ts) FROM (VALUES ('-infinity'::timestamptz), ('2024-03-30 00:00+00'::timestamptz), ('2024-03-30 12:00+00'::timestamptz), ('2024-04-01 00:00:00.5+00'::timestamptz), ('infinity'::timestamptz)) x (k), (VALUES ('-infinity'::timestamptz), ('2024-03-30 00:00+00'::timestamptz), ('2024-03-30 12:00+00'::timestamptz), ('2024-04-01 00:00:00.5+00'::timestamptz), ('infinity'::timestamptz), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM moments o WHERE o.ts = ANY (ARRAY[x.k, NULL])) FROM (VALUES ('-infinity'::timestamptz), ('2024-03-30 00:00+00'::timestamptz), ('2024-03-30 12:00+00'::timestamptz), ('2024-04-01 00:00:00.5+00'::timestamptz), ('infinity'::timestamptz)) x (k)
SELECT count(*) FROM moments WHERE ts BETWEEN '2024-03-30 00:00+00'::timestamptz AND '2024-04-01 00:00:00.5+00'::timestamptz
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz = '-infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz = '2024-03-30'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz = '2024-04-01'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz = 'infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz = '300000-01-01'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz = '4713-01-01 BC'::date)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz < '-infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz < '2024-03-30'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz < '2024-04-01'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz < 'infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz < '300000-01-01'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz < '4713-01-01 BC'::date)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz <= '-infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz <= '2024-03-30'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz <= '2024-04-01'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz <= 'infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz <= '300000-01-01'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz <= '4713-01-01 BC'::date)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz > '-infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz > '2024-03-30'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz > '2024-04-01'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz > 'infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz > '300000-01-01'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz > '4713-01-01 BC'::date)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz >= '-infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz >= '2024-03-30'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz >= '2024-04-01'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz >= 'infinity'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz >= '300000-01-01'::date), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz >= '4713-01-01 BC'::date)
SELECT v FROM instants WHERE tz = ANY (ARRAY['-infinity'::date, '2024-03-30'::date, '2024-04-01'::date, 'infinity'::date, '300000-01-01'::date, '4713-01-01 BC'::date, NULL])
SELECT v FROM instants WHERE tz IN ('-infinity'::date, '2024-03-30'::date, '2024-04-01'::date, 'infinity'::date, '300000-01-01'::date, '4713-01-01 BC'::date)
SELECT x.k, o.v FROM (VALUES ('-infinity'::date), ('2024-03-30'::date), ('2024-04-01'::date), ('infinity'::date), ('300000-01-01'::date), ('4713-01-01 BC'::date), (NULL)) x (k) JOIN instants o ON o.tz = x.k
SELECT x.k, (SELECT count(*) FROM instants o WHERE o.tz >= x.k AND o.tz <= y.k), (SELECT count(*) FROM instants o WHERE o.tz > x.k AND y.k > o.tz) FROM (VALUES ('-infinity'::date), ('2024-03-30'::date), ('2024-04-01'::date), ('infinity'::date), ('300000-01-01'::date), ('4713-01-01 BC'::date)) x (k), (VALUES ('-infinity'::date), ('2024-03-30'::date), ('2024-04-01'::date), ('infinity'::date), ('300000-01-01'::date), ('4713-01-01 BC'::date), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM instants o WHERE o.tz = ANY (ARRAY[x.k, NULL])) FROM (VALUES ('-infinity'::date), ('2024-03-30'::date), ('2024-04-01'::date), ('infinity'::date), ('300000-01-01'::date), ('4713-01-01 BC'::date)) x (k)
SELECT count(*) FROM instants WHERE tz BETWEEN '2024-03-30'::date AND '300000-01-01'::date
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz = '-infinity'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz = '2024-03-30'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz = '2024-03-30 12:00'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz = '2024-04-01 00:00:00.5'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz = 'infinity'::timestamp)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz < '-infinity'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz < '2024-03-30'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz < '2024-03-30 12:00'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz < '2024-04-01 00:00:00.5'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz < 'infinity'::timestamp)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz <= '-infinity'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz <= '2024-03-30'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz <= '2024-03-30 12:00'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz <= '2024-04-01 00:00:00.5'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz <= 'infinity'::timestamp)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz > '-infinity'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz > '2024-03-30'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz > '2024-03-30 12:00'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz > '2024-04-01 00:00:00.5'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz > 'infinity'::timestamp)
SELECT (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz >= '-infinity'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz >= '2024-03-30'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz >= '2024-03-30 12:00'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz >= '2024-04-01 00:00:00.5'::timestamp), (SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM instants WHERE tz >= 'infinity'::timestamp)
SELECT v FROM instants WHERE tz = ANY (ARRAY['-infinity'::timestamp, '2024-03-30'::timestamp, '2024-03-30 12:00'::timestamp, '2024-04-01 00:00:00.5'::timestamp, 'infinity'::timestamp, NULL])
SELECT v FROM instants WHERE tz IN ('-infinity'::timestamp, '2024-03-30'::timestamp, '2024-03-30 12:00'::timestamp, '2024-04-01 00:00:00.5'::timestamp, 'infinity'::timestamp)
SELECT x.k, o.v FROM (VALUES ('-infinity'::timestamp), ('2024-03-30'::timestamp), ('2024-03-30 12:00'::timestamp), ('2024-04-01 00:00:00.5'::timestamp), ('infinity'::timestamp), (NULL)) x (k) JOIN instants o ON o.tz = x.k
SELECT x.k, (SELECT count(*) FROM instants o WHERE o.tz >= x.k AND o.tz <= y.k), (SELECT count(*) FROM instants o WHERE o.tz > x.k AND y.k > o.tz) FROM (VALUES ('-infinity'::timestamp), ('2024-03-30'::timestamp), ('2024-03-30 12:00'::timestamp), ('2024-04-01 00:00:00.5'::timestamp), ('infinity'::timestamp)) x (k), (VALUES ('-infinity'::timestamp), ('2024-03-30'::timestamp), ('2024-03-30 12:00'::timestamp), ('2024-04-01 00:00:00.5'::timestamp), ('infinity'::timestamp), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM instants o WHERE o.tz = ANY (ARRAY[x.k, NULL])) FROM (VALUES ('-infinity'::timestamp), ('2024-03-30'::timestamp), ('2024-03-30 12:00'::timestamp), ('2024-04-01 00:00:00.5'::timestamp), ('infinity'::timestamp)) x (k)
SELECT count(*) FROM instants WHERE tz BETWEEN '2024-03-30'::timestamp AND '2024-04-01 00:00:00.5'::timestamp
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 = 0.5::real), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 = '-Infinity'::real), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 = 'NaN'::real), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 = 0.1::real), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 = 1.5::real)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 < 0.5::real), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 < '-Infinity'::real), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 < 'NaN'::real), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 < 0.1::real), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 < 1.5::real)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 <= 0.5::real), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 <= '-Infinity'::real), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 <= 'NaN'::real), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 <= 0.1::real), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 <= 1.5::real)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 > 0.5::real), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 > '-Infinity'::real), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 > 'NaN'::real), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 > 0.1::real), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 > 1.5::real)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 >= 0.5::real), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 >= '-Infinity'::real), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 >= 'NaN'::real), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 >= 0.1::real), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE f8 >= 1.5::real)
SELECT id FROM family WHERE f8 = ANY (ARRAY[0.5::real, '-Infinity'::real, 'NaN'::real, 0.1::real, 1.5::real, NULL])
SELECT id FROM family WHERE f8 IN (0.5::real, '-Infinity'::real, 'NaN'::real, 0.1::real, 1.5::real)
SELECT x.k, o.id FROM (VALUES (0.5::real), ('-Infinity'::real), ('NaN'::real), (0.1::real), (1.5::real), (NULL)) x (k) JOIN family o ON o.f8 = x.k
SELECT x.k, (SELECT count(*) FROM family o WHERE o.f8 >= x.k AND o.f8 <= y.k), (SELECT count(*) FROM family o WHERE o.f8 > x.k AND y.k > o.f8) FROM (VALUES (0.5::real), ('-Infinity'::real), ('NaN'::real), (0.1::real), (1.5::real)) x (k), (VALUES (0.5::real), ('-Infinity'::real), ('NaN'::real), (0.1::real), (1.5::real), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM family o WHERE o.f8 = ANY (ARRAY[x.k, NULL])) FROM (VALUES (0.5::real), ('-Infinity'::real), ('NaN'::real), (0.1::real), (1.5::real)) x (k)
SELECT count(*) FROM family WHERE f8 BETWEEN '-Infinity'::real AND 0.1::real
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE t = 't3'::name), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE t = 't'::name), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE t = 'max'::name)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE t < 't3'::name), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE t < 't'::name), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE t < 'max'::name)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE t <= 't3'::name), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE t <= 't'::name), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE t <= 'max'::name)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE t > 't3'::name), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE t > 't'::name), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE t > 'max'::name)
SELECT (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE t >= 't3'::name), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE t >= 't'::name), (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM family WHERE t >= 'max'::name)
SELECT id FROM family WHERE t = ANY (ARRAY['t3'::name, 't'::name, 'max'::name, NULL])
SELECT id FROM family WHERE t IN ('t3'::name, 't'::name, 'max'::name)
SELECT x.k, o.id FROM (VALUES ('t3'::name), ('t'::name), ('max'::name), (NULL)) x (k) JOIN family o ON o.t = x.k
SELECT x.k, (SELECT count(*) FROM family o WHERE o.t >= x.k AND o.t <= y.k), (SELECT count(*) FROM family o WHERE o.t > x.k AND y.k > o.t) FROM (VALUES ('t3'::name), ('t'::name), ('max'::name)) x (k), (VALUES ('t3'::name), ('t'::name), ('max'::name), (NULL)) y (k)
SELECT x.k, (SELECT count(*) FROM family o WHERE o.t = ANY (ARRAY[x.k, NULL])) FROM (VALUES ('t3'::name), ('t'::name), ('max'::name)) x (k)
SELECT count(*) FROM family WHERE t BETWEEN 't'::name AND 't'::name
SELECT v FROM fleet WHERE cust = 1::bigint AND seq = 5
SELECT v FROM fleet WHERE cust = 3000000000 AND seq = 5::bigint
SELECT v FROM fleet WHERE cust = 1::bigint
SELECT v FROM fleet WHERE cust IN (1, 3000000000)
SELECT v FROM fleet WHERE cust = ANY ('{1,0,3000000000,NULL}'::bigint[]) AND seq > 3::bigint
SELECT v FROM fleet WHERE (cust, seq) = (1::bigint, 5::bigint)
SELECT v FROM fleet WHERE (cust, seq) > (0::bigint, 70000)
SELECT v FROM fleet WHERE (cust, seq) IN ((1::bigint, 5), (3000000000, 6), (0, 70000))
SELECT x.k, f.v FROM (VALUES (1::bigint, 5), (1, 70000), (3000000000, 5)) x (k, s) JOIN fleet f ON f.cust = x.k AND f.seq = x.s
SELECT id FROM family WHERE lower(vc) = 't3'
SELECT id FROM family WHERE lower(vc::text) = 't3'
SELECT id FROM family WHERE lower(vc::varchar) = 'max'
SELECT lower(vc) FROM family GROUP BY lower(vc::text)
UPDATE family SET t = 'u' WHERE id = 3::bigint
UPDATE family SET t = 'u' WHERE id = 3000000000
DELETE FROM small WHERE id = ANY (ARRAY[0, 3000, 70000]::bigint[])
SELECT v FROM fleet WHERE cust = 1::bigint AND seq = 5 FOR UPDATE
UPDATE family SET t = x.t FROM (VALUES (4::bigint, 'w'), (5000000000, 'z')) x (k, t) WHERE id = x.k
DELETE FROM days USING (VALUES (timestamp '2024-03-30'), ('2024-03-31 12:00')) x (k) WHERE d = x.k
SELECT id, t FROM family
SELECT v FROM small
SELECT v FROM days
-- factors of OR
SELECT l.order_id, g.id FROM lines l, things g WHERE (g.id = l.no AND g.name = 'thing1' AND l.qty < 9) OR (g.id = l.no AND g.name = 'thing2' AND l.qty > 15) OR (l.qty = 3 AND g.id = l.no)
SELECT id FROM things WHERE (id = 3 AND name = 'thing3') OR (id = 3 AND grp = 2) OR (name = 'c' AND id = 3)
SELECT id FROM things WHERE (grp = 3 AND name = 'thing1') OR grp = 3
SELECT id FROM things WHERE (grp = 3 AND name = 'thing1') OR (grp = 3 AND NULL)
SELECT g.id, l.order_id FROM things g LEFT JOIN lines l ON (g.id = l.no AND g.name = 'thing1') OR (g.id = l.no AND l.qty > 15)
SELECT id FROM things WHERE ((grp = 3 AND name = 'thing1') OR (grp = 3 AND id > 9)) IS NOT TRUE
-- policies with functions: the ids name the buckets
INSERT INTO counts SELECT 'counts/' || i || '$@' || (i + 1048576) % 1048576, jsonb_build_object('n', CASE i % 3 WHEN 0 THEN to_jsonb(i) WHEN 1 THEN to_jsonb(i::text) ELSE to_jsonb(' ' || i || ' ') END) FROM generate_series(-5, 24) i
INSERT INTO blocks SELECT 'blocks/' || i || '$@' || (trunc(i * 99.5)::int + 1048576) % 1048576, jsonb_build_object('n', CASE i % 2 WHEN 0 THEN to_jsonb(i * 99.5) ELSE to_jsonb((i * 99.5)::text) END) FROM generate_series(-8, 24) i
INSERT INTO daily SELECT 'daily/' || i || '$' || ((timestamp '2026-11-20' + i * interval '5 hours')::date - date '0001-01-01'), jsonb_build_object('at', to_char(timestamp '2026-11-20' + i * interval '5 hours', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) FROM generate_series(0, 40) i
INSERT INTO monthly SELECT 'monthly/' || i || '$' || 12 * (2025 + i / 12) + i % 12, jsonb_build_object('at', 2026 + i / 12 || '-' || lpad((i % 12 + 1)::text, 2, '0') || '-15') FROM generate_series(0, 23) i
INSERT INTO visits SELECT 'visits/' || i || '$' || 'c' || i % 3 || (date '2026-11-20' + i % 5 - date '0001-01-01'), jsonb_build_object('Customer', 'c' || i % 3, 'at', date '2026-11-20' + i % 5 || ' 12:00+00') FROM generate_series(0, 29) i
INSERT INTO meters SELECT i * 0.5, i % 2, i FROM generate_series(-10, 20) i
INSERT INTO dialled SELECT i % 7 - 3, i, i FROM generate_series(0, 20) i
INSERT INTO logged SELECT timestamptz '2026-11-20 00:00Z' + i * interval '7 hours', i, i FROM generate_series(0, 30) i
INSERT INTO stamped SELECT timestamp '2026-01-31' + i * interval '9 days', i, i FROM generate_series(0, 30) i
INSERT INTO dated SELECT date '2026-11-20' + i, 0, i FROM generate_series(0, 30) i
INSERT INTO texted SELECT '2026-11-' || 10 + i % 20 || 'T12:00Z', i, i FROM generate_series(0, 30) i
SELECT id FROM counts WHERE (doc ->> 'n')::numeric = 7
SELECT id FROM counts WHERE (doc ->> 'n')::int = -3
SELECT id FROM counts WHERE (doc ->> 'n')::bigint IN (0, 8, 9, 10, 99)
SELECT id FROM counts WHERE (doc ->> 'n')::float8 = 11
SELECT id FROM counts WHERE (doc ->> 'n')::int = ANY ('{1,2,5000000000,NULL}'::bigint[])
SELECT id FROM counts WHERE (doc ->> 'n')::int = 7 OR doc ->> 'n' = ' 8 ' OR (doc ->> 'n')::float8 = 20
SELECT id FROM counts WHERE doc -> 'n' = '9' OR doc @> '{"n": "10"}'
SELECT count(*) FROM counts WHERE (doc ->> 'n')::int = 5000000000
SELECT id FROM blocks WHERE (doc ->> 'n')::numeric = 597
SELECT id FROM blocks WHERE (doc ->> 'n')::numeric IN (-99.5, -796, 0.0, 2388)
SELECT id FROM blocks WHERE (doc ->> 'n')::float8 = 1492.5
SELECT a.id, b.id FROM counts a, counts b WHERE (a.doc ->> 'n')::int = 4 AND (b.doc ->> 'n')::int = (a.doc ->> 'n')::int + 1
SELECT id FROM daily WHERE (doc ->> 'at')::timestamptz = '2026-11-21 06:00Z'
SELECT id FROM daily WHERE (doc ->> 'at')::timestamptz >= '2026-11-22 00:00Z' AND (doc ->> 'at')::timestamptz < '2026-11-24 00:00Z'
SELECT id FROM daily WHERE (doc ->> 'at')::date = '2026-11-23'
SELECT id FROM daily WHERE (doc ->> 'at')::timestamp BETWEEN '2026-11-23' AND '2026-11-24'
SELECT count(*) FROM daily WHERE (doc ->> 'at')::timestamptz > '2026-11-22 00:00Z'
SELECT count(*) FROM daily WHERE (doc ->> 'at')::timestamptz > '2026-11-22 00:00Z' AND (doc ->> 'at')::timestamptz < 'infinity'
SELECT doc ->> 'at' FROM monthly WHERE (doc ->> 'at')::date >= '2026-03-01' AND (doc ->> 'at')::date < '2026-06-01'
SELECT doc ->> 'at' FROM monthly WHERE doc ->> 'at' IN ('2026-03-15', '2027-12-15', 'none')
SELECT id FROM visits WHERE doc ->> 'Customer' = 'c1' AND (doc ->> 'at')::timestamptz = '2026-11-22 12:00Z'
SELECT id FROM visits WHERE doc ->> 'Customer' IN ('c0', 'c2') AND (doc ->> 'at')::timestamptz >= '2026-11-22 00:00Z' AND (doc ->> 'at')::timestamptz < '2026-11-23 23:00Z'
SELECT count(*) FROM visits WHERE (doc ->> 'at')::timestamptz = '2026-11-22 12:00Z'
SELECT * FROM meters WHERE n = 7
SELECT * FROM meters WHERE n IN (-0.5, 0, 0.5, 7.5, 100)
SELECT * FROM meters WHERE n::float8 = -2
SELECT * FROM meters WHERE n = 7 AND k = 0
SELECT v FROM dialled WHERE n = 2
SELECT v FROM dialled WHERE n = -3.0
SELECT v FROM dialled WHERE n = 1::float8 AND k > 3
SELECT v FROM logged WHERE at = '2026-11-20 21:00Z'
SELECT v FROM logged WHERE at >= '2026-11-22 00:00Z' AND at < '2026-11-24 00:00Z'
SELECT v FROM logged WHERE at >= '2026-11-22 00:00Z' AND at < '2026-11-23 00:00Z' ORDER BY at DESC
SELECT v FROM stamped WHERE at BETWEEN '2026-03-01' AND '2026-04-30'
SELECT v FROM dated WHERE at > '2026-11-22' AND at <= '2026-11-25'
SELECT v FROM dated WHERE at IN ('2026-11-22', '2026-12-01')
SELECT v FROM texted WHERE at::timestamptz = '2026-11-15 12:00Z'
SELECT v FROM texted WHERE at = '2026-11-15T12:00Z'
SELECT doc -> 'n', count(*) FROM counts GROUP BY 1 HAVING count(*) > 1
UPDATE counts SET doc = doc || '{"v": 1}' WHERE (doc ->> 'n')::int IN (3, 4)
SELECT doc FROM counts WHERE (doc ->> 'n')::int = 4
DELETE FROM logged WHERE at >= '2026-11-22 00:00Z' AND at < '2026-11-24 00:00Z'
SELECT count(*), min(v), max(v) FROM logged
-- joins in the fragments by key, policy and index
INSERT INTO fleet SELECT i % 7 - 1, i + 100, i * 3 FROM generate_series(1, 30) i
INSERT INTO people SELECT 'people/' || i, jsonb_build_object('Name', 'N' || i % 4), 'm' || i || '@x', i % 9, CASE WHEN i % 3 = 0 THEN 7 ELSE i % 5 END FROM generate_series(1, 40) i
SELECT f.cust, f.seq, t.name FROM fleet f JOIN things t ON t.id = f.cust
SELECT f.cust, f.seq, t.name FROM fleet f LEFT JOIN things t ON t.id = f.cust AND t.grp = 1
SELECT f.cust, f.seq FROM fleet f WHERE NOT EXISTS (SELECT FROM things t WHERE t.id = f.cust AND t.id > 2)
SELECT t.id FROM things t WHERE t.id IN (SELECT cust FROM fleet)
SELECT t.id, f.v FROM fleet f RIGHT JOIN things t ON t.id = f.cust
SELECT f.cust, count(*), sum(t.big) FROM fleet f JOIN things t ON t.id = f.cust GROUP BY f.cust
SELECT count(*) FROM fleet a JOIN fleet b ON a.cust = b.cust AND a.seq = b.seq
SELECT a.cust, a.seq, b.seq FROM fleet a JOIN fleet b ON a.cust = b.cust WHERE a.cust = 3 AND b.seq < 112
-- joins whose rows say in which bucket the other side's are
SELECT x.k, f.seq FROM (VALUES (1::bigint), (3), (NULL), (-1), (1), (99)) x (k) JOIN fleet f ON f.cust = x.k
SELECT x.k, f.seq FROM (VALUES (1), (3), (NULL), (-1), (99)) x (k) LEFT JOIN fleet f ON f.cust = x.k AND f.seq <> 101
SELECT x.k FROM (VALUES (1::smallint), (3), (NULL), (2), (99)) x (k) WHERE EXISTS (SELECT FROM fleet f WHERE f.cust = x.k AND f.seq > x.k + 120)
SELECT x.k FROM (VALUES (1::bigint), (3), (NULL), (2), (99)) x (k) WHERE NOT EXISTS (SELECT FROM fleet f WHERE f.cust = x.k AND f.seq > 125)
SELECT x.k, f.seq, g.v FROM (VALUES (1::bigint), (3), (2)) x (k) LEFT JOIN (fleet f JOIN fleet g ON g.cust = f.cust AND g.seq < f.seq) ON f.cust = x.k AND f.seq < 120
SELECT x.k, count(f.seq) FROM (VALUES (1::numeric), (3.5), (NULL), (2)) x (k) LEFT JOIN fleet f ON f.cust = x.k GROUP BY 1
SELECT x.k FROM (VALUES (1::bigint), (3), (NULL), (2), (99)) x (k) WHERE x.k IN (SELECT cust FROM fleet WHERE seq > 110)
-- equalities that follow from others
SELECT a.id, b.name, c.seq FROM things a, things b, fleet c WHERE a.id = b.id AND b.id = c.cust AND c.seq < 115
SELECT a.id, b.id, c.seq, d.n FROM things a, fleet c, things b, (VALUES (1::bigint), (2), (2), (NULL), (5)) d (n) WHERE a.id = c.cust AND d.n = b.id AND b.id = a.id
SELECT x.*, y.n, z.n FROM (VALUES (1, 1), (1, 2), (2, 2), (NULL, 1)) x (a, b), (VALUES (1), (2), (3)) y (n), (VALUES (1), (2), (2)) z (n) WHERE x.a = y.n AND x.b = y.n AND y.n = z.n
SELECT x.*, y.n, z.n, w.* FROM (VALUES (1, 1), (1, 2), (2, 2), (3, 3)) x (a, b), (VALUES (1), (2), (3)) y (n), (VALUES (1), (2), (2)) z (n) LEFT JOIN (VALUES (1, 5), (3, 7)) w (n, m) ON w.n = z.n WHERE x.a = y.n AND y.n = z.n AND x.b >= z.n
SELECT x.n, y.n, z.n, w.m FROM (VALUES (1), (2), (3)) x (n), (VALUES (1), (2), (4)) y (n), (VALUES (1), (2), (2)) z (n) LEFT JOIN (VALUES (1, 5), (3, 7)) w (n, m) ON w.n = z.n WHERE x.n = y.n AND y.n = z.n AND x.n = w.n
SELECT count(*) FROM things a, things b, things c, fleet d WHERE a.id = b.id AND a.id = c.id AND b.id = d.cust AND c.grp = b.grp
SELECT p.id, q.mail FROM people p JOIN people q ON q.id = p.id WHERE p.grp = 7
SELECT p.id, q.mail FROM people q JOIN people p ON q.id = p.id AND p.n > 3 WHERE p.grp = 7
SELECT p.id, q.mail FROM people p LEFT JOIN people q ON q.id = p.id AND q.n > 3 WHERE p.grp = 7
SELECT q.mail FROM people q WHERE q.id IN (SELECT p.id FROM people p WHERE p.grp = 7)
SELECT p.id FROM people p WHERE p.grp = 7 AND NOT EXISTS (SELECT FROM people q WHERE q.id = p.id AND q.n = 1)
SELECT p.id FROM people p WHERE p.grp = 7 AND EXISTS (SELECT FROM people q WHERE q.id = p.id AND q.n > p.n - 1)
SELECT p.n, count(q.mail) FROM people p JOIN people q ON q.id = p.id WHERE p.grp = 7 GROUP BY p.n
SELECT p.id, q.n, r.mail FROM people p JOIN people q ON q.id = p.id JOIN people r ON r.id = q.id WHERE p.grp = 7
UPDATE people q SET n = q.n + 100 FROM people p WHERE p.id = q.id AND p.grp = 7 AND p.n > 5 RETURNING q.id, q.n
DELETE FROM people q USING people p WHERE p.id = q.id AND p.grp = 7 AND p.n > 105 RETURNING q.id
-- look-up joins in batches
SELECT x.k, t.name FROM unnest(ARRAY[3, 1, NULL, 99, 1]) x (k) JOIN things t ON t.id = x.k
SELECT x.k, t.name FROM unnest(ARRAY[3, 1, NULL, 99, 1]) x (k) LEFT JOIN things t ON t.id = x.k AND t.grp > 1
SELECT x.k FROM unnest(ARRAY[3, 1, NULL, 99, 1]) x (k) WHERE EXISTS (SELECT FROM things t WHERE t.id = x.k)
SELECT x.k FROM unnest(ARRAY[3, 1, NULL, 99, 1]) x (k) WHERE NOT EXISTS (SELECT FROM things t WHERE t.id = x.k)
SELECT t.id, x.k FROM things t JOIN unnest(ARRAY[3, 1, NULL, 99, 1]) x (k) ON t.id = x.k
SELECT t.id, g FROM things t JOIN generate_series(-5, 700) g ON t.id = g
SELECT g % 30, p.id, p.n FROM generate_series(1, 100) g JOIN people p ON p.grp = g % 30 AND p.n > g % 7 WHERE g < 40
SELECT count(*), sum(p.n) FROM generate_series(1, 900) g LEFT JOIN people p ON p.grp = g % 30
SELECT g, p.id FROM generate_series(1, 50) g LEFT JOIN people p ON p.mail = 'm' || g || '@x' AND p.n <> 3
WITH RECURSIVE r (id, depth) AS (SELECT 20, 0 UNION ALL SELECT t.id - 3, depth + 1 FROM r JOIN things t ON t.id = r.id) SELECT * FROM r
UPDATE things t SET name = 'set' FROM generate_series(1, 60) g WHERE t.id = g AND g % 2 = 0 RETURNING t.id
DELETE FROM people p USING generate_series(1, 60) g WHERE p.grp = g AND g > 3 RETURNING p.id, g
SELECT * FROM (SELECT g FROM generate_series(1, 800) g ORDER BY g) x JOIN things t ON t.id = x.g ORDER BY x.g LIMIT 3
-- conditions, order and LIMIT that are asked earlier
SELECT grp, count(*) FROM things GROUP BY grp HAVING grp > 1 AND count(*) > 2 ORDER BY 1
SELECT grp + 1, count(*) FROM things GROUP BY 1 HAVING grp + 1 = 2
SELECT grp, count(*) FROM things GROUP BY grp HAVING false
SELECT count(*) FROM things HAVING false
SELECT count(*) FROM things WHERE id > 99 HAVING 1 = 1
SELECT grp, name, count(*) FROM things GROUP BY GROUPING SETS ((grp), (name), ()) HAVING grp IS NULL ORDER BY 1, 2, 3
SELECT grp FROM things GROUP BY grp HAVING grp IN (SELECT 2) OR grp IS NULL ORDER BY 1
SELECT id, max(name) FROM things GROUP BY id HAVING id > 20 AND max(big) > 1 ORDER BY 1
(SELECT id, grp FROM things) UNION ALL (SELECT n, grp FROM people) ORDER BY 1 DESC, 2 LIMIT 4 OFFSET 3
(SELECT id, grp FROM things) UNION ALL (SELECT n, grp FROM people) ORDER BY grp NULLS FIRST, id LIMIT 5
SELECT id FROM things UNION ALL SELECT id FROM things WHERE id < 3 UNION ALL SELECT 99 ORDER BY 1 DESC LIMIT 6
SELECT id FROM things UNION SELECT grp FROM things ORDER BY 1 LIMIT 3
SELECT id FROM things EXCEPT ALL SELECT id FROM things WHERE id < 20 ORDER BY 1 LIMIT 3
(SELECT id FROM things ORDER BY id LIMIT 2) UNION ALL SELECT grp FROM things ORDER BY 1 DESC NULLS LAST LIMIT 3
SELECT x.id, x.id * 2 FROM (SELECT id FROM things UNION ALL SELECT grp FROM things) x ORDER BY x.id DESC NULLS LAST LIMIT 3
SELECT * FROM (SELECT grp, count(*) AS n FROM things GROUP BY grp) x ORDER BY n DESC, grp LIMIT 2
SELECT * FROM (SELECT DISTINCT grp FROM things) x ORDER BY grp LIMIT 2 OFFSET 1
SELECT * FROM (SELECT id, row_number() OVER (ORDER BY id DESC) FROM things) x ORDER BY id LIMIT 2
select f, count(*) over (order by f range between 'inf' preceding and 1 following), count(*) over (order by f desc range between 1.5 preceding and 'infinity' following) from (values (1.0::float8),(2),(2.5),('inf'),('-inf'),('nan'),(null)) v(f) order by f
select f, count(*) over (order by f range between 'inf' preceding and 'inf' preceding), count(*) over (order by f nulls first range between 1.5 following and 'infinity' following) from (values (1.0::numeric),(2),(2.5),('inf'),('-inf'),('nan'),(null)) v(f) order by f
select f, count(*) over (order by f range between 1 preceding and 1 following) from (values (1.0::float4),(2),(2.5),('inf'),('-inf'),('nan'),(null)) v(f) order by f
select d, count(*) over (order by d range between '1 day' preceding and '1 day' following) from (values (date '2024-01-01'),('infinity'),('-infinity'),('2024-01-02'),('2024-02-02'),(null)) v(d) order by d
select d, count(*) over (order by d desc nulls last range between '1 mon' preceding and current row) from (values (date '2024-01-31'),('infinity'),('-infinity'),('2024-02-29'),('2024-03-31'),(null)) v(d) order by d
select t, count(*) over (order by t range between '1 hour' preceding and '2 hours' following) from (values (timetz '23:00+01'),('01:00+02'),('23:30-05'),('22:00+00')) v(t) order by t
select i, count(*) over (order by i range between 9223372036854775807 preceding and 1 following), sum(i) over (order by i desc range between unbounded preceding and 2 following) from (values (1::int8),(9223372036854775807),(-9223372036854775808),(5),(3),(null)) v(i) order by i
select i, count(*) over (order by i range between 2::int2 preceding and '1' following exclude ties) from (values (1::int2),(2),(2),(5),(3),(null)) v(i) order by i
select count(*) over (order by i range between -1 preceding and 1 following) from (values (1)) v(i)
select count(*) over (order by i range between null preceding and 1 following) from (values (1)) v(i)
select count(*) over (order by i range between 1.5 preceding and 1 following) from (values (1)) v(i)
select count(*) over (order by i range between '1 day' preceding and 1 following) from (values ('a'::text)) v(i)
select count(*) over (order by i range between 1 preceding and 1 following) from (values (date '2020-01-01')) v(i)
select count(*) over (order by i range between i preceding and 1 following) from (values (1)) v(i)
select count(*) over (order by i range between '-1 day' preceding and '1 day' following) from (values (date '2020-01-01')) v(i)
select count(*) over (range between 1 preceding and 1 following) from (values (date '2020-01-01')) v(i)
select count(*) over (order by i, i range between 1 preceding and 1 following) from (values (date '2020-01-01')) v(i)
select count(*) over (order by i range between 'nan' preceding and 1 following) from (values (1.5)) v(i)
select count(*) over (order by i range between '1 month -1 hour' preceding and '1 hour' following) from (values (time '10:00')) v(i)
select ts, count(*) over (order by ts range between '1 month' preceding and '2 days' following) from (values (timestamptz '2024-03-30 12:00+00'),('infinity'),('-infinity'),('2024-02-29 12:00+00'),('2024-03-31 13:00+00')) v(ts) order by ts
select t, count(*) over (order by t range between '2 hours' preceding and '2 hours' following) from (select time '00:00' + n * interval '37 min' from generate_series(0, 60) n) v(t) order by t, 2
select t, count(*) over (order by t desc range between '2 hours' preceding and '2 hours' following) from (select time '00:00' + n * interval '37 min' from generate_series(0, 60) n) v(t) order by t desc, 2
select d, count(*) over (order by d range between '1 month' preceding and '2 days' following) from (select date '2024-01-31' + n from generate_series(0, 60) n) v(d) order by d
select ts, count(*) over (order by ts range between '1 month' preceding and '2 days' following exclude group) from (select timestamp '2024-01-31' + n * interval '11 hours' from generate_series(0, 60) n) v(ts) order by ts
select i, count(*) over (order by i/7 groups between 1 preceding and 2 following), sum(i) over (order by i/7 groups between 2 following and 3 following), lag(i,3,-1) over (order by i desc), nth_value(i,2) over (partition by i%3 order by i rows between 3 preceding and 1 preceding) from generate_series(0, 60) i order by i
select iv, count(*) over (order by iv range between '2 days' preceding and '2 days' following) from (select n * interval '1 day' from generate_series(0, 12) n) v(iv) order by iv
SELECT -x.id FROM (SELECT id FROM things UNION ALL SELECT grp FROM things) x ORDER BY 1 LIMIT 3
SELECT count(*) FROM (SELECT * FROM (SELECT id FROM things UNION ALL SELECT id FROM people) y LIMIT 7) x
SELECT count(*) FROM (SELECT DISTINCT grp FROM things LIMIT 3) x
SELECT count(*) FROM (SELECT DISTINCT grp FROM things LIMIT 90 OFFSET 2) x
SELECT EXISTS (SELECT FROM things WHERE id > 3), EXISTS (SELECT FROM things WHERE id > 300), EXISTS (SELECT FROM things LIMIT 0)
SELECT id, EXISTS (SELECT FROM people p WHERE p.grp = t.id OFFSET 29) FROM things t WHERE id BETWEEN 2 AND 8 ORDER BY 1
SELECT EXISTS (SELECT count(*) FROM things WHERE id > 300), EXISTS (SELECT 1 UNION ALL SELECT 2), EXISTS (SELECT generate_series(1, 0))
-- joins in the order of the query
SELECT f.id, t.name FROM family f JOIN things t ON t.id = f.i2 / 3000 + 3 ORDER BY f.ts DESC, f.id LIMIT 5
SELECT f.id, t.name FROM family f LEFT JOIN things t ON t.id = f.i2 / 3000 + 3 ORDER BY f.ts DESC, f.id LIMIT 5 OFFSET 1
SELECT f.id, t.name FROM family f LEFT JOIN things t ON t.id = f.i2 / 3000 + 3 WHERE t.grp IS NULL ORDER BY f.i8 NULLS FIRST, f.id LIMIT 4
SELECT f.id, t.id FROM things t RIGHT JOIN family f ON t.id = f.i2 AND t.grp > 1 ORDER BY f.d DESC NULLS LAST, f.id LIMIT 6
SELECT f.id, x.n FROM family f, LATERAL (SELECT count(*) AS n FROM family g WHERE g.d = f.d) x ORDER BY f.ts, f.id LIMIT 5
SELECT f.id, f.i8 FROM family f, generate_series(1, least(f.id, 4)) s ORDER BY f.i8, f.id LIMIT 9
SELECT f.id FROM family f WHERE EXISTS (SELECT FROM things t WHERE t.id = f.id) ORDER BY f.t DESC, f.id LIMIT 4
SELECT f.id FROM family f WHERE NOT EXISTS (SELECT FROM things t WHERE t.id = f.id) ORDER BY f.t DESC, f.id LIMIT 4
SELECT f.id, t.name FROM family f JOIN things t ON t.id = f.id ORDER BY f.ts LIMIT 0
SELECT f.id FROM family f JOIN family g ON g.i8 = f.i8 LEFT JOIN things t ON t.id = g.id WHERE f.ts > '2024-03-30' ORDER BY f.ts, f.id LIMIT 7
-- OR as a union of row sets
SELECT id FROM family WHERE i2 = 3000 OR i8 = 2000000000 OR t = 't1' OR id = 4 ORDER BY 1
SELECT id FROM family WHERE i2 = 3000 OR i2 IS NULL OR i8 > 8000000000 OR d < '2024-03-24' ORDER BY 1
SELECT count(*), count(i2) FROM family WHERE (i2 = 3000 OR i8 = 1000000000 OR NULL) AND (d = '2024-03-31' OR id < 3 AND t = 't1')
-- OR over one index: several ranges of one scan
SELECT id, i8 FROM family WHERE i8 BETWEEN 1000000000 AND 3000000000 OR i8 BETWEEN 2000000000 AND 5000000000 OR i8 = 9000000000 OR i8 = 9000000000 ORDER BY 1
SELECT count(*), sum(i8) FROM family WHERE i8 < 2000000000 OR i8 >= 2000000000
SELECT id, i8 FROM family WHERE i8 < 3000000000 OR i8 > 8000000000 ORDER BY i8 DESC, id DESC LIMIT 7
SELECT id, i8 FROM family WHERE i8 < 3000000000 OR i8 > 8000000000 OR i8 = 5000000000 ORDER BY i8, id LIMIT 12 OFFSET 3
SELECT count(*), count(i8) FROM family WHERE i8 > 8000000000 OR i8 IS NULL
SELECT id FROM family WHERE i8 BETWEEN 5 AND NULL OR i8 BETWEEN 3000000000 AND 1000000000 OR i8 = 1000000000 ORDER BY 1
SELECT id, i2 FROM family WHERE (i2 < 6000 OR i2 > 21000) AND d > '2024-03-25' ORDER BY 1
SELECT count(*) FROM family WHERE (i2 > 6000 OR i2 < 3000) AND (i2 < 21000 OR i2 > 24000)
SELECT id FROM family WHERE i2 BETWEEN 3000::bigint AND 6000.5 OR i2 > 32768 OR i2 < '-1'::bigint ORDER BY 1
SELECT id, t FROM family WHERE t LIKE 't1%' OR t LIKE 't2%' OR t >= 't8' ORDER BY t DESC, id LIMIT 9
SELECT id FROM family WHERE d < '2024-03-24' OR d > '2024-04-15' AND i2 IS NOT NULL OR d = '2024-03-31'::timestamp ORDER BY 1
SELECT id, lower(vc) FROM family WHERE lower(vc) < 't1' OR lower(vc) > 't7' OR lower(vc) = 't4' ORDER BY 1
SELECT id, grp, n FROM people WHERE grp = 3 AND (n > 5 OR n < 2) ORDER BY n, id
SELECT id, grp, n FROM people WHERE grp = 1 AND n = 2 OR grp = 3 AND n > 4 OR grp > 6 ORDER BY grp, n DESC, id
SELECT id, grp, n FROM people WHERE grp IS NULL OR grp = 2 AND n IS NULL OR grp = 4 ORDER BY 1
SELECT id FROM people WHERE (grp, n) < (2, 5) AND grp > 0 OR (grp, n) = (5, 1) OR grp IN (6, 7, NULL) AND n < 4 ORDER BY 1
SELECT order_id, no FROM lines WHERE order_id > 'o' AND no < 2 AND order_id < 'orders/3' OR order_id >= 'orders/8' OR order_id = 'orders/5-A$customers/5-A' AND no >= 2 ORDER BY 1, 2
SELECT order_id, no FROM lines WHERE order_id < 'orders/2' OR order_id > 'orders/8' ORDER BY order_id DESC, no LIMIT 8
SELECT id FROM things WHERE id BETWEEN 2 AND 4 OR id BETWEEN 4 AND 6 OR id > 22 OR id = 9 ORDER BY id DESC LIMIT 9
SELECT count(*), min(id), max(id) FROM things WHERE id < 5 OR id > 20
SELECT i8, count(*) FROM family WHERE i8 < 3000000000 OR i8 > 8000000000 GROUP BY i8 ORDER BY i8 LIMIT 4
SELECT DISTINCT i2 FROM family WHERE i2 < 9000 OR i2 > 24000 ORDER BY i2 DESC LIMIT 4
SELECT t.id, f.id FROM things t JOIN family f ON f.i8 < t.id * 100000000::bigint OR f.i8 > 10000000000 - t.id WHERE t.id < 24 AND t.id > 18 ORDER BY 1, 2
SELECT id FROM family WHERE i8 > 9000000000 OR i8 < 1000000000 OR id = 7 ORDER BY id FOR UPDATE
SELECT id FROM family WHERE t LIKE 't1%' OR t = 't1' OR lower(vc) = 't2' OR i8 = ANY ('{3000000000,NULL}') ORDER BY id DESC LIMIT 3
SELECT id FROM family WHERE (i8 = 3000000000 OR t = 't4') OR (id = 5 AND i2 > 0) ORDER BY id
SELECT id FROM family WHERE NOT (i8 <> 3000000000 AND t <> 't4') ORDER BY id
SELECT f.id, g.id FROM family f JOIN family g ON g.i8 = f.id * 1000000000::bigint OR g.t = 't' || f.i2 / 3000 WHERE f.id IN (1, 2, 100) ORDER BY 1, 2
SELECT f.id, g.id FROM family f LEFT JOIN family g ON g.d > f.d AND g.d < f.d + 3 WHERE f.i8 = 3000000000 OR f.id = 100 ORDER BY 1, 2
SELECT f.id FROM family f WHERE f.id IN (3, 4, 100) AND NOT EXISTS (SELECT FROM family g WHERE g.ts > f.ts AND g.i8 < 4000000000) ORDER BY 1
SELECT f.id FROM family f WHERE f.id IN (3, 4, 100) AND EXISTS (SELECT FROM family g WHERE g.i8 = f.i8 OR g.t = f.t OR g.id = 100 AND f.ts IS NULL) ORDER BY 1
SELECT t.id, f.id FROM things t LEFT JOIN family f ON (f.id = t.id OR f.i8 = t.big) AND t.grp = 1 WHERE t.id < 4 ORDER BY 1, 2
SELECT count(*) FROM family WHERE (id, i2) IN (SELECT id, 3000 FROM things)
SELECT id FROM things t WHERE EXISTS (SELECT FROM family f WHERE f.id = t.id AND t.grp = 1) ORDER BY id
SELECT id FROM things t WHERE NOT EXISTS (SELECT FROM family f WHERE f.id = t.id AND t.grp = 1) AND id < 6 ORDER BY id
-- rows in the order of the first keys
SELECT i8, d, id FROM family ORDER BY i8, d DESC, id LIMIT 4
SELECT d, id FROM family ORDER BY d DESC NULLS FIRST, i2 NULLS FIRST, id LIMIT 7 OFFSET 2
SELECT f.id, t.id FROM family f JOIN things t ON t.grp = f.id ORDER BY f.i8 DESC NULLS LAST, t.id DESC LIMIT 5
SELECT f.id, t.name FROM family f LEFT JOIN things t ON t.id = f.id ORDER BY f.t, t.name DESC, f.id LIMIT 6
SELECT DISTINCT ON (t) t, id, i2 FROM family ORDER BY t, i2 DESC NULLS LAST, id LIMIT 3
SELECT DISTINCT ON (d, t) d, t, id FROM family ORDER BY d DESC, t, id DESC LIMIT 3 OFFSET 1
SELECT d, count(*), max(id) FROM family GROUP BY d ORDER BY d DESC LIMIT 3
SELECT t, i2, count(*), count(DISTINCT i8) FROM family GROUP BY i2, t ORDER BY t LIMIT 4
SELECT t, sum(i2), array_agg(id ORDER BY id) FROM family WHERE i2 > -20000 GROUP BY t HAVING count(*) > 0 ORDER BY t DESC, count(*) LIMIT 4 OFFSET 1
SELECT lower(vc), count(*) FROM family GROUP BY 1 ORDER BY 1 NULLS FIRST LIMIT 3
SELECT DISTINCT i2, t FROM family ORDER BY t, i2 LIMIT 4
SELECT DISTINCT ts, d FROM family ORDER BY ts DESC LIMIT 3
SELECT order_id, count(*), sum(qty) FROM lines GROUP BY order_id ORDER BY order_id LIMIT 3
SELECT order_id, no, row_number() OVER (ORDER BY order_id DESC, no) FROM lines GROUP BY order_id, no ORDER BY order_id, no DESC LIMIT 4
SELECT x.t, x.n FROM (SELECT t, count(*) AS n FROM family GROUP BY t ORDER BY t LIMIT 2) x JOIN things ON true WHERE things.id = 1 ORDER BY 1
-- UPDATE and DELETE by several indexes
UPDATE family SET i8 = i8 + 1 WHERE i8 < 3000000000 OR i8 > 8000000000 AND i8 < 9000000000
SELECT id, i8 FROM family WHERE i8 < 3000000000 OR i8 > 8000000000 ORDER BY i8, id
UPDATE family SET i8 = i8 - 1 WHERE i8 = ANY ('{1000000001,2000000001}') OR i8 BETWEEN 8000000001 AND 8999999999 RETURNING id
DELETE FROM lines WHERE order_id = 'nothing' OR order_id BETWEEN 'p' AND 'q' OR order_id < '' RETURNING no
UPDATE family SET i8 = 2000000000, vc = 'union' WHERE i2 = 3000 OR i8 = 2000000000 OR t = 't4'
SELECT id, i8, vc FROM family WHERE vc = 'union' ORDER BY id
UPDATE family SET vc = 'u2' FROM things WHERE things.id = 2 AND (family.t = 't1' OR family.i2 = 6000) RETURNING family.id
DELETE FROM family WHERE vc = 'union' AND t = 't1' OR d = '2024-03-25' OR id = 8 RETURNING id
SELECT count(*), sum(id) FROM family WHERE id BETWEEN -100 AND 100
SELECT id FROM family WHERE t = 't5' OR i2 = 9000 ORDER BY id FOR UPDATE
-- lookups by a key with constants
SELECT o.id, l.no, l.qty FROM orders o JOIN lines l ON l.order_id = o.id AND l.no = 2 WHERE o.doc ->> 'Customer' = 'customers/1-A' ORDER BY 1
SELECT f.id, r.v FROM family f LEFT JOIN fleet r ON r.cust = f.id AND r.seq = 1 WHERE f.id BETWEEN 1 AND 4 ORDER BY 1
SELECT f.id, p.id FROM family f JOIN people p ON p.n = f.id AND p.grp = 1 WHERE f.id BETWEEN 1 AND 9 ORDER BY 1, 2
-- correlated subqueries: in batches, and as joins with groups
SELECT t.id, (SELECT count(*) FROM people p WHERE p.grp = t.id) FROM things t ORDER BY 1
SELECT t.id, (SELECT max(p.n) FROM people p WHERE p.grp = t.id AND p.n < 30), (SELECT min(p.mail) FROM people p WHERE p.grp = t.grp) FROM things t ORDER BY 1
SELECT count(*) FROM things t WHERE (SELECT count(*) FROM people p WHERE p.grp = t.id) = 0
SELECT t.id FROM things t WHERE t.big >= (SELECT avg(u.big) FROM things u WHERE u.grp = t.grp) ORDER BY 1
SELECT f.id, (SELECT count(*) FROM family g WHERE g.i2 = f.i2), (SELECT count(*) FROM family g WHERE g.i2 IS NOT DISTINCT FROM f.i2), (SELECT sum(g.i8) FROM family g WHERE g.i2 = f.i2) FROM family f ORDER BY 1
SELECT f.id, (SELECT coalesce(max(g.t), 'none') || count(*) || f.id FROM family g WHERE g.i2 = f.i2 AND g.i8 > 3000000000) FROM family f ORDER BY 1
SELECT f.id, (SELECT count(*) FROM family g WHERE g.i2 = f.i2 HAVING count(*) > 1), (SELECT max(g.id) FROM family g WHERE g.d = f.d HAVING f.id < 4) FROM family f ORDER BY 1
SELECT t.id, (SELECT count(DISTINCT p.n) FROM people p JOIN things u ON u.id = p.grp WHERE u.grp = t.grp) FROM things t ORDER BY 1
SELECT t.id FROM things t WHERE (SELECT count(*) FILTER (WHERE p.n > 5) FROM people p WHERE p.grp = t.id) > 1 OR (SELECT min(p.n) FROM people p WHERE p.grp = t.grp) IS NULL ORDER BY 1
SELECT t.id, (SELECT p.id FROM people p WHERE p.grp = t.id ORDER BY p.n, p.id LIMIT 1) FROM things t ORDER BY 1
SELECT t.id, (SELECT u.name FROM things u WHERE u.id = t.grp) FROM things t ORDER BY 1
SELECT t.id, (SELECT u.id FROM things u WHERE u.grp = t.grp) FROM things t ORDER BY 1
SELECT t.id, (SELECT u.id FROM things u WHERE u.grp = t.id AND u.id < 3) FROM things t WHERE t.id > 3 ORDER BY 1
SELECT t.id, ARRAY(SELECT p.n FROM people p WHERE p.grp = t.id ORDER BY p.n) FROM things t ORDER BY 1
SELECT t.id FROM things t WHERE t.id + 1 = ANY (SELECT p.n FROM people p WHERE p.grp = t.grp) ORDER BY 1
SELECT t.id FROM things t WHERE t.id NOT IN (SELECT p.n FROM people p WHERE p.grp = t.grp) ORDER BY 1
SELECT t.id FROM things t WHERE t.id >= ALL (SELECT p.n FROM people p WHERE p.grp = t.grp) ORDER BY 1
SELECT t.id FROM things t WHERE t.id < 3 OR EXISTS (SELECT FROM people p WHERE p.grp = t.id AND p.n > 5) ORDER BY 1
SELECT t.id, CASE WHEN t.id > 5 THEN (SELECT sum(100 / (t.id - 5)) FROM people p WHERE p.grp = t.grp) END FROM things t ORDER BY 1
SELECT t.id, (SELECT sum(100 / (t.id - 5)) FROM people p WHERE p.grp = t.grp) FROM things t ORDER BY 1
SELECT t.id, (SELECT sum(100 / (p.n - p.n)) FROM people p WHERE p.grp = t.id + 1000) FROM things t ORDER BY 1
SELECT t.id, (SELECT (SELECT max(q.n) FROM people q WHERE q.grp = p.grp AND q.n <> t.id) FROM people p WHERE p.grp = t.id ORDER BY p.id LIMIT 1) FROM things t ORDER BY 1
SELECT t.grp, count(*), (SELECT count(*) FROM people p WHERE p.grp = t.grp) FROM things t GROUP BY t.grp ORDER BY 1
SELECT sum((SELECT count(*) FROM people p WHERE p.grp = t.id)), max((SELECT max(p.n) FROM people p WHERE p.grp = t.grp)) FROM things t
SELECT t.id FROM things t WHERE t.grp IN (SELECT p.grp FROM people p) AND t.id < (SELECT sum(p.n) FROM people p WHERE p.grp = t.grp) ORDER BY 1
SELECT o.id, (SELECT count(*) FROM orders p WHERE p.doc ->> 'Customer' = o.doc ->> 'Customer') FROM orders o ORDER BY 1
SELECT c.id, (SELECT max(o.id) FROM orders o WHERE o.doc ->> 'Customer' = c.id), (SELECT sum(l.qty) FROM lines l WHERE l.order_id = (SELECT max(o.id) FROM orders o WHERE o.doc ->> 'Customer' = c.id)) FROM customers c ORDER BY 1
-- the first rows of each group
SELECT t.id, x.id, x.n FROM things t, LATERAL (SELECT p.id, p.n FROM people p WHERE p.grp = t.id ORDER BY p.n DESC NULLS FIRST, p.id LIMIT 2) x ORDER BY 1, 3, 2
SELECT t.id, x.n FROM things t LEFT JOIN LATERAL (SELECT p.n FROM people p WHERE p.grp = t.id ORDER BY p.n DESC NULLS FIRST LIMIT 2 OFFSET 1) x ON true ORDER BY 1, 2
SELECT t.id, x.n FROM things t LEFT JOIN LATERAL (SELECT p.n FROM people p WHERE p.grp = t.id ORDER BY p.n LIMIT t.id) x ON x.n > 3 ORDER BY 1, 2
SELECT t.id, x.* FROM things t, LATERAL (SELECT count(*) AS c, min(p.n) AS m FROM people p WHERE p.grp IN (t.id, t.grp)) x ORDER BY 1
SELECT t.id, x.* FROM things t, LATERAL (SELECT p.grp, count(*) FROM people p WHERE p.grp < t.id GROUP BY p.grp ORDER BY 2 DESC, 1 LIMIT 2) x ORDER BY 1, 2
SELECT t.id, x.*, y.* FROM things t, LATERAL (SELECT p.n FROM people p WHERE p.grp = t.id ORDER BY p.n LIMIT 2) x, LATERAL (SELECT u.id FROM things u WHERE u.id > x.n ORDER BY u.id LIMIT 1) y ORDER BY 1, 2, 3
SELECT c.id, x.id FROM customers c, LATERAL (SELECT o.id FROM orders o WHERE o.doc ->> 'Customer' = c.id ORDER BY o.id DESC LIMIT 1) x ORDER BY 1
SELECT f.id, x.id FROM family f, LATERAL (SELECT g.id FROM family g WHERE g.ts > f.ts ORDER BY g.ts LIMIT 1) x ORDER BY 1
SELECT f.id, x.no FROM family f, LATERAL (SELECT l.no FROM lines l WHERE l.order_id > f.t ORDER BY l.order_id, l.no LIMIT 2) x ORDER BY 1, 2
-- subqueries that an UPDATE assigns
UPDATE things SET big = (SELECT count(*) FROM people p WHERE p.grp = things.id), name = CASE WHEN id > 5 THEN (SELECT max(p.id) FROM people p WHERE p.grp = things.grp) ELSE name END WHERE id < 12 RETURNING id, big, name
UPDATE things SET (grp, big) = (SELECT min(p.n), max(p.n) FROM people p WHERE p.grp = things.grp) WHERE id > 2
UPDATE things SET grp = (SELECT u.id FROM things u WHERE u.grp = things.grp) WHERE id < 12
UPDATE things SET id = id + (SELECT 1000 + count(*) FROM people p WHERE p.grp = things.id) WHERE id > 3
DELETE FROM things WHERE (SELECT count(*) FROM people p WHERE p.grp = things.grp) > 3 AND id > 1010
SELECT id, name, grp, big FROM things ORDER BY id
-- runtime filters
SELECT l.order_id, l.no, o.doc ->> 'State' FROM lines l JOIN orders o ON l.order_id = o.id || '' AND o.doc ->> 'State' = 'S1' ORDER BY 1, 2
SELECT t.id, p.id FROM things t JOIN people p ON t.big = p.n AND p.mail < 'm' ORDER BY 1, 2
SELECT t.id, p.id FROM things t RIGHT JOIN people p ON t.grp = p.grp AND t.big > 3 WHERE p.mail LIKE '%1%' ORDER BY 1, 2
SELECT n.k, n.t FROM notes n WHERE EXISTS (SELECT FROM things t WHERE t.big = n.k AND t.name > n.t) ORDER BY 1, 2
SELECT t.id, t.name FROM things t WHERE t.name = 'thing2' AND EXISTS (SELECT FROM notes n WHERE n.k = t.grp) ORDER BY 1
SELECT t.id, t.name FROM things t WHERE t.name = 'thing2' AND NOT EXISTS (SELECT FROM notes n WHERE n.k = t.grp) ORDER BY 1
SELECT t.id, t.grp FROM things t WHERE t.name <> 'thing2' AND t.name > 'thing0' AND NOT EXISTS (SELECT FROM notes n WHERE n.k = t.grp AND n.t > t.name) ORDER BY 1
SELECT x.k, x.c, t.id FROM (SELECT n.k, count(*) AS c FROM notes n GROUP BY n.k) x JOIN things t ON t.grp = x.k AND t.name = 'thing3' ORDER BY 1, 2, 3
SELECT n.t, x.id FROM (SELECT DISTINCT k, t FROM notes) n JOIN things x ON x.grp = n.k AND x.name = 'thing3' ORDER BY 1, 2
SELECT a.t, b.id, c.id FROM notes a JOIN things b ON b.grp = a.k AND b.name = 'thing3' JOIN things c ON c.big = a.k AND c.name = 'thing1' ORDER BY 1, 2, 3
SELECT a.t, b.id, c.t FROM notes a LEFT JOIN notes c ON c.k = a.k + 1 JOIN things b ON b.grp = a.k AND b.big = c.k AND b.name = 'thing3' ORDER BY 1, 2, 3
SELECT n.t, (SELECT count(*) FROM notes m JOIN things t ON t.grp = m.k AND t.name = 'thing3' WHERE m.k = n.k) FROM notes n ORDER BY 1, 2
SELECT n.t FROM notes n JOIN things t ON t.grp IS NOT DISTINCT FROM n.k AND t.name = 'thing3' ORDER BY 1
SELECT count(*) FROM notes n JOIN (SELECT id, grp FROM things WHERE name = 'thing3' ORDER BY id LIMIT 3) t ON t.grp = n.k
SELECT n.t, t.id FROM (SELECT k, t FROM notes ORDER BY t LIMIT 5) n JOIN things t ON t.grp = n.k AND t.name = 'thing3' ORDER BY 1, 2
SELECT f.id, s.id FROM family f JOIN small s ON f.i8 = s.id AND s.v = 3 ORDER BY 1, 2
SELECT id FROM people WHERE doc @> '{"Name": "N2"}' AND n > 3
SELECT count(*), min(id) FROM people WHERE doc @? '$.Name ? (@ == "N1")' OR doc @> '{"Name": "N3"}'
SELECT p.id, q.id FROM people p JOIN people q ON q.doc @> p.doc WHERE p.grp = 7 AND p.n = 3
SELECT id FROM people WHERE doc ?& '{Name,Other}' OR doc @> '{"Name": 2}'
UPDATE things t SET big = 77 WHERE EXISTS (SELECT FROM things u WHERE u.id = t.grp AND NOT EXISTS (SELECT FROM notes n WHERE n.k = t.id)) OR t.id = 3 RETURNING id, EXISTS (SELECT FROM notes n WHERE n.k = t.grp)
DELETE FROM things t WHERE EXISTS (SELECT FROM things u WHERE u.id = t.id + 2 AND NOT EXISTS (SELECT FROM notes n WHERE n.k = t.id)) AND t.id > 4 RETURNING id
