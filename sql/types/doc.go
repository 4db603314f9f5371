// Package types has the values of SQL: their types, text and binary forms, arithmetic, comparison,
// hashing, order-preserving keys and rows.
//
// A Datum is one value. It is flat: a variable-length value has the same bytes in memory and on
// disk, so reading a row allocates nothing and a document is not decoded to be passed on. The
// package does not know expressions, tables or transactions, and never reads a clock, a setting or
// the catalog: an Env has the settings that text forms depend on.
//
// A Datum whose S aliases storage is valid only as long as its row. To keep it longer, call Clone.
//
// # Files
//
//	datum, kind, oid     the value, its kinds, and the built-in types without the catalog
//	io, binary           text and binary forms, one switch each; a file per type below them
//	numeric*, sum        exact decimals on 64-bit coefficients; math/big and apd for larger ones
//	datetime_*, zone     scanner, decoder and printer of dates and times; time zones
//	interval_*, date_*   intervals, arithmetic, extract, date_trunc, make_*
//	array*, record       flat composite values
//	enum                 values of types of users: ranks, and their texts by Env
//	compare, hash        the btree order and a hash that agrees with it
//	key*                 AppendKey: bytes that sort like the values
//	tuple, value, row    AppendRow, RowReader: the stored row
//	typmod*              varchar(n), numeric(p,s), interval year to month
//	bucket_text          the text of a key value from which its bucket is hashed
//
// # Invariants
//
//   - Rows, keys, arrays and records have frozen formats, checked by testdata/*.golden; the first
//     byte of a row is its format (V1, V2).
//   - Equal values (1.0 and 1.00, 0 and -0, 'a' and 'a ' as char) have equal keys, hashes and bucket
//     texts; bytes.Compare of keys agrees with Compare.
//   - A numeric has one form per value and scale: a coefficient that fits 64 bits is never stored as
//     a big number.
//   - Damaged bytes return an error (XX001) and never panic; the fuzz targets check it.
//   - Texts, messages and SQLSTATEs are those of PostgreSQL 15: testdata/io.txt and func.txt have
//     its results.
//
// # Limits
//
// The collation is C: text compares by bytes. Records and jsonb cannot be decoded from a key. The
// type xml has no text form here; as in PostgreSQL, input of anonymous
// records is refused. Dates with letters before each number (y2001m02d04), which later PostgreSQL
// versions dropped, are refused. The difference of timestamps more than 292,000 years apart is an
// error, where PostgreSQL wraps around.
package types
