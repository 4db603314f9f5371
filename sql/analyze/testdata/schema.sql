CREATE TABLE orders (id text PRIMARY KEY, doc jsonb NOT NULL);
CREATE TABLE items (a int PRIMARY KEY, b text, c numeric(10,2), d timestamptz DEFAULT now(), e int[], f float8, g bigint, v varchar(20) DEFAULT 'x', ch char(3), bo boolean NOT NULL DEFAULT true, dt date, u uuid, j json, js jsonb, bt bytea, s smallint, r real, iv interval, ts timestamp(3), tm time, ta text[], nm name, CHECK (c > 0));
CREATE TABLE pairs (x int, y int, z text, PRIMARY KEY (x, y));
