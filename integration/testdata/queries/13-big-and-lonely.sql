-- Optional packages of more than 500 MB that nothing depends on: NOT EXISTS with a set of names made once.
WITH needed AS (
	SELECT DISTINCT d->>'Package' AS name FROM packages, jsonb_array_elements(doc->'Depends') AS d
)
SELECT doc->>'Package' AS package, (doc->>'InstalledSize')::bigint / 1024 AS mb, left(doc->>'Description', 40) AS description
FROM packages p
WHERE (doc->>'InstalledSize')::bigint > 500000 AND NOT EXISTS (SELECT FROM needed WHERE name = p.doc->>'Package')
ORDER BY mb DESC, package
LIMIT 25;
