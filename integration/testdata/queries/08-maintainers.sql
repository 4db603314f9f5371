-- Maintainers with packages in many sections, and which.
SELECT doc #>> '{Maintainer,Name}' AS maintainer, count(*) AS packages, count(DISTINCT doc->>'Section') AS sections,
	string_agg(DISTINCT doc->>'Section', ', ' ORDER BY doc->>'Section') AS which
FROM packages
GROUP BY 1
HAVING count(DISTINCT doc->>'Section') >= 12
ORDER BY sections DESC, packages DESC, maintainer;
