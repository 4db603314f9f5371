c > 0
a > 0 AND b <> 'x'
a > 0 OR b IS NULL OR NOT bo
b IN ('x', 'y')
v IN ('x', 'y')
a IN (1, 2, 3)
a + 1 > g * 2 - 3
(a + 1) * 2 > 3
c BETWEEN 0 AND 100
length(b) < 10
b LIKE 'x%'
b ~ '^[a-z]+$'
v = 'x'
ch = 'abc'
dt > '2020-01-01'
d > '2020-01-01 00:00:00+00'
js ? 'a'
js @> '{"a": 1}'
(js ->> 'a')::int > 0
(js -> 'a' ->> 'b') IS NOT NULL
js['a'] IS NOT NULL
coalesce(a, 0) > 0
CASE WHEN a > 0 THEN b = 'x' ELSE true END
CASE a WHEN 1 THEN true ELSE false END
a::text = '1'
a::numeric(10,2) > 1.5
b::varchar(3) = 'x'
e[1] > 0
a = ANY(e)
array_length(e, 1) > 0
e <> ARRAY[1, 2]
upper(b) || 'x' = 'X'
a > -5
c > -1.5
bo
bo IS TRUE
a IS DISTINCT FROM 1
greatest(a, 1) > 0
nullif(a, 1) > 0
round(c, 1) > 0
g = 5000000000
(a, g) < (1, 2)
a % 2 = 0
- a < 0
NOT (a > 0 AND a < 10)
dt + 1 > '2020-01-01'
iv > '1 day'
u <> 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'
f > 1e10
s < 100
a > 0 AND (b = 'x' OR b = 'y') AND bo
jsonb_typeof(js) = 'object'
concat(a, b) <> ''
