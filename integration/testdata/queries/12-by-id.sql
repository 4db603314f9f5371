-- Documents by id, with parts picked out and put together anew.
SELECT id, jsonb_build_object('v', doc->'Version', 'tags', doc #> '{Tags,role}', 'needs', jsonb_array_length(doc->'Depends')) AS brief,
	jsonb_object_keys(doc->'Maintainer') AS key, doc->'Depends'->0 AS first, doc->'Depends'->-1->>'Package' AS last
FROM packages
WHERE id IN ('packages/bash', 'packages/vim', 'packages/postgresql-15', 'packages/nothing', 'packages/0ad')
ORDER BY id, key;
