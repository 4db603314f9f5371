-- former ids: documents that were re-placed, and rows that refer to them by the ids that they had
CREATE TABLE moved (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'Customer', former_ids = of_1);
INSERT INTO moved SELECT 'moved/' || i || '$', jsonb_build_object('Customer', 'customers/' || i) FROM generate_series(1, 20) i;
INSERT INTO pg_forwarding.of_1 SELECT 'former/' || split_part(id, '$', 1), id FROM moved;
CREATE TABLE invoices (id int PRIMARY KEY, moved text REFERENCES moved);
INSERT INTO invoices SELECT i, 'former/moved/' || i FROM generate_series(1, 10) i;
