CREATE TABLE t (id int, d jsonb, CONSTRAINT k PRIMARY KEY (d));
ALTER TABLE t DROP d;
CREATE TABLE u (d jsonb, a int, PRIMARY KEY (a, d));
ALTER TABLE u DROP d;
CREATE TABLE v (doc jsonb, a int, PRIMARY KEY (doc)) WITH (shard_by = 'doc');
ALTER TABLE v DROP doc;
