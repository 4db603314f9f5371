CREATE INDEX orders_customer ON orders ((doc->>'Customer'));
CREATE INDEX orders_total ON orders (((doc->>'Total')::numeric));
CREATE INDEX orders_at ON orders ((doc->>'OrderedAt'));
CREATE INDEX orders_doc ON orders USING gin (doc jsonb_path_ops);
