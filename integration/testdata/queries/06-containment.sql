-- Libraries in Rust that their maintainers team keeps: containment in nested objects.
SELECT count(*) AS packages, min(doc->>'Package') AS first, max(doc->>'Package') AS last, sum((doc->>'Size')::numeric) AS bytes
FROM packages
WHERE doc @> '{"Maintainer": {"Name": "Debian Rust Maintainers"}, "Section": "rust"}'
	AND NOT doc @> '{"Depends": [{"Package": "libc6"}]}';
