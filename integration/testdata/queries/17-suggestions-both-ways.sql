-- Pairs of packages that suggest each other: a join of two unnested sides.
WITH suggestion AS (
	SELECT doc->>'Package' AS a, s->>'Package' AS b FROM packages, jsonb_array_elements(doc->'Suggests') AS s WHERE s ? 'Package'
)
SELECT x.a, x.b FROM suggestion x JOIN suggestion y ON x.a = y.b AND x.b = y.a WHERE x.a < x.b
ORDER BY x.a, x.b
LIMIT 30;
