-- Command-line games written in Python: nested objects and arrays.
SELECT id, doc->>'Version' AS version, doc #>> '{Maintainer,Name}' AS maintainer, doc #>> '{Tags,interface,0}' AS interface
FROM packages
WHERE doc->>'Section' = 'games' AND doc->'Tags'->'implemented-in' ? 'python'
ORDER BY id
LIMIT 40;
