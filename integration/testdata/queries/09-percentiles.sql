-- How are sizes spread over the larger sections? Ordered-set aggregates.
SELECT doc->>'Section' AS section, count(*) AS n,
	percentile_disc(0.5) WITHIN GROUP (ORDER BY (doc->>'InstalledSize')::int) AS median_kb,
	percentile_cont(0.95) WITHIN GROUP (ORDER BY (doc->>'InstalledSize')::float8) AS p95_kb,
	mode() WITHIN GROUP (ORDER BY doc->>'Priority') AS priority
FROM packages
WHERE doc ? 'InstalledSize'
GROUP BY 1
ORDER BY n DESC, section
LIMIT 15;
