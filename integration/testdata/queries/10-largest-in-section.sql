-- The three largest packages of each of some sections: window functions over a subquery.
SELECT section, place, package, kb, round(100.0 * kb / total, 1) AS percent
FROM (
	SELECT doc->>'Section' AS section, doc->>'Package' AS package, (doc->>'InstalledSize')::bigint AS kb,
		rank() OVER (PARTITION BY doc->>'Section' ORDER BY (doc->>'InstalledSize')::bigint DESC, doc->>'Package') AS place,
		sum((doc->>'InstalledSize')::bigint) OVER (PARTITION BY doc->>'Section') AS total
	FROM packages
	WHERE doc->>'Section' IN ('editors', 'shells', 'mail', 'news')
) AS ranked
WHERE place <= 3
ORDER BY section, place;
