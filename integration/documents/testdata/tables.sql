-- Collections of documents: customers, and their orders with lines.

CREATE TABLE customers (
    id text PRIMARY KEY,
    doc jsonb NOT NULL
);

CREATE TABLE orders (
    id text PRIMARY KEY,
    doc jsonb NOT NULL
) /* sherd: WITH (shard_by = 'Customer') */;
