-- Packages that need libc6 2.34 or later exactly, and are large: jsonpath.
SELECT doc->>'Package' AS package, (doc->>'InstalledSize')::int AS kb,
	jsonb_path_query_first(doc, '$.Depends[*] ? (@.Package == "libc6").Version') AS libc,
	jsonb_array_length(jsonb_path_query_array(doc, '$.Depends[*].Package')) AS dependencies
FROM packages
WHERE doc @? '$.Depends[*] ? (@.Package == "libc6" && @.Version == "2.34")' AND doc @@ '$.InstalledSize > 100000'
ORDER BY kb DESC, package
LIMIT 30;
