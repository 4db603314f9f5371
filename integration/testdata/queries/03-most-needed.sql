-- What do most packages depend on? Arrays unnested, alternatives apart.
SELECT d->>'Package' AS needs, count(*) AS edges, count(DISTINCT id) AS packages,
	count(*) FILTER (WHERE d->>'Op' = '>=') AS with_minimum
FROM packages, jsonb_array_elements(doc->'Depends') AS d
WHERE d ? 'Package'
GROUP BY 1
ORDER BY packages DESC, needs
LIMIT 25;
