-- Rows by kind and by priority, with totals.
SELECT doc->>'Architecture' AS architecture, doc->>'Priority' AS priority, grouping(doc->>'Architecture', doc->>'Priority') AS level,
	count(*) AS packages, avg((doc->>'Size')::numeric)::numeric(20, 3) AS average_bytes
FROM packages
GROUP BY ROLLUP (doc->>'Architecture', doc->>'Priority')
ORDER BY level, architecture, priority;
