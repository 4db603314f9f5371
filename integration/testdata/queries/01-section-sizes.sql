-- Which sections of the archive are the largest?
SELECT doc->>'Section' AS section, count(*) AS packages, sum((doc->>'InstalledSize')::bigint) AS installed_kb,
	round(avg((doc->>'InstalledSize')::numeric), 2) AS average_kb, max((doc->>'Size')::bigint) AS largest
FROM packages
GROUP BY doc->>'Section'
HAVING count(*) > 500
ORDER BY installed_kb DESC;
