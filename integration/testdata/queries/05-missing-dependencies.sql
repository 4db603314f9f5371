-- Dependencies on nothing that is in the archive by that name (virtual packages): an outer join that finds no partner.
SELECT d->>'Package' AS virtual, count(*) AS wanted_by, min(p.id) AS for_example
FROM packages p
	CROSS JOIN LATERAL jsonb_array_elements(p.doc->'Depends') AS d
	LEFT JOIN packages n ON n.id = 'packages/' || (d->>'Package')
WHERE d ? 'Package' AND n.id IS NULL
GROUP BY 1
ORDER BY wanted_by DESC, virtual
LIMIT 25;
