-- A prepared statement follows search_path.
CREATE SCHEMA first_path; CREATE TABLE first_path.abc (f int); INSERT INTO first_path.abc VALUES (123);
CREATE SCHEMA second_path; CREATE TABLE second_path.abc (f int); INSERT INTO second_path.abc VALUES (456);
SET search_path = first_path;
PREPARE p1 AS SELECT f FROM abc;
EXECUTE p1;
SET search_path = second_path;
EXECUTE p1;
ALTER TABLE second_path.abc ALTER f TYPE text;
EXECUTE p1;
SET search_path = first_path;
EXECUTE p1;
BEGIN;
SET LOCAL search_path = second_path, first_path;
ROLLBACK;
EXECUTE p1;
