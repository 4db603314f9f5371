-- DISTINCT ON chooses a row before sets of the select list are expanded, if there is an ORDER BY that does not need them
CREATE TABLE d (id int PRIMARY KEY, g int, v int);
INSERT INTO d SELECT i, i % 3, 10 - i FROM generate_series(1, 9) i;
SELECT DISTINCT ON (g) g, generate_series(1, 3) FROM d ORDER BY g, id;
SELECT DISTINCT ON (g) g, v, generate_series(1, 2), generate_series(1, 3) FROM d ORDER BY g, v DESC;
SELECT DISTINCT ON (g) g, generate_series(1, 3) AS s FROM d ORDER BY g, s DESC;
SELECT DISTINCT ON (g) g, generate_series(1, 3) FROM d ORDER BY g, id LIMIT 4 OFFSET 1;
SELECT DISTINCT ON (g) id, g, generate_series(id, id + 1) FROM d ORDER BY g DESC, v LIMIT 5;
SELECT DISTINCT ON (g, v / 5) g, v, jsonb_array_elements('[3, 2, 1]') FROM d ORDER BY g, v / 5, v;
SELECT DISTINCT ON (g, v % 2) g, v % 2 AS m, generate_series(1, 2) FROM d ORDER BY g, m, id;
SELECT DISTINCT ON (g + 1) g + 1, generate_series(1, 2) + max(v) FROM d GROUP BY g, id ORDER BY g + 1, max(v) DESC;
SELECT DISTINCT ON (g) g, id, row_number() OVER (ORDER BY id), generate_series(1, 2) FROM d ORDER BY g, id DESC;
SELECT count(*) FROM (SELECT DISTINCT ON (g) g, generate_series(1, 3) FROM d ORDER BY g) s;
SELECT DISTINCT ON (generate_series(1, 3)) generate_series(1, 3) AS s FROM d ORDER BY 1;
SELECT DISTINCT ON (g) generate_series(1, 3) FROM d WHERE false ORDER BY g;
SELECT DISTINCT ON (g) g, generate_series(1, 0) FROM d ORDER BY g;
SELECT DISTINCT ON (g) g, CASE WHEN g > 0 THEN id END, unnest(ARRAY[id, v]) FROM d ORDER BY g, id;
SELECT DISTINCT g, generate_series(1, 2) FROM d ORDER BY 1, 2;
-- volatile functions are called for the rows of the answer alone, in its order
CREATE SEQUENCE s;
SELECT DISTINCT ON (g) g, id, nextval('s') FROM d ORDER BY g DESC, id;
SELECT g, id, nextval('s') > 3, generate_series(1, 2) FROM d ORDER BY g DESC, id LIMIT 3;
SELECT DISTINCT ON (g) g, (SELECT d2.v + generate_series(1, 1) FROM d d2 WHERE d2.id = d.id) FROM d ORDER BY g, id;
