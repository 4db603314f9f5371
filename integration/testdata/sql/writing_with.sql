-- Statements that write in WITH: all parts read the state before the statement, all run to their end.
CREATE TABLE q (id int PRIMARY KEY, state text NOT NULL DEFAULT 'new', n int, u int UNIQUE);
CREATE TABLE h (id int PRIMARY KEY, what text, at int);
INSERT INTO q SELECT g, 'new', g * 10, 100 + g FROM generate_series(1, 8) g;

-- Queues.
WITH c AS (SELECT id FROM q WHERE state = 'new' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED)
UPDATE q SET state = 'taken' FROM c WHERE q.id = c.id;
WITH c AS (SELECT id FROM q WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE)
DELETE FROM q USING c WHERE q.id = c.id RETURNING q.*;
WITH d AS (DELETE FROM q WHERE state = 'taken' RETURNING *)
INSERT INTO h SELECT id, state, n FROM d;
SELECT * FROM h ORDER BY id;
SELECT id, state FROM q ORDER BY id;

-- What is written is not seen, but by RETURNING.
WITH u AS (UPDATE q SET n = n + 1 WHERE id = 4 RETURNING id, n) SELECT q.id, q.n AS before, u.n AS after FROM q JOIN u USING (id);
WITH i AS (INSERT INTO q VALUES (20, 'i', 1, 1) RETURNING id) SELECT count(*), (SELECT id FROM i) FROM q;
SELECT count(*) FROM q;
WITH d AS (DELETE FROM q WHERE id = 20) SELECT count(*) FROM q;
SELECT count(*) FROM q;
WITH d AS (DELETE FROM q WHERE id = 5 RETURNING *), i AS (INSERT INTO h SELECT id, 'moved', n FROM d RETURNING what) SELECT what, (SELECT count(*) FROM h) FROM i;
SELECT * FROM h ORDER BY id;

-- The old way to write or insert.
WITH up AS (UPDATE q SET state = 'seen' WHERE id = 4 RETURNING id) INSERT INTO q SELECT 4, 'new', 0, 4 WHERE NOT EXISTS (SELECT FROM up);
WITH up AS (UPDATE q SET state = 'seen' WHERE id = 30 RETURNING id) INSERT INTO q SELECT 30, 'new', 0, 30 WHERE NOT EXISTS (SELECT FROM up);
SELECT id, state FROM q WHERE id IN (4, 30) ORDER BY id;
-- Back into the table that they are taken from.
WITH d AS (DELETE FROM q WHERE id > 6 RETURNING *) INSERT INTO q SELECT id + 100, state, n, u FROM d RETURNING id, u;
WITH d AS (DELETE FROM q WHERE id = 6 RETURNING *) INSERT INTO q SELECT id, 'again', n, u FROM d RETURNING id, state;
SELECT id, state, u FROM q ORDER BY id;

-- Several in a row, each from the one before.
WITH a AS (INSERT INTO h VALUES (50, 'a', 1), (51, 'a', 2) RETURNING id),
     b AS (INSERT INTO h SELECT id + 10, 'b', 3 FROM a RETURNING id),
     c AS (DELETE FROM h WHERE id < 50 RETURNING id)
SELECT 'a', id FROM a UNION ALL SELECT 'b', id FROM b UNION ALL SELECT 'c', id FROM c ORDER BY 1, 2;
SELECT id, what FROM h ORDER BY id;
-- Tags are those of the main statement.
WITH i AS (INSERT INTO h VALUES (70), (71), (72)) UPDATE q SET n = 0 WHERE id = 4;
WITH i AS (INSERT INTO h VALUES (73)) SELECT 1;
WITH i AS (INSERT INTO h VALUES (74) ON CONFLICT DO NOTHING RETURNING id) SELECT * FROM i;
WITH i AS (INSERT INTO h VALUES (74) ON CONFLICT DO NOTHING RETURNING id) SELECT * FROM i;
WITH i AS (INSERT INTO h VALUES (74, 'x') ON CONFLICT (id) DO UPDATE SET what = excluded.what || '!' RETURNING *) SELECT id, what FROM i;
SELECT count(*) FROM h;
-- A failure undoes all.
WITH i AS (INSERT INTO h VALUES (80)) INSERT INTO h VALUES (81), (74);
WITH i AS (INSERT INTO h VALUES (80)) INSERT INTO h VALUES (80);
WITH i AS (INSERT INTO h VALUES (80) RETURNING id) SELECT 1 / (id - 80) FROM i;
SELECT count(*) FROM h WHERE id >= 80;

-- With parameters, prepared.
PREPARE take (int) AS WITH c AS (SELECT id FROM q WHERE id >= $1 ORDER BY id LIMIT 1 FOR UPDATE), u AS (UPDATE q SET n = $1 FROM c WHERE q.id = c.id RETURNING q.id) SELECT * FROM u;
EXECUTE take (1);
EXECUTE take (5);
-- In a transaction.
BEGIN;
INSERT INTO h VALUES (90, 'own', 0);
WITH d AS (DELETE FROM h WHERE id = 90 RETURNING *) INSERT INTO h SELECT 91, what, (SELECT count(*) FROM h WHERE id IN (90, 91)) FROM d RETURNING *;
SAVEPOINT s;
WITH d AS (DELETE FROM h WHERE id = 91 RETURNING *) SELECT count(*) FROM d;
ROLLBACK TO s;
SELECT id FROM h WHERE id >= 90;
ROLLBACK;
SELECT id FROM h WHERE id >= 90;

-- Foreign keys of all tables that are written.
CREATE TABLE p (id int PRIMARY KEY);
CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p);
CREATE TABLE e (id int PRIMARY KEY, p int REFERENCES p ON DELETE CASCADE);
WITH n AS (INSERT INTO p VALUES (1), (2) RETURNING id) INSERT INTO c SELECT id * 10, id FROM n;
WITH n AS (INSERT INTO c VALUES (30, 3)) INSERT INTO p VALUES (3);
WITH n AS (INSERT INTO c VALUES (40, 4)) INSERT INTO e VALUES (1, 1);
WITH n AS (INSERT INTO e VALUES (1, 1)) DELETE FROM p WHERE id = 2;
WITH n AS (INSERT INTO e VALUES (1, 1)), d AS (DELETE FROM c WHERE p = 2) DELETE FROM p WHERE id = 2;
WITH n AS (DELETE FROM c WHERE p = 1) DELETE FROM p WHERE id = 1;
SELECT * FROM p ORDER BY id;
SELECT * FROM c ORDER BY id;
SELECT * FROM e ORDER BY id;

-- What is refused.
WITH i AS (INSERT INTO h VALUES (99)) SELECT * FROM i;
SELECT * FROM (WITH i AS (INSERT INTO h VALUES (99) RETURNING *) SELECT * FROM i) x;
INSERT INTO h WITH i AS (DELETE FROM q RETURNING id) SELECT id FROM i;
WITH RECURSIVE t AS (INSERT INTO h SELECT * FROM t) SELECT 1;
BEGIN;
DECLARE x CURSOR FOR WITH i AS (INSERT INTO h VALUES (99) RETURNING *) SELECT * FROM i;
ROLLBACK;
BEGIN READ ONLY;
WITH i AS (INSERT INTO h VALUES (99) RETURNING *) SELECT * FROM i;
ROLLBACK;
WITH q AS (SELECT 1) UPDATE q SET n = 1;
WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 3), i AS (INSERT INTO h SELECT 100 + n FROM s RETURNING id) SELECT * FROM i ORDER BY id;
WITH a AS (SELECT count(*) AS n FROM q), d AS (DELETE FROM q) SELECT n FROM a;
SELECT count(*) FROM q;
DROP TABLE c, e, p, q, h;
