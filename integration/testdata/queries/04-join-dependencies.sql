-- The heaviest direct dependencies of the desktop tasks: packages joined with themselves by id.
SELECT p.doc->>'Package' AS task, n.doc->>'Package' AS needs, (n.doc->>'InstalledSize')::int AS kb, n.doc #>> '{Maintainer,Name}' AS maintainer
FROM packages p
	CROSS JOIN LATERAL jsonb_array_elements(p.doc->'Depends') AS d
	JOIN packages n ON n.id = 'packages/' || (d->>'Package')
WHERE p.id LIKE 'packages/task-%-desktop'
ORDER BY kb DESC, task, needs
LIMIT 30;
