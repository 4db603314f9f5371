CREATE TABLE account (
	id text PRIMARY KEY,
	owner text NOT NULL,
	balance numeric(12, 2) NOT NULL DEFAULT 0 CHECK (balance >= 0),
	kind varchar(8) DEFAULT 'current',
	opened timestamptz,
	CONSTRAINT kind_known CHECK (kind IN ('current', 'savings'))
);
INSERT INTO account (id, owner) VALUES ('a', 'Ada') RETURNING *;
INSERT INTO account (id, owner) VALUES ('a', 'Bo');
INSERT INTO account (id) VALUES ('b');
INSERT INTO account (owner) VALUES ('Ada');
INSERT INTO account (id, owner, balance) VALUES ('b', 'Bo', -0.01);
INSERT INTO account (id, owner, balance) VALUES ('b', 'Bo', 12345678901);
INSERT INTO account (id, owner, balance) VALUES ('b', 'Bo', 1.005) RETURNING balance;
INSERT INTO account (id, owner, kind) VALUES ('c', 'Cy', 'loan');
INSERT INTO account (id, owner, kind) VALUES ('c', 'Cy', 'verylongkind');
INSERT INTO account (id, owner, kind) VALUES ('c', 'Cy', NULL) RETURNING kind;
UPDATE account SET owner = NULL WHERE id = 'a';
UPDATE account SET balance = balance - 1 WHERE id = 'a';
UPDATE account SET id = 'b' WHERE id = 'a';
UPDATE account SET id = 'z' WHERE id = 'a' RETURNING id;
SELECT id, owner, balance, kind FROM account ORDER BY id;
INSERT INTO account VALUES ('d');
INSERT INTO account VALUES ('d', 'Di', 0, 'current', now(), 'more');
INSERT INTO account (id, nosuch) VALUES ('d', 'x');
INSERT INTO account (id, id) VALUES ('d', 'x');
INSERT INTO account (id, owner) VALUES ('e');
INSERT INTO account (id, owner, balance) VALUES ('e', 'Ed', 'money');
INSERT INTO account (id, owner, balance) VALUES ('e', 'Ed', true);
INSERT INTO account (id, owner, opened) VALUES ('e', 'Ed', '2026-02-30');
INSERT INTO account (id, owner) SELECT 'm/' || n, 'M' FROM generate_series(1, 3) n RETURNING id;
INSERT INTO account (id, owner) SELECT 'n/' || n, 'M' FROM generate_series(1, 3) n UNION ALL SELECT 'm/1', 'dup';
SELECT count(*) FROM account WHERE id LIKE 'n/%';
CREATE TABLE pair (a int, b text, c int, PRIMARY KEY (a, b));
INSERT INTO pair VALUES (1, 'x', 10), (1, 'y', 20), (2, 'x', 30);
INSERT INTO pair VALUES (1, 'x', 11);
INSERT INTO pair VALUES (NULL, 'x', 11);
SELECT * FROM pair WHERE a = 1 AND b = 'y';
SELECT * FROM pair WHERE (a, b) IN ((1, 'x'), (2, 'x')) ORDER BY a, b;
UPDATE pair SET c = c + 1 WHERE a = 1 RETURNING *;
DELETE FROM pair WHERE b = 'x' RETURNING a;
SELECT * FROM pair;
CREATE TABLE generated (id int PRIMARY KEY, w int, h int, area int GENERATED ALWAYS AS (w * h) STORED);
INSERT INTO generated (id, w, h) VALUES (1, 2, 3) RETURNING *;
INSERT INTO generated VALUES (2, 2, 3, 7);
UPDATE generated SET w = 5 RETURNING area;
CREATE TABLE nopk (a int, b text);
INSERT INTO nopk VALUES (1, 'x'), (1, 'x'), (2, NULL);
SELECT * FROM nopk ORDER BY a, b;
DELETE FROM nopk WHERE a = 1;
SELECT count(*) FROM nopk;
