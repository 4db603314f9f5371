-- Packages of the version that most packages have.
SELECT doc->>'Version' AS version, count(*) AS packages, array_agg(DISTINCT doc->>'Section' ORDER BY doc->>'Section') AS sections
FROM packages
WHERE doc->>'Version' = (SELECT doc->>'Version' FROM packages GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1)
GROUP BY 1;
