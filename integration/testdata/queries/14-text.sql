-- Text functions and patterns: who hosts the homepages of packages about PostgreSQL?
SELECT lower(substring(doc->>'Homepage' FROM '^[a-z]+://([^/]+)')) AS host, count(*) AS packages,
	count(*) FILTER (WHERE doc->>'Homepage' LIKE 'https:%') AS secure, min(length(doc->>'Description')) AS shortest,
	bool_or(doc->>'Description' ~* '\mserver\M') AS any_server
FROM packages
WHERE doc->>'Description' ILIKE '%postgres%' AND doc ? 'Homepage'
GROUP BY 1
ORDER BY packages DESC, host
LIMIT 20;
