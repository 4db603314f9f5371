// Package types is the values of SQL: their types, text and binary forms, arithmetic, comparison, hashing, order-preserving keys and rows.
//
// A Datum is one value. It is flat: what a variable-length value holds in memory is what a row holds on disk, so reading a row makes
// no garbage and a document is never decoded to be passed on. The package knows nothing of expressions, tables or transactions, and never
// reads a clock, a setting or the catalog: an Env carries what a text form depends on.
//
// A Datum whose S aliases storage is valid only while the row it came from is; whoever keeps it calls Clone.
//
// # Where what is
//
//	datum, kind, oid     the value, its kinds, and the built-in types without the catalog
//	io, binary           text and binary forms, one switch each; a file per type below them
//	numeric*, sum        exact decimals on 64-bit coefficients, math/big and apd beyond
//	datetime_*, zone     scanner, decoder and printer of dates and times; time zones
//	interval_*, date_*   intervals, arithmetic, extract, date_trunc, make_*
//	array*, record       flat composite values
//	compare, hash        the btree order and a hash that agrees with it
//	key*                 AppendKey: bytes that sort as the values do
//	tuple, value, row    AppendRow, RowReader: the stored row
//	typmod*              varchar(n), numeric(p,s), interval year to month
//	bucket_text          the text of a key value that its bucket is hashed from
//
// # Invariants
//
//   - Rows, keys, arrays and records have frozen formats, held by testdata/*.golden; a row names its format in its first byte (V1, V2).
//   - Equal values (1.0 and 1.00, 0 and -0, 'a' and 'a ' as char) have equal keys, hashes and bucket texts; bytes.Compare of keys is Compare.
//   - A numeric has one form per value and scale: what fits 64 bits is never kept as a big number.
//   - Damaged bytes give an error (XX001), never a panic: the fuzz targets hold it.
//   - Texts, messages and SQLSTATEs are PostgreSQL 15's: testdata/io.txt and func.txt are its answers.
//
// # Limits
//
// The collation is C: text compares by bytes. Records and jsonb in keys cannot be read back from the key. The types money, xml and
// those of user-defined types have no text form here; input of anonymous records is refused as in PostgreSQL. Dates with letters before
// each number (y2001m02d04), which later PostgreSQL versions dropped, are refused, and the difference of timestamps more than
// 292,000 years apart is an error where PostgreSQL wraps around.
package types
