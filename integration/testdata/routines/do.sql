-- What anonymous blocks do.
CREATE TABLE pa (id int PRIMARY KEY, name text, n numeric(10,2), arr int[]);
INSERT INTO pa SELECT i, 'n' || i, i * 1.5, ARRAY[i, i+1] FROM generate_series(1, 5) i;
DO $$
DECLARE
  r record; row1 pa%ROWTYPE; nm pa.name%TYPE; x int; y text; a int[] := '{1,2,3}'; m int[][] := '{{1,2},{3,4}}';
  c1 CURSOR FOR SELECT * FROM pa ORDER BY id; c2 CURSOR (k int, z text DEFAULT 'q') FOR SELECT id, z AS z FROM pa WHERE id > k ORDER BY id; c3 refcursor;
BEGIN
  NULL;
END $$;
DO $$
<<o>>
DECLARE
  r record; row1 pa%ROWTYPE; nm pa.name%TYPE; x int; y text; a int[] := '{1,2,3}'; m int[][] := '{{1,2},{3,4}}';
  c1 CURSOR FOR SELECT * FROM pa ORDER BY id; c2 CURSOR (k int, z text) FOR SELECT id, z AS z FROM pa WHERE id > k ORDER BY id; c3 refcursor;
BEGIN
  SELECT * INTO r FROM pa WHERE id = 3; RAISE NOTICE 'r %, %, found %', r, r.name, FOUND;
  SELECT * INTO row1 FROM pa WHERE id = 99; RAISE NOTICE 'row1 % found %', row1, FOUND;
  SELECT * INTO row1 FROM pa WHERE id = 2; RAISE NOTICE 'row1 % %', row1, row1.arr[2];
  row1.n := 1.005; row1.arr[5] := 7; RAISE NOTICE 'row1 %', row1;
  SELECT id, name INTO x, y FROM pa ORDER BY id; RAISE NOTICE '% %', x, y;
  SELECT count(*) FROM pa INTO x; RAISE NOTICE '%', x;
  UPDATE pa SET n = n + 1 WHERE id <= 2; GET DIAGNOSTICS x = ROW_COUNT; RAISE NOTICE 'updated % %', x, FOUND;
  INSERT INTO pa VALUES (10, 'ten') RETURNING id, name INTO x, y; RAISE NOTICE 'ins % %', x, y;
  DELETE FROM pa WHERE id = 10; RAISE NOTICE 'found %', FOUND;
  DELETE FROM pa WHERE id = 10; RAISE NOTICE 'found %', FOUND;
  PERFORM 1 FROM pa WHERE id = 77; RAISE NOTICE 'found %', FOUND;
  FOR i IN 1..3 LOOP RAISE NOTICE 'i %', i; END LOOP;
  FOR i IN REVERSE 10..1 BY 4 LOOP RAISE NOTICE 'rev %', i; END LOOP;
  FOR r IN SELECT id, name FROM pa ORDER BY id DESC LIMIT 2 LOOP RAISE NOTICE 'loop %', r; END LOOP;
  RAISE NOTICE 'after %', r;
  FOR x, y IN SELECT id, name FROM pa ORDER BY id LIMIT 2 LOOP RAISE NOTICE 'loop % %', x, y; END LOOP;
  FOR r IN EXECUTE 'SELECT * FROM pa WHERE id = $1 OR name = $2 ORDER BY id' USING 1, 'n' || 4 LOOP RAISE NOTICE 'dyn %', r; END LOOP;
  FOREACH x IN ARRAY a LOOP CONTINUE WHEN x = 2; RAISE NOTICE 'el %', x; END LOOP;
  FOREACH a SLICE 1 IN ARRAY m LOOP RAISE NOTICE 'sl %', a; END LOOP;
  FOR q IN c1 LOOP EXIT WHEN q.id > 2; RAISE NOTICE 'cur %', q.name; END LOOP;
  FOR q IN c2(3, z := 'zz') LOOP RAISE NOTICE 'cur2 %', q; END LOOP;
  OPEN c1; FETCH c1 INTO r; RAISE NOTICE 'f %', r; FETCH NEXT FROM c1 INTO x, y; RAISE NOTICE 'f % %', x, y;
  MOVE 2 FROM c1; FETCH c1 INTO r; RAISE NOTICE 'f % %', r, FOUND; FETCH c1 INTO r; RAISE NOTICE 'f % %', r, FOUND; CLOSE c1;
  OPEN c3 SCROLL FOR SELECT id FROM pa ORDER BY id; FETCH LAST FROM c3 INTO x; RAISE NOTICE 'last %', x; FETCH PRIOR FROM c3 INTO x; RAISE NOTICE 'prior %', x; FETCH ABSOLUTE 2 FROM c3 INTO x; RAISE NOTICE 'abs %', x; FETCH RELATIVE -1 FROM c3 INTO x; RAISE NOTICE 'rel %', x; CLOSE c3;
  c3 := 'mycur'; OPEN c3 FOR EXECUTE 'SELECT id FROM pa WHERE id > $1 ORDER BY 1' USING 3; FETCH c3 INTO x; RAISE NOTICE '% %', c3, x;
  FETCH c3 INTO o.x; UPDATE pa SET name = 'cur' WHERE CURRENT OF c3; CLOSE c3; SELECT name INTO y FROM pa WHERE id = 5; RAISE NOTICE '%', y;
  x := 3;
  CASE x WHEN 1, 2 THEN RAISE NOTICE 'low'; WHEN 3 THEN RAISE NOTICE 'three'; ELSE RAISE NOTICE 'else'; END CASE;
  CASE WHEN x < 2 THEN RAISE NOTICE 'a'; WHEN x < 5 THEN RAISE NOTICE 'b'; END CASE;
  IF x = 1 THEN RAISE NOTICE '1'; ELSIF x = 3 THEN RAISE NOTICE '3'; ELSE RAISE NOTICE 'e'; END IF;
  <<lp>> WHILE TRUE LOOP x := x + 1; LOOP x := x + 1; EXIT lp WHEN x > 10; CONTINUE lp WHEN x % 2 = 0; END LOOP; END LOOP lp;
  RAISE NOTICE 'x %', x;
  DECLARE x int := 100; BEGIN RAISE NOTICE 'in % out %', x, o.x; o.x := 5; END;
  RAISE NOTICE 'x %', x;
  EXECUTE 'SELECT $1 + 1' INTO x USING x; RAISE NOTICE 'x %', x;
  EXECUTE format('UPDATE %I SET n = 0 WHERE id = %L', 'pa', 1); GET DIAGNOSTICS x = ROW_COUNT; RAISE NOTICE 'rc %', x;
  RAISE NOTICE '%', (SELECT max(id) FROM pa WHERE id < o.x + 3);
  r := ROW(1, 'a'); RAISE NOTICE '%', r;
  SELECT 1 AS a, NULL::text AS b INTO r; RAISE NOTICE '% % %', r, r.b, r IS NULL;
  r.b := 'set'; RAISE NOTICE '%', r;
  row1 := ROW(1, 'b', 2.345, NULL); RAISE NOTICE '%', row1;
  row1 := NULL; RAISE NOTICE '% %', row1, row1.id;
  SELECT p.* INTO row1 FROM pa p WHERE id = 1;
  RAISE NOTICE '% %', (SELECT row1.id + 1), row1.name || '!';
  INSERT INTO pa SELECT row1.id + 20, 'x'; INSERT INTO pa VALUES (row1.id + 30); 
  RAISE NOTICE '%', (SELECT array_agg(id ORDER BY id) FROM pa);
END $$;
SELECT * FROM pa ORDER BY id;
DO $$
DECLARE x int; s text; d text; h text; c text; st text; t text;
BEGIN
  BEGIN
    INSERT INTO pa VALUES (50, 'x'); x := 1 / (SELECT 0);
  EXCEPTION WHEN division_by_zero THEN RAISE NOTICE 'caught % %', SQLSTATE, SQLERRM;
  END;
  BEGIN INSERT INTO pa VALUES (1, 'dup'); EXCEPTION WHEN unique_violation THEN
    GET STACKED DIAGNOSTICS s = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL, st = RETURNED_SQLSTATE, c = CONSTRAINT_NAME, t = TABLE_NAME, h = PG_EXCEPTION_CONTEXT;
    RAISE NOTICE '% | % | % | % | %', s, d, st, c, t; RAISE NOTICE '%', h;
  END;
  BEGIN RAISE EXCEPTION 'my %', 1 USING ERRCODE = 'ZZ001', HINT = 'hh'; EXCEPTION WHEN SQLSTATE 'ZZ001' THEN RAISE NOTICE 'zz %', SQLERRM; WHEN OTHERS THEN RAISE NOTICE 'others'; END;
  BEGIN
    BEGIN RAISE no_data_found; EXCEPTION WHEN unique_violation THEN NULL; END;
  EXCEPTION WHEN OTHERS THEN RAISE NOTICE 'outer % %', SQLSTATE, SQLERRM; END;
  BEGIN BEGIN x := 'abc'; EXCEPTION WHEN data_exception THEN RAISE NOTICE 'data'; RAISE; END; EXCEPTION WHEN OTHERS THEN RAISE NOTICE 're %', SQLERRM; END;
  BEGIN SELECT id INTO STRICT x FROM pa WHERE id = 999; EXCEPTION WHEN no_data_found THEN RAISE NOTICE 'ndf %', SQLERRM; END;
  BEGIN SELECT id INTO STRICT x FROM pa; EXCEPTION WHEN too_many_rows THEN RAISE NOTICE 'tmr %', SQLERRM; END;
  BEGIN ASSERT 1 = 2, 'not equal'; EXCEPTION WHEN assert_failure THEN RAISE NOTICE 'af %', SQLERRM; END;
  RAISE NOTICE '%', (SELECT count(*) FROM pa WHERE id = 50);
  RAISE WARNING 'w'; RAISE INFO 'i'; RAISE LOG 'l'; RAISE DEBUG 'd';
  RAISE EXCEPTION SQLSTATE '22012';
END $$;
DO $$ DECLARE r record; BEGIN FOR r IN SELECT id FROM pa ORDER BY id LOOP UPDATE pa SET n = id WHERE id = r.id; IF r.id % 2 = 0 THEN COMMIT; ELSE ROLLBACK; END IF; END LOOP; END $$;
SELECT id, n FROM pa ORDER BY id;
BEGIN; DO $$ BEGIN COMMIT; END $$; ROLLBACK;
DO $$ BEGIN BEGIN COMMIT; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', SQLERRM; END; END $$;
DO $$ BEGIN EXECUTE 'COMMIT'; END $$;
DO $$ BEGIN CREATE TABLE pb (a int); INSERT INTO pb VALUES (1); EXECUTE 'ALTER TABLE pb ADD b text DEFAULT ''q'''; INSERT INTO pb VALUES (2, 'z'); END $$;
SELECT * FROM pb ORDER BY a;
DO $$ DECLARE id int := 1; BEGIN UPDATE pa SET name = 'q' WHERE id = id; END $$;
DO $$ #variable_conflict use_column
DECLARE id int := 1; BEGIN UPDATE pa SET name = 'q' WHERE id = id; END $$;
DO $$ #variable_conflict use_variable
DECLARE id int := 1; c int; BEGIN SELECT count(*) INTO c FROM pa WHERE pa.id = id; RAISE NOTICE '%', c; END $$;
DO $$ DECLARE a int; b int; BEGIN SELECT 1, 2, 3 INTO a, b; RAISE NOTICE '% %', a, b; SELECT 1 INTO a, b; RAISE NOTICE '% %', a, b; END $$;
DO $$ DECLARE t text := 'abc'; v varchar(2); BEGIN v := t; END $$;
DO $$ DECLARE d date := '2020-01-01'; ts timestamptz; i interval; b bool; j jsonb; BEGIN ts := d; i := '1 day'; b := 1; b := 'yes'; j := '{"a": 1}'; RAISE NOTICE '% % % %', d + i, b, j->'a', j; j['b'] := '5'; RAISE NOTICE '%', j; END $$;
DO $$ BEGIN RAISE NOTICE '%', x; END $$;
DO $$ BEGIN PERFORM nosuch(1); END $$;
DO $$ BEGIN FOR i IN 1..NULL LOOP NULL; END LOOP; END $$;
DO $$ DECLARE r record; BEGIN r := 1; END $$;
DO $$ DECLARE x int; BEGIN x := 1, 2; END $$;
DO $$ DECLARE x int; BEGIN SELECT 1 INTO x INTO x; END $$;
DO $$ BEGIN <<l>> LOOP EXIT l; END LOOP m; END $$;
DO $$ DECLARE x int; x text; BEGIN END $$;
DO $$ DECLARE x nosuch; BEGIN END $$;
DO $$ DECLARE x nosuch%ROWTYPE; BEGIN END $$;
DO $$ BEGIN RAISE 'a' USING foo = 1; END $$;
DO $$ BEGIN RAISE nosuch_condition; END $$;
DO $$ BEGIN RAISE EXCEPTION 'x' USING MESSAGE = 'y'; END $$;
DO $$ BEGIN RAISE EXCEPTION USING MESSAGE = NULL; END $$;
DO $$ BEGIN RAISE; END $$;
DO $$ BEGIN RETURN; END $$;
DO $$ BEGIN RETURN NEXT 1; END $$;
DO 'BEGIN RAISE NOTICE ''q''; END';
DO $$ BEGIN EXECUTE NULL; END $$;
DO $$ DECLARE c refcursor; BEGIN FETCH c INTO c; END $$;
DO $$ DECLARE c CURSOR FOR SELECT 1; BEGIN OPEN c; OPEN c; END $$;
DO $$ DECLARE c refcursor := 'nope'; x int; BEGIN FETCH c INTO x; END $$;
DO $$ DECLARE x constant int := 5; y int = x; BEGIN RAISE NOTICE '% %', x, y; END $$;
DO $$ DECLARE x int := 1; al ALIAS FOR x; BEGIN al := 7; RAISE NOTICE '%', x; END $$;
DO $$ BEGIN IF NULL THEN RAISE NOTICE 'a'; ELSE RAISE NOTICE 'b'; END IF; IF 'x' THEN NULL; END IF; END $$;
DO $$ DECLARE e text; BEGIN FOR e IN SELECT unnest(ARRAY['a','b']) LOOP RAISE NOTICE '%', e; END LOOP; GET DIAGNOSTICS e = PG_CONTEXT; RAISE NOTICE '%', e; END $$;
DO $$ DECLARE r record; BEGIN FOR r IN EXPLAIN (COSTS OFF) SELECT 1 LOOP RAISE NOTICE '%', r; END LOOP; END $$;
DO $$ BEGIN INSERT INTO pb SELECT g FROM generate_series(10, 12) g; RAISE NOTICE '%', (SELECT count(*) FROM pb); END $$;
SELECT count(*) FROM pb;
DO $$ DECLARE x int := 5; BEGIN CREATE TABLE pc AS SELECT x AS v; END $$; SELECT * FROM pc; DROP TABLE pc;
DROP TABLE pa, pb;
