-- Facets and their commonest values: an object's keys, then the arrays beneath.
SELECT facet.key AS facet, tag.value AS tag, count(*) AS packages
FROM packages
	CROSS JOIN LATERAL jsonb_each(doc->'Tags') AS facet
	CROSS JOIN LATERAL jsonb_array_elements_text(facet.value) AS tag(value)
WHERE facet.key IN ('uitoolkit', 'protocol', 'game')
GROUP BY facet.key, tag.value
HAVING count(*) >= 40
ORDER BY facet, packages DESC, tag;
