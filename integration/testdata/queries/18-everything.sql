-- Every byte of every document, as text.
SELECT count(*), sum(length(doc::text)) AS characters, sum(octet_length(doc::text)) AS bytes, md5(string_agg(md5(id || doc::text), '' ORDER BY id)) AS sum
FROM packages;
