-- The tables of the planner's cases. What is in comments that begin with "sherd:" is for Sherd alone.

-- Every type and every distribution: unique values, ten rows of each value, a few groups, one
-- frequent value, rare values, nulls.
CREATE TABLE items (
    id int PRIMARY KEY,
    code bigint NOT NULL,           -- unique: 1000000 + id
    k int NOT NULL,                 -- ten rows of each value
    small smallint NOT NULL,        -- 2,000 values
    grp int NOT NULL,               -- 200 values
    status text NOT NULL,           -- 'done' 97 %, 'new' 2 %, 'failed' 1 %
    flag boolean NOT NULL,          -- true 1 %
    parent int,                     -- null 99 %
    at timestamp NOT NULL,          -- unique, in 2024, not in the order of id
    seen timestamptz NOT NULL,      -- likewise
    day date NOT NULL,              -- of at
    val float8 NOT NULL,            -- unique, from 0 to 1000
    price numeric(10,2) NOT NULL,
    name text NOT NULL,             -- unique: name-000017
    mail varchar(40) NOT NULL,      -- unique: User17@example.com
    doc jsonb NOT NULL
);

-- Five times as many rows, which name items by integers of two types.
CREATE TABLE events (
    id int PRIMARY KEY,
    item int NOT NULL,              -- five rows of each item
    ref bigint NOT NULL,            -- the item of another event
    cust int NOT NULL,
    kind text NOT NULL,             -- 'read' 90 %, 'write' 9.9 %, 'error' 0.1 %
    at timestamp NOT NULL,          -- unique, in 2024
    amount numeric(10,2) NOT NULL,
    val int NOT NULL
);

CREATE TABLE stock (
    item int,
    place smallint,
    qty int NOT NULL,
    PRIMARY KEY (item, place)
);

-- Co-located by an integer.
CREATE TABLE accounts (
    id int PRIMARY KEY,
    name text NOT NULL,
    region int NOT NULL
);

CREATE TABLE bills (
    acct int,
    seq int,
    at timestamp NOT NULL,
    total numeric(10,2) NOT NULL,
    PRIMARY KEY (acct, seq)
) /* sherd: WITH (shard_by = 'acct') */;

CREATE TABLE bill_lines (
    acct int,
    seq int,
    line int,
    item int NOT NULL,
    amount numeric(10,2) NOT NULL,
    PRIMARY KEY (acct, seq, line)
) /* sherd: WITH (shard_by = 'acct') */;

-- Collections, co-located by a text.
CREATE TABLE customers (
    id text PRIMARY KEY,
    doc jsonb NOT NULL
);

CREATE TABLE orders (
    id text PRIMARY KEY,
    doc jsonb NOT NULL
) /* sherd: WITH (shard_by = 'Customer') */;

-- Small tables, and a tree in which row n has the parent n / 4.
CREATE TABLE regions (
    id int PRIMARY KEY,
    name text NOT NULL,
    continent text NOT NULL
);

CREATE TABLE groups (
    grp int PRIMARY KEY,
    label text NOT NULL,
    region int NOT NULL
);

CREATE TABLE tree (
    id int PRIMARY KEY,
    parent int,
    name text NOT NULL
);

CREATE VIEW open_items AS SELECT id, k, grp, at, val, name FROM items WHERE status <> 'done';

CREATE VIEW everything AS
    SELECT 'item' AS what, id, at FROM items UNION ALL SELECT 'event', id, at FROM events;

CREATE VIEW group_totals AS
    SELECT grp, count(*) AS n, sum(price) AS total, max(at) AS latest FROM items GROUP BY grp;
